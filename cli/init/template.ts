import { AUTH_MIGRATION_SQL } from "../../auth/migration.ts";
import { RATE_LIMIT_MIGRATION_SQL } from "../../database/rate_limits/migration.ts";
import { ciFiles } from "./ci_files.ts";
import { denoFiles } from "./deno_files.ts";
import { nodeFiles } from "./node_files.ts";
import type { ProjectRuntime } from "./project_runtime.ts";
import { ROUTE_FILES } from "./route_files.ts";
import { DATABASE_FILES, renderConfig } from "./source_files.ts";

/**
 * Returns the files of a new project. Templates are strings in the code, not files, so that they
 * are available offline from npm, from JSR and in a bundle.
 *
 * @param name The project name.
 * @param runtime The local runtime.
 * @param withCi True adds a workflow that deploys the project.
 * @returns Contents by path.
 */
export function createProjectFiles(
  name: string,
  runtime: ProjectRuntime,
  withCi: boolean = false,
): ReadonlyMap<string, string> {
  const files = {
    ...(runtime === "node" ? nodeFiles(name) : denoFiles(name)),
    "trellis.config.ts": renderConfig(name, withCi),
    ...DATABASE_FILES,
    ...ROUTE_FILES,
    ...withCi ? ciFiles(name, runtime) : {},
    "migrations/0001_auth.sql":
      `${AUTH_MIGRATION_SQL}--> statement-breakpoint\n${RATE_LIMIT_MIGRATION_SQL}`,
  };
  return new Map(Object.entries(files).sort(([a], [b]) => a < b ? -1 : 1));
}
