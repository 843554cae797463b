import { resolve } from "node:path";
import { isAppError } from "../../errors/app_error.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { BuildError } from "../sources/build_error.ts";
import { hasAuthConfig, type LoadOptions } from "./load_config.ts";

/**
 * Checks the options of a project's auth configuration, and that the drizzle tables have what its options and plugins
 * need. Loads the configuration as `generate auth-schema` does, without a database.
 *
 * @returns Why the configuration cannot be checked; `undefined` if it was, or there is none.
 * @throws {ConfigurationError} If an option does not exist, a table or a column is missing, or `AuthConfig.schema` does
 * not name tables of better-auth that the project has.
 */
export async function checkAuthTables(
  root: string,
  { functionsDir, auth }: ResolvedConfig,
): Promise<string | undefined> {
  const options = {
    root,
    functionsDir,
    from: auth.config,
    schemaFile: resolve(root, auth.schemaFile),
  };
  if (!hasAuthConfig(options)) return undefined;
  const [{ loadAuthConfigs }, { checkAuthOptions }] = await Promise.all([
    import("./load_config.ts"),
    import("../../auth/config/check_auth_options.ts"),
  ]);
  const loaded = await loadAuthConfigs(options).catch(explain);
  if (typeof loaded === "object") {
    try {
      loaded.configs.forEach(checkAuthOptions);
    } catch (cause) {
      const { message } = cause as Error;
      throw new ConfigurationError(`${loaded.files.join(", ")}: ${message}`, { cause });
    }
  }
  const found = typeof loaded === "object" ? await findProblem(options).catch(explain) : loaded;
  if (typeof found === "string") return `The auth configuration cannot be checked: ${found}`;
  if (found.problem !== undefined) throw new ConfigurationError(found.problem);
  return undefined;
}

/** Returns why something cannot be loaded. Other errors are faults. */
function explain(error: unknown): string {
  if (isAppError(error) || error instanceof BuildError) return error.message;
  throw error;
}

async function findProblem(options: LoadOptions): Promise<{ readonly problem?: string }> {
  const [
    { loadAuthConfig },
    { describeAuthTables },
    { describeMissingTables },
    { describeUnnamedTables },
    { AUTH_SCHEMA_MAPPING },
    { rateLimits },
  ] = await Promise.all([
    import("./load_config.ts"),
    import("./auth_table.ts"),
    import("../../auth/accounts/missing_tables.ts"),
    import("./foreign_tables.ts"),
    import("../../auth/tables/schema.ts"),
    import("../../database/rate_limits/table.ts"),
  ]);
  const { root, schemaFile } = options;
  const { config } = await loadAuthConfig(options);
  const needed = await describeAuthTables(config);
  const unnamed = await describeUnnamedTables(root, schemaFile, needed, config.schema);
  return {
    problem: unnamed ?? describeMissingTables(
      needed.map(({ model, columns: [, ...columns] }) => ({
        name: model,
        properties: columns.map(({ property }) => property),
      })),
      { ...AUTH_SCHEMA_MAPPING, rateLimit: rateLimits, ...config.schema },
    ),
  };
}
