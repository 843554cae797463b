import { causeChain } from "../../errors/cause_chain.ts";
import { DatabaseError } from "../../errors/database_errors.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { DatabaseSettings, PoolerMode } from "../config/config.ts";
import { createConnectRetry } from "./connect_retry.ts";
import { type PostgresAddress, readPostgresAddress } from "./postgres_address.ts";
import { openPostgres } from "./postgres_js.ts";
import type { PostgresOptions } from "./postgres_js_pool.ts";
import { createRdsToken } from "./rds_token.ts";
import type { Connection, Invalidate } from "./provider.ts";
import type { RowList } from "postgres";
import type { StatementRunner } from "./postgres_js_driver.ts";
import type { Row } from "../../sql/session.ts";

/**
 * Opens a PostgreSQL server by its address, such as RDS, Supabase or a container. The certificate
 * of a remote server is verified. Behind a pooler, nothing is used that lives in a session.
 *
 * @param config The address, and how to sign in.
 * @param invalidate Called when a connection ends.
 * @returns The connection.
 * @throws {ConfigurationError} If the address is invalid; nothing is opened.
 */
export async function openPostgresServer(
  config: DatabaseSettings,
  invalidate: Invalidate,
): Promise<Connection> {
  const address = readPostgresAddress(config);
  const { host, port, database, username, pooler, settings } = address;
  const ssl = getTls(address, config.ca);
  return await openPostgres(
    config,
    {
      host,
      port,
      database,
      username,
      password: await getPassword(config, address, ssl !== false),
      ssl,
      connection: { ...settings },
    },
    invalidate,
    {
      connectRetry: createConnectRetry(config),
      explain: (error) => explain(error, config, username),
      isPooled: (run) => isPooled(run, pooler),
    },
  );
}

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|::1)$/;

function getTls(
  { host, sslMode }: PostgresAddress,
  ca: string | undefined,
): PostgresOptions["ssl"] {
  if (ca !== undefined && !ca.includes("-----BEGIN CERTIFICATE-----")) {
    throw new ConfigurationError(
      "DatabaseConfig.ca must be certificates in PEM format, not the path of a file: read the file",
    );
  }
  const mode = sslMode ?? (LOOPBACK.test(host) && ca === undefined ? "disable" : "verify-full");
  if (mode === "disable") return false;
  // postgres.js does not pass on an IP address, which would be verified as "localhost"
  const verified = { rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }), host };
  if (mode === "verify-full") return verified;
  if (ca === undefined) {
    throw new ConfigurationError(
      "sslmode verify-ca needs DatabaseConfig.ca: with public authorities, any server with a " +
        "certificate would be accepted",
    );
  }
  return { ...verified, checkServerIdentity: () => undefined };
}

async function getPassword(
  config: DatabaseSettings,
  { host, port, username, password }: PostgresAddress,
  isEncrypted: boolean,
): Promise<PostgresOptions["password"]> {
  if (config.iamAuth !== true) return password;
  if (password !== undefined && password !== "") {
    throw new ConfigurationError(
      "DatabaseConfig.iamAuth and a password cannot be combined: remove one of them",
    );
  }
  if (!isEncrypted) {
    throw new ConfigurationError(
      "DatabaseConfig.iamAuth needs TLS: RDS refuses its tokens on plain connections",
    );
  }
  return await createRdsToken({ host, port, username, region: config.region });
}

/** Errors of TLS libraries about a certificate whose authority is unknown. Sources: Node 24, Deno 2.9. */
const UNKNOWN_AUTHORITY =
  /SELF_SIGNED_CERT|UNABLE_TO_VERIFY_LEAF|UNABLE_TO_GET_ISSUER|UnknownIssuer|CaUsedAsEndEntity/;
/** Errors of TLS libraries about a certificate for another host name. */
const OTHER_NAME = /ERR_TLS_CERT_ALTNAME_INVALID|NotValidForName/;
/** Errors of TLS libraries that were answered in plain text, or not at all. */
const NOT_TLS =
  /WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG|before secure TLS|tls handshake eof|InvalidContentType|InvalidMessage/;

/** Adds the missing setting to the errors of a connection. */
function explain(error: unknown, config: DatabaseSettings, username: string): unknown {
  const texts = causeChain(error).map((link) => {
    const { code, message } = link as { code?: unknown; message?: unknown };
    return `${code} ${message}`;
  });
  const advice = findAdvice(texts.join("\n"), config, username);
  return advice === undefined ? error : new DatabaseError(advice, { cause: error });
}

function findAdvice(
  text: string,
  { ca, iamAuth }: DatabaseSettings,
  username: string,
): string | undefined {
  if (UNKNOWN_AUTHORITY.test(text)) {
    return ca === undefined
      ? "The authority of the server's certificate is unknown: set DatabaseConfig.ca to the " +
        "provider's certificates, such as the bundle of RDS or Supabase"
      : "The server's certificate was not issued by an authority in DatabaseConfig.ca";
  }
  if (OTHER_NAME.test(text)) {
    return "The server's certificate belongs to another host name: use that name, or " +
      "sslmode=verify-ca with DatabaseConfig.ca";
  }
  if (NOT_TLS.test(text)) {
    return "The server does not accept TLS: enable it there, or add ?sslmode=disable to the " +
      "connection string if the network is trusted";
  }
  if (iamAuth === true && /^(?:28000|28P01) /m.test(text)) {
    return `The server refused the IAM token of ${username}: the IAM identity needs ` +
      "rds-db:connect on the database user, and the user needs GRANT rds_iam";
  }
  return undefined;
}

/**
 * Finds out whether the server must be treated as shared with other clients between two
 * transactions.
 *
 * A server sends each connection its process id when it starts. A pooler sends another number,
 * because the connection has no server process yet. So a connection whose process has another id
 * goes through a pooler. Its mode cannot be seen: only transaction mode loses sessions, but what
 * works there works in session mode too.
 *
 * @param run Runs a statement.
 * @param configured The configured mode; asks the server if it is `undefined`.
 * @returns True for a pooler that may be in transaction mode.
 */
export async function isPooled(
  run: StatementRunner,
  configured?: PoolerMode,
): Promise<boolean> {
  const answer = await run((sql) => sql.unsafe("select pg_backend_pid() as pid")) as RowList<Row[]>;
  if (configured !== undefined) return configured === "transaction";
  return Number(answer[0].pid) !== answer.state.pid;
}
