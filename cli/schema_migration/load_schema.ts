import type { StdinOptions } from "esbuild";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { bundleModules, importModules } from "../sources/import_modules.ts";

const COMMAND = "trellis generate migration";
const DEFAULT_FILE = "src/schema.ts";

/**
 * Lists the modules that declare the tables of a project: `database.schemaFiles`, or
 * `src/schema.ts` and the file with the auth tables.
 *
 * @returns Paths relative to the project.
 * @throws {ConfigurationError} If a file does not exist, or there is none.
 */
export function listSchemaFiles(root: string, { database, auth }: ResolvedConfig): string[] {
  const { schemaFiles } = database;
  const missing = schemaFiles.filter((file) => !existsSync(resolve(root, file)));
  if (missing.length > 0) {
    throw new ConfigurationError(`${missing.join(", ")} does not exist: database.schemaFiles`);
  }
  const files = schemaFiles.length > 0
    ? schemaFiles
    : [DEFAULT_FILE, auth.schemaFile].filter((file) => existsSync(resolve(root, file)));
  if (files.length > 0) return [...files];
  throw new ConfigurationError(
    `${DEFAULT_FILE} does not exist: set database.schemaFiles in trellis.config.ts to the ` +
      "modules that export the drizzle tables",
  );
}

/**
 * Loads modules with drizzle tables.
 *
 * @param files The modules, relative to the project.
 * @returns Their exported values, each once.
 * @throws {BuildError} If a module cannot be built.
 * @throws {ConfigurationError} If a module cannot be loaded or esbuild is not installed.
 */
export async function loadSchema(root: string, files: readonly string[]): Promise<unknown[]> {
  const contents = files.map((file, index) =>
    `export * as module${index} from ${JSON.stringify(`./${file.replace(/^\.\//, "")}`)};`
  ).join("\n");
  const source = { contents, resolveDir: root, sourcefile: join(root, "schema-modules.ts") };
  type Modules = Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  const modules = await loadExports<Modules>(root, source, files.join(", "));
  return [...new Set(Object.values(modules).flatMap((module) => Object.values(module)))];
}

/**
 * Loads a text with drizzle tables, as if it were a module of the project.
 *
 * @param name The modules in messages.
 * @returns Its exports.
 * @throws {BuildError} If it cannot be built.
 * @throws {ConfigurationError} If it cannot be loaded or esbuild is not installed.
 */
export async function loadExports<T>(root: string, source: StdinOptions, name: string): Promise<T> {
  const modules = { root, name, source, command: COMMAND };
  const code = await bundleModules(modules);
  return await importModules<T>(modules, code).catch((cause: Error) => {
    throw new ConfigurationError(
      `${name} cannot be loaded: ${cause.message}. The modules run without a database`,
      { cause },
    );
  });
}
