import type { Plugin } from "esbuild";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { readMigrationFolder } from "../../database/migrations/folder.ts";
import type { BundledProject } from "../../database/migrations/function/bundled_project.ts";
import { JOURNAL_FILE } from "../../database/migrations/journal.ts";
import type { ResolvedConfig } from "../config/config.ts";
import type { ModulePaths } from "../sources/module_paths.ts";

/**
 * Reads the migrations and grants that a migration function runs.
 *
 * @param config The folders, and the settings of migrations.
 * @returns The files and settings.
 * @throws {MigrationError} If the migrations folder is invalid.
 */
export function readBundledProject(
  root: string,
  { database, permissions }: Pick<ResolvedConfig, "database" | "permissions">,
): BundledProject {
  const { migrationsDir, migrationsTable, migrationsSchema, translation } = database;
  const content = {
    migrations: readMigrations(resolve(root, migrationsDir)),
    permissions: readPermissions(resolve(root, permissions.dir)),
    migrationsTable,
    migrationsSchema,
    translation,
  };
  const digest = createHash("sha256").update(JSON.stringify(content)).digest("hex");
  return { digest, ...content };
}

function readMigrations(folder: string): Record<string, string> {
  const { files, hasJournal } = readMigrationFolder(folder);
  return {
    ...Object.fromEntries(files.map(({ tag, sql }) => [`${tag}.sql`, sql])),
    ...hasJournal && { [JOURNAL_FILE]: readFileSync(join(folder, JOURNAL_FILE), "utf8") },
  };
}

function readPermissions(folder: string): Record<string, string> {
  if (!existsSync(folder)) return {};
  const names = readdirSync(folder).filter((name) => name.endsWith(".sql")).sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

/**
 * Creates a plugin that puts the migrations and grants of the project into migration functions.
 *
 * @param paths Finds the modules of `@trellis/fn`.
 * @returns The plugin; it must precede plugins that load modules.
 */
export function bundledProjectPlugin(
  paths: ModulePaths,
  readProject: () => BundledProject,
): Plugin {
  return {
    name: "bundled project",
    setup(build): void {
      const filter = /[/\\]migrations[/\\]function[/\\]bundled_project\.[jt]s$/;
      build.onLoad({ filter }, ({ path }) => {
        if (paths.trellisRoot(path) === undefined) return undefined;
        return { contents: renderModule(readProject), loader: "js" };
      });
    },
  };
}

/**
 * Renders the replacement of the module. Every function that imports `@trellis/fn/database` loads it, and all
 * but migration functions omit it, so that an invalid folder is only an error of those.
 */
function renderModule(readProject: () => BundledProject): string {
  try {
    return `const project = ${JSON.stringify(readProject())};
export function getBundledProject() { return project; }
`;
  } catch (error) {
    const message = `trellis build could not read the migrations: ${(error as Error).message}`;
    return `export function getBundledProject() { throw new Error(${JSON.stringify(message)}); }
`;
  }
}
