import { AUTH_MIGRATION_SQL } from "../../auth/migration.ts";
import { denoFiles } from "./deno_files.ts";
import { nodeFiles } from "./node_files.ts";
import { ROUTE_FILES } from "./route_files.ts";
import { DATABASE_FILES, renderConfig } from "./source_files.ts";

/** What a project runs on while it is developed; deployed, both run on Lambda's Node. */
export type ProjectRuntime = "node" | "deno";

/**
 * The files of a new project. They are texts in the program, and not files beside it, so that they are there from npm, from
 * JSR (where a package has no folder) and in a bundle, without a network.
 *
 * @param name The project's name.
 * @param runtime What it runs on.
 * @returns Texts by path.
 */
export function projectFiles(name: string, runtime: ProjectRuntime): ReadonlyMap<string, string> {
  const files = {
    ...(runtime === "node" ? nodeFiles(name) : denoFiles(name)),
    "trellis.config.ts": renderConfig(name),
    ...DATABASE_FILES,
    ...ROUTE_FILES,
    "migrations/0001_auth.sql": `${AUTH_MIGRATION_SQL.trim()}\n`,
  };
  return new Map(Object.entries(files).sort(([a], [b]) => a < b ? -1 : 1));
}
