/**
 * The modules of this package that a bundle without drizzle replaces: paths without extension. Each
 * replacement exports the values of its original that such a bundle uses, and imports only types of
 * drizzle.
 */
export const LEAN_MODULES: Readonly<Record<string, string>> = {
  "auth/api_key_statements": "auth/precompiled/api_key_statements",
  "auth/column_names": "auth/precompiled/column_names",
  "auth/organization_query": "auth/precompiled/organization_query",
  "auth/session_query": "auth/precompiled/session_query",
  "auth/session_tables": "auth/precompiled/session_tables",
  "auth/session_writes": "auth/precompiled/session_writes",
  "database/providers/data_api_dialect": "database/precompiled/data_api_dialect",
  "database/session/client": "database/precompiled/client",
  "database/session/statement_error": "database/precompiled/statement_error",
};

/** Modules that the code of a bundle without drizzle imports. */
export const LEAN_RUNTIME = {
  /** `definePrecompiledStatement(statement, key)`, instead of `database/queries/precompiled_statement`. */
  statement: "database/precompiled/statement",
  /** `definePrecompiledTable(name, columns, schema?)`. */
  table: "database/precompiled/table",
  /** `useOwnSessions()`. */
  ownSessions: "auth/precompiled/own_sessions",
  /** `defineAuthTable(name, columns, schema, load)`. */
  authTable: "auth/precompiled/table",
  /** `definePrecompiledSchema(key)`. */
  schema: "database/precompiled/schema",
  /** `loadDrizzle()`; replaced by a module that loads the second file. */
  loadDrizzle: "database/precompiled/load_drizzle",
} as const;

/**
 * Modules of the second file. Its exports are those of `file`, `schemas`, and `statements`: the
 * statements of the function, and `STATEMENTS` of each module in `statements` whose key the bundle
 * contains.
 */
export const DRIZZLE_FILE = {
  file: "database/precompiled/drizzle_file",
  statements: {
    "auth/precompiled/api_key_statements": "auth/precompiled/api_key_drizzle",
    "auth/precompiled/session_query": "auth/precompiled/session_statements",
    "auth/precompiled/session_writes": "auth/precompiled/session_statements",
  },
} as const;

/**
 * Imports of the modules that only built functions load. Nothing calls them: packages contain only
 * modules that another one imports.
 */
export const LEAN_PACKAGED_MODULES: readonly (() => Promise<unknown>)[] = [
  () => import("../../../auth/precompiled/api_key_drizzle.ts"),
  () => import("../../../auth/precompiled/api_key_statements.ts"),
  () => import("../../../auth/precompiled/builtin_tables.ts"),
  () => import("../../../auth/precompiled/column_names.ts"),
  () => import("../../../auth/precompiled/organization_query.ts"),
  () => import("../../../auth/precompiled/own_organization_query.ts"),
  () => import("../../../auth/precompiled/own_session_query.ts"),
  () => import("../../../auth/precompiled/own_session_writes.ts"),
  () => import("../../../auth/precompiled/own_sessions.ts"),
  () => import("../../../auth/precompiled/own_statements.ts"),
  () => import("../../../auth/precompiled/session_query.ts"),
  () => import("../../../auth/precompiled/session_statements.ts"),
  () => import("../../../auth/precompiled/session_tables.ts"),
  () => import("../../../auth/precompiled/session_writes.ts"),
  () => import("../../../auth/precompiled/statement_text.ts"),
  () => import("../../../auth/precompiled/table.ts"),
  () => import("../../../auth/precompiled/update_text.ts"),
  () => import("../../../database/precompiled/client.ts"),
  () => import("../../../database/precompiled/data_api_dialect.ts"),
  () => import("../../../database/precompiled/drizzle_file.ts"),
  () => import("../../../database/precompiled/schema.ts"),
  () => import("../../../database/precompiled/statement.ts"),
  () => import("../../../database/precompiled/statement_error.ts"),
  () => import("../../../database/precompiled/table.ts"),
];
