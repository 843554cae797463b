import { findInCauseChain } from "../errors/cause_chain.ts";
import { findSqlState, hasSqlState } from "../errors/driver_error.ts";

/**
 * SQLSTATEs of an optimistic-concurrency conflict: the whole transaction can be retried. Servers
 * send 40001; OC000 (a row was changed) and OC001 (the schema was changed) are Aurora DSQL's tags,
 * which old builds sent as codes. Source: PostgreSQL 18, appendix A; Aurora DSQL user guide,
 * "Concurrency control" (2026-10).
 */
export const OCC_ERROR_CODES: readonly string[] = Object.freeze(["40001", "OC000", "OC001"]);

/**
 * SQLSTATEs which mean that an object to create exists already, or an object to drop does not
 * exist. Repeated DDL can ignore them. Source: PostgreSQL 18, appendix A.
 */
export const IDEMPOTENT_DDL_CODES: readonly string[] = Object.freeze([
  "42P07", // duplicate_table: tables, indexes, views, sequences
  "42P06", // duplicate_schema
  "42P04", // duplicate_database
  "42701", // duplicate_column
  "42710", // duplicate_object: constraints, roles, types, IAM mappings
  "42723", // duplicate_function
  "42P01", // undefined_table
  "42703", // undefined_column
  "42704", // undefined_object
  "42883", // undefined_function
  "3F000", // invalid_schema_name
]);

/**
 * SQLSTATEs to ignore in set-up and clean-up SQL of tests: {@link IDEMPOTENT_DDL_CODES} and errors
 * about rows that an earlier run left.
 */
export const IDEMPOTENT_TEST_CODES: readonly string[] = Object.freeze([
  ...IDEMPOTENT_DDL_CODES,
  "23505", // unique_violation: the row exists
  "23503", // foreign_key_violation: the row is still referenced
  "2BP01", // dependent_objects_still_exist
]);

/**
 * Checks for a conflict after which the whole transaction can be retried. Searches the cause chain,
 * because drizzle wraps the errors of statements but not those of COMMIT. Ignores messages, which
 * may hold user input.
 *
 * @param error Any thrown value.
 * @returns `true` for a SQLSTATE of {@link OCC_ERROR_CODES}.
 *
 * @example
 * ```ts
 * import { isOccError } from "@trellis/fn/database";
 *
 * const error = new Error("Failed query", { cause: Object.assign(new Error("conflict"), { code: "40001" }) });
 * console.log(isOccError(error)); // true
 * ```
 */
export function isOccError(error: unknown): boolean {
  return hasSqlState(error, OCC_ERROR_CODES);
}

/**
 * Checks whether the plan of a prepared statement no longer fits its table, because a migration has
 * changed the type of a column. PostgreSQL has the same SQLSTATE for what it does not support at all;
 * the routine tells the difference. Source: PostgreSQL 18, plancache.c.
 *
 * @param error Any thrown value.
 */
export function isStalePlan(error: unknown): boolean {
  return findInCauseChain(error, (link) => {
    const { code, routine } = (link ?? {}) as { code?: unknown; routine?: unknown };
    return code === "0A000" && routine === "RevalidateCachedQuery";
  }) !== undefined;
}

/** SQLSTATE of a deadlock: the server rolled this transaction back so that another one could go on. */
const DEADLOCK = "40P01";

/**
 * Checks whether the server rolled a transaction back because of another one, so that it can be run
 * again: a conflict, a deadlock, or a migration that made a plan stale.
 *
 * @param error Any thrown value.
 */
export function isTransactionConflict(error: unknown): boolean {
  return hasSqlState(error, [...OCC_ERROR_CODES, DEADLOCK]) || isStalePlan(error);
}

/**
 * Checks for an error of DDL whose effect exists already, by {@link IDEMPOTENT_DDL_CODES}.
 *
 * @param err Any thrown value.
 * @returns `true` if the statement need not be run.
 *
 * @example
 * ```ts
 * import { isIdempotentDdlError } from "@trellis/fn/database";
 *
 * console.log(isIdempotentDdlError({ code: "42P07" })); // true: the table exists
 * ```
 */
export function isIdempotentDdlError(err: unknown): boolean {
  return hasSqlState(err, IDEMPOTENT_DDL_CODES);
}

/**
 * Classes of errors which leave the outcome of a COMMIT open: connection exceptions, shutdowns,
 * internal errors.
 */
const UNKNOWN_OUTCOME = /^(?:08|57P0|XX)/;

/**
 * Checks whether a failed COMMIT may have been applied: the server did not answer, or its answer
 * does not say.
 *
 * @param error The error of COMMIT.
 * @returns `false` if the server reported a rollback.
 */
export function isCommitOutcomeUnknown(error: unknown): boolean {
  const code = findSqlState(error);
  return code === undefined || UNKNOWN_OUTCOME.test(code);
}

/** Code of the error of a statement that was not answered in time; a connection's, not a server's. */
export const SILENT = "CONNECTION_SILENT";

/** Checks for the error of a statement that was not answered in time. */
export function isSilent(error: unknown): boolean {
  return findInCauseChain(error, (link) => (link as { code?: unknown }).code === SILENT) !==
    undefined;
}
