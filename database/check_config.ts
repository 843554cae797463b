import { ConfigurationError } from "../errors/http_errors.ts";
import {
  DATABASE_PROVIDERS,
  type DatabaseConfig,
  type DatabaseProvider,
  getOwnRegion,
  splitEndpoint,
} from "./config.ts";

const FIELD_TYPES: Readonly<
  Record<keyof DatabaseConfig, "string" | "boolean" | "object" | "number" | "string or function">
> = {
  provider: "string",
  connectionString: "string",
  host: "string",
  port: "number",
  database: "string",
  password: "string or function",
  sslMode: "string",
  pooler: "string",
  iamAuth: "boolean",
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

/** Fields whose values are never shown. */
const SECRETS: ReadonlySet<string> = new Set(["connectionString", "password", "ca"]);

/** Fields of some providers. The others would ignore them silently. */
const ONLY_FOR: Partial<Record<keyof DatabaseConfig, readonly DatabaseProvider[]>> = {
  host: ["postgres"],
  port: ["postgres"],
  database: ["postgres"],
  password: ["postgres"],
  sslMode: ["postgres"],
  pooler: ["postgres"],
  iamAuth: ["postgres"],
  endpoint: ["distsql"],
  username: ["distsql", "postgres"],
  isAdmin: ["distsql"],
  region: ["distsql", "serverless-pg", "postgres"],
  connectionString: ["postgres", "serverless-pg", "branching-pg", "embedded-pg"],
};

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
  if (!DATABASE_PROVIDERS.includes(config.provider)) {
    throw new ConfigurationError(
      `DatabaseConfig.provider must be one of ${DATABASE_PROVIDERS.join(", ")}, got ${
        describe(config.provider)
      }`,
    );
  }
  for (const [field, value] of Object.entries(config)) checkField(config.provider, field, value);
  if (config.provider === "distsql") checkDistSql(config);
  // the address of postgres is checked by its provider, before anything is opened
  else if (config.provider !== "postgres") {
    checkConnectionString(config.provider, config.connectionString);
  }
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
  const shown = SECRETS.has(field) ? typeof value : describe(value);
  if (!type.split(" or ").includes(typeof value) || value === null) {
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
  const own = getOwnRegion(endpoint);
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
