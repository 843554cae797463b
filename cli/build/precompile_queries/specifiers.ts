import type { DenoGraph } from "../deno_graph.ts";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { ModulePaths } from "../module_paths.ts";
import { DRIZZLE_FILE, LEAN_MODULES, LEAN_RUNTIME as LEAN_MODULE_BY_NAME } from "./lean_modules.ts";

/** The prefix of specifiers for statements that are compiled. */
export const COMPILED = "trellis-query:";
/** Specifier of `database/queries/precompiled_statement.ts` in generated modules. */
export const RUNTIME = "trellis-queries/runtime";
/** Specifier of `database/precompiled/statement.ts` in generated modules. */
export const LEAN_RUNTIME = "trellis-lean-runtime/statement";
/** Specifier of `database/queries/column_codecs.ts` in generated modules. */
export const CODECS = "trellis-queries/codecs";
/** The modules of this package by their specifiers. */
export const OWN_MODULES: Readonly<Record<string, string>> = {
  [RUNTIME]: "database/queries/precompiled_statement",
  [CODECS]: "database/queries/column_codecs",
};

/**
 * Imports of the modules that only built functions load. Nothing calls them: packages contain only
 * modules that another one imports.
 */
export const PACKAGED_MODULES: readonly (() => Promise<unknown>)[] = [
  () => import("../../../auth/precompiled_session_query.ts"),
  () => import("../../../database/queries/precompiled_statement.ts"),
];

/** Modules that compiled queries add to a bundle or to its second file. */
const ADDED_MODULES: readonly string[] = [
  "auth/precompiled_session_query",
  ...Object.values(OWN_MODULES),
  ...Object.values(LEAN_MODULES),
  ...Object.values(LEAN_MODULE_BY_NAME),
  DRIZZLE_FILE.file,
  ...Object.values(DRIZZLE_FILE.statements),
];

/**
 * Lists the added modules. The graph of the functions does not contain them, because no function
 * imports them.
 *
 * @param graph The graph of the functions.
 * @param paths Maps modules to packages.
 * @returns Their URLs; empty if no function uses a database.
 */
export function listAddedModules({ modules }: DenoGraph, paths: ModulePaths): string[] {
  for (const { specifier } of modules) {
    const root = getRoot(specifier, paths);
    if (root === undefined || !specifier.startsWith(`${root}database/`)) continue;
    return ADDED_MODULES.map((module) => `${root}${module}.ts`);
  }
  return [];
}

/** Returns the URL of this package's folder. */
function getRoot(specifier: string, paths: ModulePaths): string | undefined {
  if (/^https?:/.test(specifier)) return paths.trellisRoot(specifier);
  if (!specifier.startsWith("file:")) return undefined;
  const root = paths.trellisRoot(fileURLToPath(specifier));
  return root === undefined ? undefined : `${pathToFileURL(root).href}/`;
}
