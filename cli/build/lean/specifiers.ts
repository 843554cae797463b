/** The prefix of specifiers for tables of queries, without their builders. */
export const TABLE = "trellis-lean-table:";
/** The prefix of specifiers for schemas of clients. */
export const SCHEMA = "trellis-lean-schema:";
/** The prefix of specifiers for tables of configurations of auth. */
export const AUTH_SCHEMA = "trellis-lean-auth:";
/** The prefix of specifiers for modules of this package, by their key in `LEAN_RUNTIME`. */
export const RUNTIME = "trellis-lean-runtime/";
/** The prefix of specifiers for marks of code that needs drizzle, followed by the reason. */
export const KEPT = "trellis-needs-drizzle:";
/** The file with drizzle, next to the bundle of a function. */
export const DRIZZLE_FILE = "drizzle.cjs";
