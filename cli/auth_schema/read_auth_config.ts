import { getTableColumns, is, Table } from "drizzle-orm";
import { describeMissingTables } from "../../auth/accounts/missing_tables.ts";
import type { AuthConfig } from "../../auth/config/config.ts";
import { AUTH_SCHEMA_MAPPING } from "../../auth/tables/schema.ts";
import { rateLimits } from "../../database/rate_limits/table.ts";
import { isAppError } from "../../errors/app_error.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { checkFacts, type TogetherModule } from "../project/load_together.ts";
import type { LoadedFunction } from "../project/loaded_function.ts";
import { type AuthTable, describeAuthTables } from "./auth_table.ts";

/** Which configuration of a project is read. */
export interface AuthData {
  /** `src/auth.ts#authConfig`, or a module alone; without it, the only configuration. */
  readonly from?: string;
  /** The file with the auth tables, relative to the project. */
  readonly schemaFile: string;
}

/** A drizzle table in `AuthConfig.schema`. */
export interface GivenTable {
  readonly properties: readonly string[];
  /** True if it is of the file with the auth tables. */
  readonly isGenerated: boolean;
}

/** What is known of the configurations of the loaded modules. */
export interface AuthFacts {
  /** Number of different configurations. */
  readonly count: number;
  /** The tables that the only configuration needs. */
  readonly tables: readonly AuthTable[];
  /** The tables in its `schema`, by model. */
  readonly given: Readonly<Record<string, GivenTable>>;
  readonly hasSchema: boolean;
  /** Tables and columns that `schema` lacks. */
  readonly missing?: string;
  /** Why the tables are unknown. */
  readonly problem?: string;
}

/** Reads the only configuration. Runs in the process that loads the modules. */
export async function read(fn: LoadedFunction): Promise<AuthFacts> {
  const { modules, data } = fn.module as TogetherModule<AuthData>;
  const configs = findAuthConfigs(fn, data.from);
  const [config] = configs;
  const facts: AuthFacts = { count: configs.length, tables: [], given: {}, hasSchema: false };
  if (configs.length !== 1) return facts;
  const { schema = {} } = config;
  const generated = new Set(Object.values(modules[data.schemaFile] ?? {}));
  try {
    const tables = await describeAuthTables(config);
    return checkFacts({
      ...facts,
      tables,
      given: describeTables(schema, generated),
      hasSchema: config.schema !== undefined,
      missing: describeMissingTables(
        tables.map(({ model, columns: [, ...columns] }) => ({
          name: model,
          properties: columns.map(({ property }) => property),
        })),
        { ...AUTH_SCHEMA_MAPPING, rateLimit: rateLimits, ...schema },
      ),
    });
  } catch (error) {
    if (isAppError(error)) return { ...facts, problem: error.message };
    throw error;
  }
}

/**
 * Finds the different configurations of loaded modules.
 *
 * @param from As in {@link AuthData}.
 * @throws {ConfigurationError} If the named export does not exist.
 */
export function findAuthConfigs(fn: LoadedFunction, from: string | undefined): AuthConfig[] {
  const [file, name] = (from ?? "").split("#");
  if (name === undefined) {
    const definitions = fn.list("defineAuth", "configureSessionAuth");
    return [...new Set(definitions.map(({ args }) => args[1] as AuthConfig))];
  }
  const { modules } = fn.module as TogetherModule<unknown>;
  const config = modules[file.replace(/^\.\//, "")]?.[name];
  if (config === undefined) throw new ConfigurationError(`${file} does not export ${name}`);
  return [config as AuthConfig];
}

function describeTables(
  schema: Readonly<Record<string, unknown>>,
  generated: ReadonlySet<unknown>,
): AuthFacts["given"] {
  const tables = Object.entries(schema).filter((entry): entry is [string, Table] =>
    is(entry[1], Table)
  );
  return Object.fromEntries(tables.map(([model, table]) => [model, {
    properties: Object.keys(getTableColumns(table)),
    isGenerated: generated.has(table),
  }]));
}
