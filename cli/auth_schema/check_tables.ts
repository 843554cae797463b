import { resolve } from "node:path";
import { isAppError } from "../../errors/app_error.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { BuildError } from "../sources/build_error.ts";
import { hasAuthConfig } from "./load_config.ts";

/**
 * Checks that the drizzle tables of a project have what the options and plugins of its auth
 * configuration need. Loads the configuration as `generate auth-schema` does, without a database.
 *
 * @returns Why the configuration cannot be checked; `undefined` if it was, or there is none.
 * @throws {ConfigurationError} If a table or a column is missing, or `AuthConfig.schema` does not
 * name tables of better-auth that the project has.
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
  const problem = await findProblem(options).catch((error: unknown) => {
    if (!isAppError(error) && !(error instanceof BuildError)) throw error;
    return { unknown: error.message };
  });
  if (problem === undefined) return undefined;
  if (typeof problem === "string") throw new ConfigurationError(problem);
  return `The tables of the auth configuration cannot be checked: ${problem.unknown}`;
}

async function findProblem(
  options: Parameters<typeof hasAuthConfig>[0],
): Promise<string | undefined> {
  const [{ loadAuthConfig }, { describeAuthTables }, { describeMissingTables }, tables] =
    await Promise.all([
      import("./load_config.ts"),
      import("../../auth/accounts/describe_tables.ts"),
      import("../../auth/accounts/missing_tables.ts"),
      import("../../auth/schema.ts"),
    ]);
  const { rateLimits } = await import("../../database/rate_limits/table.ts");
  const [{ toAuthTables }, { describeUnnamedTables }] = await Promise.all([
    import("./auth_table.ts"),
    import("./foreign_tables.ts"),
  ]);
  const { config } = await loadAuthConfig(options);
  const described = await describeAuthTables(config);
  const { models } = described;
  const own = toAuthTables(described, config.schema);
  const unnamed = await describeUnnamedTables(
    options.root,
    options.schemaFile,
    own,
    config.schema,
  );
  return unnamed ?? describeMissingTables(
    models.map(({ name, fields }) => ({
      name,
      properties: fields.map(({ property }) => property),
    })),
    { ...tables.AUTH_SCHEMA_MAPPING, rateLimit: rateLimits, ...config.schema },
  );
}
