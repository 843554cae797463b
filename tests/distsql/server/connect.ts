import { DsqlSigner } from "@aws-sdk/dsql-signer";
import postgres from "postgres";
import type { DistSqlServer } from "../../../distsql/server/server.ts";

/** How a test's client differs from the usual. */
export interface ConnectOptions {
  /** @default "admin" */
  readonly user?: string;
  /** @default 1 */
  readonly max?: number;
  /** A token of the test's own. */
  readonly password?: string | (() => Promise<string>);
  /** @default The action that the user needs. */
  readonly action?: "DbConnect" | "DbConnectAdmin";
  readonly hostname?: string;
  readonly region?: string;
  readonly expiresIn?: number;
  /** @default { ca: server.ca } */
  readonly ssl?: { ca?: string; rejectUnauthorized?: boolean } | false;
}

/** Signs a token with the real signer. */
export function signToken(server: DistSqlServer, options: ConnectOptions = {}): Promise<string> {
  const { user = "admin", hostname = server.hostname, region = server.region, expiresIn } = options;
  const signer = new DsqlSigner({ hostname, region, credentials: server.principal, expiresIn });
  const action = options.action ?? (user === "admin" ? "DbConnectAdmin" : "DbConnect");
  return action === "DbConnectAdmin"
    ? signer.getDbConnectAdminAuthToken()
    : signer.getDbConnectAuthToken();
}

/** A real client of the server. */
export function connect(server: DistSqlServer, options: ConnectOptions = {}): postgres.Sql {
  return postgres({
    host: "localhost",
    port: server.port,
    database: "postgres",
    username: options.user ?? "admin",
    password: options.password ?? (() => signToken(server, options)),
    ssl: options.ssl ?? { ca: server.ca },
    max: options.max ?? 1,
    fetch_types: false,
    onnotice: () => {},
    connect_timeout: 10,
  });
}

/** SQLSTATE and text of what a promise is rejected with; undefined when it is not. */
export async function refusal(
  work: PromiseLike<unknown>,
): Promise<{ sqlstate: string; message: string } | undefined> {
  try {
    await work;
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return { sqlstate: code, message };
  }
}

/** A connection of one's own; a fresh client has to have connected before, or postgres.js waits for ever. */
export async function reserve(sql: postgres.Sql): Promise<postgres.ReservedSql> {
  await sql`SELECT 1`;
  return await sql.reserve();
}
