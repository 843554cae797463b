import { ConfigurationError } from "../../errors/http_errors.ts";
import type { DatabaseSettings, PoolerMode, SslMode } from "../config/config.ts";

/** Server, user and connection settings of a `postgres` configuration. */
export interface PostgresAddress {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly username: string;
  readonly password: DatabaseSettings["password"];
  /** `undefined`: chosen by the address. */
  readonly sslMode: SslMode | undefined;
  /** `undefined`: to be found out. */
  readonly pooler: PoolerMode | undefined;
  /** Settings of the session, sent when it starts. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Fields that a connection string contains. */
const PARTS = ["host", "port", "database", "sslMode"] as const;

const SSL_MODES: readonly string[] = ["verify-full", "verify-ca", "disable"];
const POOLER_MODES: readonly string[] = ["transaction", "session", "none"];

/** Parameters of other clients' connection strings, which the server does not know. */
const FOREIGN_PARAMETERS: Readonly<Record<string, string>> = {
  channel_binding: "remove it: the server's certificate is verified instead",
  connect_timeout: "use DatabaseConfig.connectTimeout",
  connection_limit: "use DatabaseConfig.maxConnections",
  gssencmode: "remove it: connections are encrypted with TLS",
  host: "write the host before the path; sockets are not supported",
  pool_timeout: "use DatabaseConfig.connectTimeout",
  schema: "use search_path, or the schemas of the drizzle tables",
  ssl: "use sslmode=verify-full or sslmode=disable",
  sslcert: "remove it: client certificates are not supported",
  sslkey: "remove it: client certificates are not supported",
  sslrootcert: "pass the certificates themselves in DatabaseConfig.ca",
  target_session_attrs: "write the host of the primary server",
};

/**
 * Reads the address of a `postgres` configuration, from its connection string or its parts.
 *
 * @param config The configuration.
 * @returns The address.
 * @throws {ConfigurationError} If a part is missing, invalid or given twice. Shows no password.
 */
export function readPostgresAddress(config: DatabaseSettings): PostgresAddress {
  checkChoice("sslMode", config.sslMode, SSL_MODES);
  checkChoice("pooler", config.pooler, POOLER_MODES);
  const address = config.connectionString === undefined
    ? readParts(config)
    : readUrl(config.connectionString, config);
  if (address.username === "") {
    const or = config.provider === "postgres" ? ", or in username" : "";
    throw new ConfigurationError(
      `DatabaseConfig.username is missing: write the user into the connection string${or}`,
    );
  }
  return address;
}

function readParts(config: DatabaseSettings): PostgresAddress {
  const { host, port = 5432, database = "postgres", username = "", sslMode, pooler } = config;
  if (host === undefined) {
    throw new ConfigurationError(
      "DatabaseConfig.connectionString is missing: provider postgres needs postgres://…, or " +
        "host, username and password",
    );
  }
  if (!/^[a-z0-9._:-]+$/i.test(host) || /^[^:]*:[^:]*$/.test(host)) {
    throw new ConfigurationError(
      "DatabaseConfig.host must be a host name or an IP address without scheme, port and path",
    );
  }
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new ConfigurationError(
      `DatabaseConfig.port must be a whole number from 1 to 65535, got ${port}`,
    );
  }
  const { password } = config;
  return { host, port, database, username, password, sslMode, pooler, settings: {} };
}

function readUrl(text: string, config: DatabaseSettings): PostgresAddress {
  const twice = PARTS.find((part) => config[part] !== undefined);
  if (twice !== undefined) {
    const name = twice === "sslMode" ? "sslmode" : twice;
    throw new ConfigurationError(
      `DatabaseConfig.${twice} and connectionString cannot be combined: write the ${name} into ` +
        "the connection string",
    );
  }
  const url = parseUrl(text);
  const { searchParams } = url;
  const sslMode = takeParameter(searchParams, "sslmode");
  const isPgBouncer = takeParameter(searchParams, "pgbouncer") === "true";
  for (const name of searchParams.keys()) {
    if (!Object.hasOwn(FOREIGN_PARAMETERS, name)) continue;
    throw new ConfigurationError(
      `DatabaseConfig.connectionString has the parameter ${name}, which is not supported: ` +
        FOREIGN_PARAMETERS[name],
    );
  }
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? 5432 : Number(url.port),
    database: decode(url.pathname.slice(1)) || "postgres",
    username: chooseCredential("username", decode(url.username), config.username),
    password: chooseCredential("password", decode(url.password), config.password),
    sslMode: readSslMode(sslMode),
    pooler: config.pooler ?? (isPgBouncer ? "transaction" : undefined),
    settings: Object.fromEntries(searchParams),
  };
}

function parseUrl(text: string): URL {
  if (!/^postgres(?:ql)?:\/\//i.test(text)) {
    throw new ConfigurationError(
      "DatabaseConfig.connectionString of postgres must begin with postgres:// or postgresql://",
    );
  }
  // the errors of the URL parser would show the text, and with it the password
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.hostname === "" || url.hostname.includes(",")) {
    throw new ConfigurationError(
      "DatabaseConfig.connectionString is not a valid URL with one host: percent-encode special " +
        "characters in user and password",
    );
  }
  return url;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ConfigurationError(
      "DatabaseConfig.connectionString has an invalid percent-encoding: write %25 for a percent " +
        "sign in user and password",
    );
  }
}

function takeParameter(parameters: URLSearchParams, name: string): string | undefined {
  const value = parameters.get(name) ?? undefined;
  parameters.delete(name);
  return value;
}

function chooseCredential<T>(name: string, inUrl: string, configured: T | undefined): string | T {
  if (configured === undefined) return inUrl;
  if (inUrl === "") return configured;
  throw new ConfigurationError(
    `DatabaseConfig.${name} and the ${name} in connectionString cannot be combined: remove one`,
  );
}

function readSslMode(given: string | undefined): SslMode | undefined {
  if (given === undefined || SSL_MODES.includes(given)) return given as SslMode | undefined;
  throw new ConfigurationError(
    `sslmode=${given} in DatabaseConfig.connectionString does not verify the server: leave it ` +
      "out or use verify-full, and set DatabaseConfig.ca if the runtime does not know the " +
      "server's certificate authority",
  );
}

function checkChoice(field: string, value: string | undefined, choices: readonly string[]): void {
  if (value === undefined || choices.includes(value)) return;
  throw new ConfigurationError(
    `DatabaseConfig.${field} must be one of ${choices.join(", ")}, got ${JSON.stringify(value)}`,
  );
}
