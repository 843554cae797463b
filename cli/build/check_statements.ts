import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { BuilderClient } from "../../database/queries/build_statement.ts";
import { isAppError } from "../../errors/app_error.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { BuildError } from "../sources/build_error.ts";
import { findModules, loadModules } from "../project/load_modules.ts";

/**
 * Builds every statement of a project's modules, so that no first call in production is refused. The
 * modules run without a database. Statements that a function declares when it is called are not found.
 *
 * @returns Why the statements cannot be checked; `undefined` if they were, or there are none.
 * @throws {ConfigurationError} If statements cannot be built for all values. It names their places.
 */
export async function checkStatements(
  root: string,
  { functionsDir, auth }: ResolvedConfig,
): Promise<string | undefined> {
  const files = findModules(root, functionsDir, /\bdefineStatement\(/);
  if (files.length === 0) return undefined;
  const loaded = await loadModules({ root, schemaFile: resolve(root, auth.schemaFile), files })
    .catch((error: unknown) => {
      if (!isAppError(error) && !(error instanceof BuildError)) throw error;
      return error;
    });
  if (loaded instanceof Error) return `Statements cannot be checked: ${loaded.message}`;
  const builder = await createBuilder();
  const places = findPlaces(root, files);
  const refused = loaded.statements.flatMap((statement) => {
    try {
      statement.buildOn(builder);
      return [];
    } catch (error) {
      if (!isAppError(error)) throw error;
      return [`${places.get(statement.name) ?? files.join(", ")}: ${error.message}`];
    }
  });
  if (refused.length > 0) throw new ConfigurationError(refused.join("\n"));
  return undefined;
}

async function createBuilder(): Promise<BuilderClient> {
  const [{ DrizzleClients }, { Dialect }] = await Promise.all([
    import("../../database/session/client.ts"),
    import("../../database/session/dialect.ts"),
  ]);
  return new DrizzleClients(new Dialect(), undefined).createBuilder() as unknown as BuilderClient;
}

/** Finds the file and line of statements by their names. */
function findPlaces(root: string, files: readonly string[]): Map<string, string> {
  const places = new Map<string, string>();
  for (const file of files) {
    const source = readFileSync(resolve(root, file), "utf8");
    for (const { 1: name, index } of source.matchAll(/\bdefineStatement\(\s*["'`]([^"'`\n]+)/g)) {
      places.set(name, `${file}:${source.slice(0, index).split("\n").length}`);
    }
  }
  return places;
}
