import { ConfigurationError } from "../errors/http_errors.ts";

/**
 * Kind of database: `distsql` (Aurora DSQL), `serverless-pg` (Aurora PostgreSQL Serverless, through
 * the Data API or a direct connection), `branching-pg` (Neon), `embedded-pg` (PGlite in a folder or
 * in memory, for development and tests).
 */
export type DatabaseProvider = "distsql" | "serverless-pg" | "branching-pg" | "embedded-pg";

/** Connection settings of a database. */
export interface DatabaseConfig {
  /** Kind of database. */
  provider: DatabaseProvider;
  /**
   * `branching-pg`: `postgres://…`. `serverless-pg`: `postgres://…`, or
   * `rds-data://<cluster-arn>?secretArn=…&database=…` for the Data API. `embedded-pg`: a folder, or `memory://` with
   * any name after it.
   * @default "memory://" for embedded-pg
   */
  connectionString?: string;
  /** `distsql`: the cluster's host name, with `:port` where it is not 5432. */
  endpoint?: string;
  /**
   * `distsql` and the Data API: the AWS region to sign requests for.
   * @default the region in the endpoint or in the cluster's ARN
   */
  region?: string;
  /** `distsql`: the database role. Required unless `isAdmin`. */
  username?: string;
  /**
   * `distsql`: connect as `admin` (IAM action `dsql:DbConnectAdmin`). For migrations, not for functions.
   * @default false
   */
  isAdmin?: boolean;
  /** Tables and relations for `db.query`. */
  schema?: Record<string, unknown>;
  /**
   * Maximum number of connections of this process.
   * @default AWS_LAMBDA_MAX_CONCURRENCY if Lambda sets it, up to 50 for distsql and 20 for the
   * others; else 1
   */
  maxConnections?: number;
  /**
   * Idle timeout: seconds after which an unused connection is closed.
   * @default 600 for distsql, none for the others
   */
  idleTimeout?: number;
  /**
   * Seconds to wait for a connection, including retries of refused connections.
   * @default 10
   */
  connectTimeout?: number;
  /**
   * Seconds after which an unanswered statement is rejected and its connection closed, in scripts,
   * tests and commands. The server may still have run the statement. In a handler the invocation's
   * deadline applies instead. Statements of migrations may take up to `jobTimeout`. embedded-pg has
   * no limit, since it runs in this process.
   * @default 60
   */
  statementTimeoutSeconds?: number;
  /**
   * Emit metrics when a connection is opened.
   * @default true
   */
  instrument?: boolean;
  /**
   * Direct connections: use prepared statements, which halves the round trips. Turn it off behind a
   * pooler in transaction mode.
   * @default true
   */
  prepare?: boolean;
  /**
   * Certificate authorities in PEM format to trust in addition to the runtime's, such as Amazon's
   * RDS bundle.
   */
  ca?: string;
}

const PROVIDERS: readonly DatabaseProvider[] = [
  "distsql",
  "serverless-pg",
  "branching-pg",
  "embedded-pg",
];

const FIELD_TYPES: Readonly<
  Record<keyof DatabaseConfig, "string" | "boolean" | "object" | "number">
> = {
  provider: "string",
  connectionString: "string",
  endpoint: "string",
  region: "string",
  username: "string",
  isAdmin: "boolean",
  schema: "object",
  maxConnections: "number",
  idleTimeout: "number",
  connectTimeout: "number",
  statementTimeoutSeconds: "number",
  instrument: "boolean",
  prepare: "boolean",
  ca: "string",
};

const SECONDS: ReadonlySet<string> = new Set([
  "idleTimeout",
  "connectTimeout",
  "statementTimeoutSeconds",
]);

/** Fields of a single provider. The others would ignore them silently. */
const ONLY_FOR: Partial<Record<keyof DatabaseConfig, readonly DatabaseProvider[]>> = {
  endpoint: ["distsql"],
  username: ["distsql"],
  isAdmin: ["distsql"],
  region: ["distsql", "serverless-pg"],
  connectionString: ["serverless-pg", "branching-pg", "embedded-pg"],
};

