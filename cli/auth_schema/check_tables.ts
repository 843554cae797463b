import { resolve } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { formatDiagnostic } from "../terminal/generated_report.ts";
import { describeCount, loadAuth } from "./load_config.ts";

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
  config: ResolvedConfig,
): Promise<string | undefined> {
  const loaded = await loadAuth(root, config);
  if (loaded === undefined) return undefined;
  const { facts, errors, warnings = [], files } = loaded;
  const invalid = errors.filter(({ isInvalid }) => isInvalid);
  if (invalid.length > 0) throw new ConfigurationError(invalid.map(formatDiagnostic).join("\n"));
  const unknown = facts === undefined
    ? undefined
    : describeCount(files, facts.count) ?? facts.problem;
  const reasons = unknown === undefined
    ? [...errors, ...warnings].map(formatDiagnostic)
    : [unknown];
  if (facts !== undefined && unknown === undefined) {
    const { describeUnnamedTables } = await import("./foreign_tables.ts");
    const { tables, given, missing } = facts;
    const schemaFile = resolve(root, config.auth.schemaFile);
    const problem = await describeUnnamedTables(root, schemaFile, tables, given) ?? missing;
    if (problem !== undefined) throw new ConfigurationError(problem);
  }
  return reasons.length === 0
    ? undefined
    : `The auth configuration cannot be checked: ${reasons.join("\n")}`;
}
