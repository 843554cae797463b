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