const DISTSQL_HOST = /^[a-z0-9]+\.dsql(?:-[a-z0-9]+)?\.([a-z]{2}(?:-[a-z]+)+-\d)\.on\.aws$/;
const REGION = /^[a-z]{2}(?:-[a-z]+)+-\d$/;

/**
 * Validates a configuration before anything is opened.
 *
 * @param config The application's configuration.
 * @returns The same configuration.
 * @throws {ConfigurationError} If a field is missing, unknown or invalid. The message has the
 * field, its value (never a connection string, which holds a password) and the fix.
 */
export function checkDatabaseConfig(config: DatabaseConfig): DatabaseConfig {
  if (typeof config !== "object" || config === null) {
    throw new ConfigurationError(
      `The database configuration must be an object, got ${describe(config)}`,
    );
  }
  if (!PROVIDERS.includes(config.provider)) {
    throw new ConfigurationError(
      `DatabaseConfig.provider must be one of ${PROVIDERS.join(", ")}, got ${
        describe(config.provider)
      }`,
    );
  }
  for (const [field, value] of Object.entries(config)) checkField(config.provider, field, value);
  if (config.provider === "distsql") checkDistSql(config);
  else checkConnectionString(config.provider, config.connectionString);
  return config;
}

function checkField(provider: DatabaseProvider, field: string, value: unknown): void {
  if (value === undefined) return;
  const type = Object.hasOwn(FIELD_TYPES, field)
    ? FIELD_TYPES[field as keyof DatabaseConfig]
    : undefined;
  if (type === undefined) {
    throw new ConfigurationError(
      `DatabaseConfig has no field ${JSON.stringify(field)}; it has ${
        Object.keys(FIELD_TYPES).join(", ")
      }`,
    );
  }
  // never show this value: it may hold a password
  const shown = field === "connectionString" || field === "ca" ? typeof value : describe(value);
  if (typeof value !== type || value === null) {
    throw new ConfigurationError(`DatabaseConfig.${field} must be a ${type}, got ${shown}`);
  }
  if (value === "") {
    throw new ConfigurationError(`DatabaseConfig.${field} is empty: give a value or leave it out`);
  }
  const only = ONLY_FOR[field as keyof DatabaseConfig];
  if (only !== undefined && !only.includes(provider) && value !== false) {
    throw new ConfigurationError(
      `DatabaseConfig.${field} belongs to ${
        only.join(" and ")
      }: leave it out for provider ${provider}`,
    );
  }
  if (field === "maxConnections" && !(Number.isInteger(value) && (value as number) >= 1)) {
    throw new ConfigurationError(
      `DatabaseConfig.maxConnections must be a whole number from 1, got ${shown}`,
    );
  }
  if (SECONDS.has(field) && !((value as number) > 0 && (value as number) < 1e6)) {
    throw new ConfigurationError(
      `DatabaseConfig.${field} must be a number of seconds above 0, got ${shown}`,
    );
  }
}

function checkDistSql(config: DatabaseConfig): void {
  const { endpoint, region, username, isAdmin } = config;
  if (endpoint === undefined) {
    throw new ConfigurationError(
      "DatabaseConfig.endpoint is missing: give the cluster's host name, <id>.dsql.<region>.on.aws",
    );
  }
  const [host, port] = splitEndpoint(endpoint);
  if (!/^[a-z0-9.-]+$/i.test(host) || (port !== undefined && !/^\d{1,5}$/.test(port))) {
    throw new ConfigurationError(
      `DatabaseConfig.endpoint must be a host name without scheme and path, got ${
        describe(redactUrl(endpoint))
      }`,
    );
  }
  if (region !== undefined && !REGION.test(region)) {
    throw new ConfigurationError(
      `DatabaseConfig.region must be a region such as eu-central-1, got ${describe(region)}`,
    );
  }
  const own = DISTSQL_HOST.exec(host)?.[1];
  if (region === undefined && own === undefined) {
    throw new ConfigurationError(
      "DatabaseConfig.region is missing, and the endpoint " +
        `${describe(endpoint)} does not contain it: set the region`,
    );
  }
  if (own !== undefined && region !== undefined && own !== region) {
    throw new ConfigurationError(
      `DatabaseConfig.region is ${
        describe(region)
      }, but the endpoint is in ${own}: leave the region out`,
    );
  }
  if (isAdmin === true && username !== undefined && username !== "admin") {
    throw new ConfigurationError(
      `DatabaseConfig.username is ${
        describe(username)
      } with isAdmin: the admin's name is admin, leave one of them out`,
    );
  }
  if (isAdmin !== true && username === undefined) {
    throw new ConfigurationError(
      "DatabaseConfig.username is missing: give the database role " +
        "of this function, or isAdmin: true for migrations",
    );
  }
  if (isAdmin !== true && username === "admin") {
    throw new ConfigurationError(
      'DatabaseConfig.username is "admin" without isAdmin: set ' +
        "isAdmin: true, or the role of this function",
    );
  }
}

