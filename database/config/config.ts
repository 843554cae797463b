/**
 * Kind of database: `postgres` (any PostgreSQL by address: RDS, Supabase, Docker), `distsql` (Aurora
 * DSQL), `serverless-pg` (Aurora PostgreSQL Serverless, through the Data API or a direct
 * connection), `branching-pg` (Neon), `embedded-pg` (PGlite in a folder or in memory, for
 * development and tests).
 */
export type DatabaseProvider =
  | "postgres"
  | "distsql"
  | "serverless-pg"
  | "branching-pg"
  | "embedded-pg";

/** All kinds of databases. */
export const DATABASE_PROVIDERS: readonly DatabaseProvider[] = [
  "postgres",
  "distsql",
  "serverless-pg",
  "branching-pg",
  "embedded-pg",
];

/** Settings that connections of every provider have, and those of each: what the code of the package reads. */
export interface DatabaseSettings {
  /** Kind of database. */
  provider: DatabaseProvider;
  /**
   * `postgres`, `branching-pg`: `postgres://…`. `serverless-pg`: `postgres://…`, or
   * `rds-data://<cluster-arn>?secretArn=…&database=…` for the Data API. `embedded-pg`: a folder, or `memory://` with
   * any name after it.
   * @default "memory://" for embedded-pg
   */
  connectionString?: string;
  /** `postgres`: the server's host name, instead of a connection string. */
  host?: string;
  /**
   * `postgres` with `host`: the port.
   * @default 5432
   */
  port?: number;
  /**
   * `postgres` with `host`: the name of the database.
   * @default "postgres"
   */
  database?: string;
  /**
   * `postgres` with `host`: the user's password. A function is called for each new connection, so
   * that a rotated password needs no restart.
   */
  password?: string | (() => string | Promise<string>);
  /**
   * `postgres` with `host`: `verify-full` verifies certificate and host name, `verify-ca` only that
   * the certificate was issued by `ca`, `disable` does not encrypt. A connection string has
   * `?sslmode=` instead.
   * @default "verify-full", and "disable" for a loopback address without `ca`
   */
  sslMode?: SslMode;
  /**
   * `postgres`: the mode of the connection pooler in front of the server (PgBouncer, Supavisor, RDS
   * Proxy). In transaction mode, nothing that lives in a session is used: prepared statements,
   * advisory locks.
   * @default found out when the first connection opens; a pooler counts as `transaction`
   */
  pooler?: PoolerMode;
  /**
   * `postgres`: sign in to RDS with an IAM token instead of a password. Needs the package
   * `@aws-sdk/rds-signer` where AWS credentials are not in environment variables.
   * @default false
   */
  iamAuth?: boolean;
  /** `distsql`: the cluster's host name, with `:port` where it is not 5432. */
  endpoint?: string;
  /**
   * `distsql`, the Data API, and `postgres` with `iamAuth`: the AWS region to sign requests for.
   * @default the region in the endpoint, in the host name, or in the cluster's ARN
   */
  region?: string;
  /**
   * `distsql`: the database role. Required unless `isAdmin`. `postgres`: the user, if it is not in
   * the connection string.
   */
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
   * deadline applies instead. Statements of migrations may take up to `jobTimeoutSeconds`. embedded-pg has
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
   * pooler in transaction mode; `postgres` does that itself.
   * @default true
   */
  prepare?: boolean;
  /**
   * Certificate authorities in PEM format to trust in addition to the runtime's, such as Amazon's
   * RDS bundle.
   */
  ca?: string;
}

/** Settings of one provider: those that each has, and its own. */
export type ProviderConfig<
  TProvider extends DatabaseProvider,
  TField extends keyof DatabaseSettings,
> =
  & { provider: TProvider }
  & Pick<
    DatabaseSettings,
    | "schema"
    | "maxConnections"
    | "idleTimeout"
    | "connectTimeout"
    | "statementTimeoutSeconds"
    | "instrument"
    | "prepare"
    | "ca"
    | TField
  >;

/** Connection settings of a database. `provider` decides which others there are. */
export type DatabaseConfig =
  | ProviderConfig<
    "postgres",
    | "connectionString"
    | "host"
    | "port"
    | "database"
    | "username"
    | "password"
    | "sslMode"
    | "pooler"
    | "iamAuth"
    | "region"
  >
  | ProviderConfig<"distsql", "endpoint" | "region" | "username" | "isAdmin">
  | ProviderConfig<"serverless-pg", "connectionString" | "region">
  | ProviderConfig<"branching-pg", "connectionString">
  | ProviderConfig<"embedded-pg", "connectionString">;

/** How a connection is encrypted, as in libpq. */
export type SslMode = "verify-full" | "verify-ca" | "disable";

/** Mode of a connection pooler; `none` for a server without one. */
export type PoolerMode = "transaction" | "session" | "none";

const DISTSQL_HOST = /^[a-z0-9]+\.dsql(?:-[a-z0-9]+)?\.([a-z]{2}(?:-[a-z]+)+-\d)\.on\.aws$/;

/** Splits a distsql endpoint into host and port. */
export function splitEndpoint(endpoint: string): [host: string, port: string | undefined] {
  const colon = endpoint.lastIndexOf(":");
  return colon < 0 ? [endpoint, undefined] : [endpoint.slice(0, colon), endpoint.slice(colon + 1)];
}

/** Returns the region in the host name of a distsql endpoint, if there is one. */
export function getOwnRegion(endpoint: string): string | undefined {
  return DISTSQL_HOST.exec(splitEndpoint(endpoint)[0])?.[1];
}

/** Returns the region of a distsql cluster: the configured one, else the one in its host name. */
export function getRegion(config: DatabaseSettings): string {
  return config.region ?? getOwnRegion(config.endpoint ?? "") ?? "";
}

const objectIds: WeakMap<object, number> = new WeakMap();
let nextObjectId = 1;

/** Returns a number that identifies a schema or a function. */
function getObjectId(object: object): number {
  let id = objectIds.get(object);
  if (id === undefined) objectIds.set(object, id = nextObjectId++);
  return id;
}

/** Returns the key under which configurations share a connection: all fields except the schema. */
export function getConnectionKey(config: DatabaseSettings): string {
  const { connectionString, isAdmin = false } = config;
  // a folder can be opened only once, so other fields are ignored
  if (config.provider === "embedded-pg") {
    return JSON.stringify([config.provider, connectionString ?? "memory://"]);
  }
  const { instrument: _instrument, schema: _schema, ...rest } = config;
  const fields = Object.entries({ ...rest, connectionString, isAdmin })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, typeof value === "function" ? getObjectId(value) : value]);
  return JSON.stringify(fields.sort(([a], [b]) => String(a) < String(b) ? -1 : 1));
}

/** Returns the key under which configurations share a client. */
export function getClientKey(config: DatabaseSettings): string {
  const { schema } = config;
  if (schema === undefined) return `${getConnectionKey(config)}#0`;
  return `${getConnectionKey(config)}#${getObjectId(schema)}`;
}
