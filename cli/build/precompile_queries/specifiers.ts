import type { DenoGraph } from "../deno_graph.ts";
import type { ModulePaths } from "../module_paths.ts";

/** The prefix of specifiers for statements that are compiled. */
export const COMPILED = "trellis-query:";
/** Specifier of `database/queries/precompiled_statement.ts` in generated modules. */
export const RUNTIME = "trellis-queries/runtime";
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

/** Modules that compiled queries add to a bundle, and with which functions replace their own. */
const ADDED_MODULES: readonly string[] = [
  "auth/precompiled_session_query",
  ...Object.values(OWN_MODULES),
];

/**
 * Lists the added modules if this package is not in a folder, as from JSR. The graph of the functions
 * does not contain them, because no function imports them.
 *
 * @param graph The graph of the functions.
 * @param paths Maps modules to packages.
 * @returns Their URLs; empty if no function uses a database.
 */
export function listRemoteModules({ modules }: DenoGraph, paths: ModulePaths): string[] {
  for (const { specifier } of modules) {
    const root = /^https?:/.test(specifier) ? paths.trellisRoot(specifier) : undefined;
    if (root === undefined || !specifier.startsWith(`${root}database/`)) continue;
    return ADDED_MODULES.map((module) => `${root}${module}.ts`);
  }
  return [];
}