function checkConnectionString(provider: DatabaseProvider, value: string | undefined): void {
  if (provider === "embedded-pg") {
    if (
      value !== undefined && /^[a-z][a-z0-9+.-]+:\/\//i.test(value) &&
      !/^(?:memory|file):\/\//.test(value)
    ) {
      throw new ConfigurationError(
        `DatabaseConfig.connectionString of embedded-pg is a folder or memory://, got a ${
          getScheme(value)
        } URL`,
      );
    }
    return;
  }
  const schemes = provider === "serverless-pg"
    ? ["rds-data", "postgres", "postgresql"]
    : ["postgres", "postgresql"];
  if (value === undefined) {
    throw new ConfigurationError(
      `DatabaseConfig.connectionString is missing: provider ${provider} needs ${
        schemes.map((s) => `${s}://…`).join(" or ")
      }`,
    );
  }
  if (!schemes.includes(getScheme(value))) {
    throw new ConfigurationError(
      `DatabaseConfig.connectionString of ${provider} must begin with ${
        schemes.map((s) => `${s}://`).join(" or ")
      }, ` +
        `got ${getScheme(value) === "" ? "a text without a scheme" : `${getScheme(value)}://`}`,
    );
  }
}

/** Splits a distsql endpoint into host and port. */
export function splitEndpoint(endpoint: string): [host: string, port: string | undefined] {
  const colon = endpoint.lastIndexOf(":");
  return colon < 0 ? [endpoint, undefined] : [endpoint.slice(0, colon), endpoint.slice(colon + 1)];
}

/** Returns the region of a distsql cluster: the configured one, else the one in its host name. */
export function getRegion(config: DatabaseConfig): string {
  return config.region ?? DISTSQL_HOST.exec(splitEndpoint(config.endpoint ?? "")[0])?.[1] ?? "";
}

function getScheme(value: string): string {
  return /^([a-z][a-z0-9+.-]*):\/\//i.exec(value)?.[1].toLowerCase() ?? "";
}

function redactUrl(value: string): string {
  return value.replace(/(:\/\/)[^@/]*@/, "$1…@");
}

function describe(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 100));
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

const schemaIds: WeakMap<object, number> = new WeakMap();
let nextSchemaId = 1;

/** Returns the key under which configurations share a connection: all fields except the schema. */
export function getConnectionKey(config: DatabaseConfig): string {
  const { connectionString, isAdmin = false } = config;
  // a folder can be opened only once, so other fields are ignored
  if (config.provider === "embedded-pg") {
    return JSON.stringify([config.provider, connectionString ?? "memory://"]);
  }
  const { instrument: _instrument, schema: _schema, ...rest } = config;
  const fields = Object.entries({ ...rest, connectionString, isAdmin }).filter(([, value]) =>
    value !== undefined
  );
  return JSON.stringify(fields.sort(([a], [b]) => a < b ? -1 : 1));
}

/** Returns the key under which configurations share a client. */
export function getClientKey(config: DatabaseConfig): string {
  const { schema } = config;
  if (schema === undefined) return `${getConnectionKey(config)}#0`;
  let id = schemaIds.get(schema);
  if (id === undefined) schemaIds.set(schema, id = nextSchemaId++);
  return `${getConnectionKey(config)}#${id}`;
}
