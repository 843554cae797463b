import { causeChain } from "../../errors/cause_chain.ts";
import { DatabaseError } from "../../errors/database_errors.ts";
import { type DatabaseSettings, getRegion, splitEndpoint } from "../config/config.ts";
import { type ConnectRetry, createConnectRetry } from "./connect_retry.ts";
import { openPostgres } from "./postgres_js.ts";
import type { Connection, Invalidate } from "./provider.ts";
import { createTokenSource } from "./iam_token.ts";
import { loadDsqlSigner } from "./load_dsql_signer.ts";

/**
 * Connection lifetime. The server ends a session after 60 minutes; the random spread keeps
 * connections from being renewed all at once.
 */
const MIN_LIFETIME_SECONDS = 50 * 60;
const LIFETIME_SPREAD_SECONDS = 5 * 60;
const IDLE_SECONDS = 10 * 60;

/**
 * Opens Aurora DSQL with postgres.js: a new IAM token per connection, and TLS from the first byte
 * with verification of the server's certificate. Source: Aurora DSQL user guide and connection
 * measurements, 2026-10.
 *
 * @param config The cluster and the role.
 * @param invalidate Called when a connection ends.
 * @returns The connection. If the cluster refuses the role, the error names the missing IAM action.
 */
export async function openDistSql(
  config: DatabaseSettings,
  invalidate: Invalidate,
): Promise<Connection> {
  const [host, port] = splitEndpoint(config.endpoint ?? "");
  const isAdmin = config.isAdmin === true;
  const username = isAdmin ? "admin" : config.username;
  const createToken = await createDsqlToken({ host, region: getRegion(config), isAdmin });
  return await openPostgres(
    config,
    {
      host,
      port: port === undefined ? 5432 : Number(port),
      database: "postgres",
      username,
      // signing is local; the server checks the token's age only while connecting, so tokens are
      // not cached
      password: createToken,
      ssl: { rejectUnauthorized: true, ...(config.ca === undefined ? {} : { ca: config.ca }) },
      sslnegotiation: "direct",
      idle_timeout: config.idleTimeout ?? IDLE_SECONDS,
      // postgres.js also takes a function, and calls it for each connection
      max_lifetime:
        (() => MIN_LIFETIME_SECONDS + Math.random() * LIFETIME_SPREAD_SECONDS) as unknown as number,
    } as Parameters<typeof openPostgres>[1],
    invalidate,
    {
      connectRetry: connectRetry(config),
      // there are no advisory locks, and a session that ends is replaced
      keepsSession: false,
      explain: (error) => explain(error, String(username), isAdmin),
      rules: { savepoints: false, settings: false },
    },
  );
}

interface ServerFailure {
  message: string;
  hint: string;
}

function readFailure(error: unknown): ServerFailure {
  for (const link of causeChain(error)) {
    const { severity_local, severity, message, hint } = link as Record<string, unknown>;
    if ((severity ?? severity_local) !== "FATAL") continue;
    return { message: String(message ?? ""), hint: String(hint ?? "") };
  }
  return { message: "", hint: "" };
}

/**
 * Creates the policy for refused connections: no free connection, too many connections per second,
 * a sleeping cluster, an expired token.
 */
function connectRetry(config: DatabaseSettings): ConnectRetry {
  const retry = createConnectRetry(
    config,
    (error) => /waking up cluster/i.test(readFailure(error).message),
  );
  return function delayBeforeRetry(error, attempt, elapsedMs): number | undefined {
    // the new connection gets a new token; a second refusal means that the clock is wrong
    if (/signature expired/i.test(readFailure(error).hint)) return attempt === 1 ? 0 : undefined;
    return retry(error, attempt, elapsedMs);
  };
}

function explain(error: unknown, username: string, isAdmin: boolean): unknown {
  const { message, hint } = readFailure(error);
  if (!/access denied/i.test(message)) return error;
  const missing = isAdmin
    ? "the IAM identity needs dsql:DbConnectAdmin on the cluster"
    : "the IAM identity needs dsql:DbConnect on the cluster, and the role needs " +
      `AWS IAM GRANT ${username} TO '<arn>'`;
  const why = /signature expired/i.test(hint)
    ? "its token had expired: the clock of this machine is wrong"
    : missing;
  return new DatabaseError(`The cluster refused the database role ${username}: ${why}`, {
    cause: error,
  });
}

/** The cluster and the kind of role that a token is signed for. */
export interface DsqlTokenOptions {
  readonly host: string;
  readonly region: string;
  /** True for the role `admin`. */
  readonly isAdmin: boolean;
}

/**
 * Creates the password function for Aurora DSQL. Tokens are signed locally and valid for 15 minutes.
 *
 * @param options The cluster and the kind of role.
 * @returns Creates a token.
 * @throws {ConfigurationError} If credentials are not in environment variables and the signer of the AWS
 * SDK, which finds others, is not installed.
 */
export function createDsqlToken(
  { host, region, isAdmin }: DsqlTokenOptions,
): Promise<() => Promise<string>> {
  const parameters = { Action: isAdmin ? "DbConnectAdmin" : "DbConnect" };
  return createTokenSource({ service: "dsql", host, region, parameters }, async () => {
    const { DsqlSigner } = await loadDsqlSigner();
    const signer = new DsqlSigner({ hostname: host, region });
    return () => isAdmin ? signer.getDbConnectAdminAuthToken() : signer.getDbConnectAuthToken();
  });
}
