import { ConfigurationError } from "../../errors/http_errors.ts";
import {
  DATABASE_PROVIDERS,
  type DatabaseProvider,
  type DatabaseSettings,
  getOwnRegion,
  splitEndpoint,
} from "./config.ts";

/** Type and meaning of a field. */
interface FieldRule {
  readonly type: "string" | "boolean" | "object" | "number" | "string or function";
  /** Providers that have the field, if not all do. The others would ignore it silently. */
  readonly only?: readonly DatabaseProvider[];
  /** True if the value is never shown. */
  readonly isSecret?: boolean;
  /** True for a duration. */
  readonly isSeconds?: boolean;
}

const POSTGRES: readonly DatabaseProvider[] = ["postgres"];
const DISTSQL: readonly DatabaseProvider[] = ["distsql"];

const FIELDS: Readonly<Record<keyof DatabaseSettings, FieldRule>> = {
  provider: { type: "string" },
  connectionString: {
    type: "string",
    isSecret: true,
    only: ["postgres", "serverless-pg", "branching-pg", "embedded-pg"],
  },
  host: { type: "string", only: POSTGRES },
  port: { type: "number", only: POSTGRES },
  database: { type: "string", only: POSTGRES },
  password: { type: "string or function", isSecret: true, only: POSTGRES },
  sslMode: { type: "string", only: POSTGRES },
  pooler: { type: "string", only: POSTGRES },
  iamAuth: { type: "boolean", only: POSTGRES },
  endpoint: { type: "string", only: DISTSQL },
  region: { type: "string", only: ["distsql", "serverless-pg", "postgres"] },
  username: { type: "string", only: ["distsql", "postgres"] },
  isAdmin: { type: "boolean", only: DISTSQL },
  schema: { type: "object" },
  maxConnections: { type: "number" },
  idleTimeout: { type: "number", isSeconds: true },
  connectTimeout: { type: "number", isSeconds: true },
  statementTimeoutSeconds: { type: "number", isSeconds: true },
  instrument: { type: "boolean" },
  prepare: { type: "boolean" },
  ca: { type: "string", isSecret: true },
};

/**
 * Validates a configuration before anything is opened.
 *
 * @param config The application's configuration.
 * @returns The same configuration.
 * @throws {ConfigurationError} If a field is missing, unknown or invalid. The message has the
 * field, its value (never a connection string, which holds a password) and the fix.
 */
export function checkDatabaseConfig(config: DatabaseSettings): DatabaseSettings {
  if (typeof config !== "object" || config === null) {
    throw new ConfigurationError(
      `The database configuration must be an object, got ${showValue(config)}`,
    );
  }
  if (!DATABASE_PROVIDERS.includes(config.provider)) {
    const known = DATABASE_PROVIDERS.join(", ");
    refuseConfig(`.provider must be one of ${known}, got ${showValue(config.provider)}`);
  }
  for (const [field, value] of Object.entries(config)) checkField(config.provider, field, value);
  if (config.provider === "distsql") checkDistSqlConfig(config);
  // the address of postgres is checked by its provider, before anything is opened
  else if (config.provider !== "postgres") {
    checkConnectionString(config.provider, config.connectionString);
  }
  return config;
}

function checkField(provider: DatabaseProvider, field: string, value: unknown): void {
  if (value === undefined) return;
  if (!Object.hasOwn(FIELDS, field)) {
    refuseConfig(
      ` has no field ${JSON.stringify(field)}; it has ${Object.keys(FIELDS).join(", ")}`,
    );
  }
  const { type, only, isSecret, isSeconds } = FIELDS[field as keyof DatabaseSettings];
  // never show this value: it may hold a password
  const shown = isSecret ? typeof value : showValue(value);
  if (!type.split(" or ").includes(typeof value) || value === null) {
    refuseConfig(`.${field} must be a ${type}, got ${shown}`);
  }
  if (value === "") refuseConfig(`.${field} is empty: give a value or leave it out`);
  if (only !== undefined && !only.includes(provider) && value !== false) {
    refuseConfig(
      `.${field} belongs to ${only.join(" and ")}: leave it out for provider ${provider}`,
    );
  }
  if (field === "maxConnections" && !(Number.isInteger(value) && (value as number) >= 1)) {
    refuseConfig(`.maxConnections must be a whole number from 1, got ${shown}`);
  }
  if (isSeconds && !((value as number) > 0 && (value as number) < 1e6)) {
    refuseConfig(`.${field} must be a number of seconds above 0, got ${shown}`);
  }
}

