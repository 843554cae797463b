import { ConfigurationError } from "../../errors/http_errors.ts";
import type { DatabaseSettings } from "../../database/config/config.ts";

/** The fields of a `postgres` configuration that the environment sets besides the connection string. */
export type PostgresParts = Pick<
  DatabaseSettings,
  "host" | "port" | "database" | "username" | "password" | "sslMode" | "pooler" | "iamAuth"
>;

/**
 * Reads the parts of a PostgreSQL address from the environment: `DATABASE_HOST`, `_PORT`, `_NAME`,
 * `_USERNAME`, `_PASSWORD`, `_SSLMODE`, `_POOLER` and `_IAM_AUTH`.
 *
 * @param env The environment variables.
 * @param prefix `DATABASE_` or `TARGET_DATABASE_`.
 * @returns The parts that are set.
 * @throws {ConfigurationError} If a value is invalid.
 */
export function readPostgresParts(
  env: Readonly<Record<string, string | undefined>>,
  prefix: string,
): PostgresParts {
  const read = (name: string) => env[`${prefix}${name}`] || undefined;
  const parts = {
    host: read("HOST"),
    port: readPort(read("PORT"), `${prefix}PORT`),
    database: read("NAME"),
    username: read("USERNAME"),
    password: read("PASSWORD"),
    // the provider checks both
    sslMode: read("SSLMODE") as PostgresParts["sslMode"],
    pooler: read("POOLER") as PostgresParts["pooler"],
    iamAuth: readFlag(read("IAM_AUTH"), `${prefix}IAM_AUTH`),
  };
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined));
}

/** Removes the parts that a connection string contains itself. */
export function withoutAddress({ pooler, iamAuth }: PostgresParts): PostgresParts {
  return {
    ...(pooler === undefined ? {} : { pooler }),
    ...(iamAuth === undefined ? {} : { iamAuth }),
  };
}

/** Renders an address for people, without the password. */
export function formatPostgresParts(
  { host = "", port = 5432, database = "postgres", username }: PostgresParts,
): string {
  return `postgres://${username === undefined ? "" : `${username}@`}${host}:${port}/${database}`;
}

function readPort(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65_535) return port;
  throw new ConfigurationError(`${name} must be a whole number from 1 to 65535, got "${text}"`);
}

function readFlag(text: string | undefined, name: string): boolean | undefined {
  if (text === undefined) return undefined;
  if (text === "true" || text === "false") return text === "true";
  throw new ConfigurationError(`${name} must be "true" or "false", got "${text}"`);
}