function checkConnectionString(provider: DatabaseProvider, value: string | undefined): void {
  const field = ".connectionString";
  if (provider === "embedded-pg") {
    const scheme = getScheme(value ?? "");
    // one letter is the drive of a path
    if (scheme.length > 1 && !/^(?:memory|file):\/\//.test(value!)) {
      refuseConfig(`${field} of embedded-pg is a folder or memory://, got a ${scheme} URL`);
    }
    return;
  }
  const schemes = ["postgres", "postgresql"];
  if (provider === "serverless-pg") schemes.unshift("rds-data");
  if (value === undefined) {
    const forms = schemes.map((scheme) => `${scheme}://…`).join(" or ");
    refuseConfig(`${field} is missing: provider ${provider} needs ${forms}`);
  }
  const scheme = getScheme(value);
  if (!schemes.includes(scheme)) {
    const forms = schemes.map((scheme) => `${scheme}://`).join(" or ");
    const given = scheme === "" ? "a text without a scheme" : `${scheme}://`;
    refuseConfig(`${field} of ${provider} must begin with ${forms}, got ${given}`);
  }
}

function getScheme(value: string): string {
  // the flag i beside a class would make V8 load tables of Unicode
  return /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(value)?.[1].toLowerCase() ?? "";
}

const REGION = /^[a-z]{2}(?:-[a-z]+)+-\d$/;

/**
 * Checks the fields of `distsql`.
 *
 * @throws {ConfigurationError} If one is missing or invalid.
 */
function checkDistSqlConfig(
  { endpoint, region, username, isAdmin }: DatabaseSettings,
): void {
  if (endpoint === undefined) {
    refuseConfig(".endpoint is missing: give the cluster's host name, <id>.dsql.<region>.on.aws");
  }
  const [host, port] = splitEndpoint(endpoint);
  if (!/^[a-z0-9.-]+$/i.test(host) || (port !== undefined && !/^\d{1,5}$/.test(port))) {
    const given = showValue(redactUrl(endpoint));
    refuseConfig(`.endpoint must be a host name without scheme and path, got ${given}`);
  }
  if (region !== undefined && !REGION.test(region)) {
    refuseConfig(`.region must be a region such as eu-central-1, got ${showValue(region)}`);
  }
  const own = getOwnRegion(endpoint);
  if (region === undefined && own === undefined) {
    const given = showValue(endpoint);
    refuseConfig(
      `.region is missing, and the endpoint ${given} does not contain it: set the region`,
    );
  }
  if (own !== undefined && region !== undefined && own !== region) {
    const given = showValue(region);
    refuseConfig(`.region is ${given}, but the endpoint is in ${own}: leave the region out`);
  }
  if (isAdmin === true && username !== undefined && username !== "admin") {
    const given = showValue(username);
    refuseConfig(
      `.username is ${given} with isAdmin: the admin's name is admin, leave one of them out`,
    );
  }
  if (isAdmin !== true && username === undefined) {
    refuseConfig(
      ".username is missing: give the database role of this function, or isAdmin: true for " +
        "migrations",
    );
  }
  if (isAdmin !== true && username === "admin") {
    refuseConfig(
      '.username is "admin" without isAdmin: set isAdmin: true, or the role of this function',
    );
  }
}

function redactUrl(value: string): string {
  return value.replace(/(:\/\/)[^@/]*@/, "$1…@");
}

/** Throws an error whose message begins with `DatabaseConfig`. */
function refuseConfig(message: string): never {
  throw new ConfigurationError(`DatabaseConfig${message}`);
}

/** Shows a value in a message. */
function showValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 100));
  return typeof value === "object" && value !== null ? "an object" : String(value);
}
