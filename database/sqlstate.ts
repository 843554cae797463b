import { causeChain } from "../errors/cause_chain.ts";
import { getSqlState } from "../errors/driver_error.ts";

/**
 * SQLSTATEs of an optimistic-concurrency conflict: run the whole transaction again. Servers send 40001; OC000 (a row
 * was changed) and OC001 (the schema was changed) are Aurora DSQL's names for its two kinds, a code of their own in
 * old builds. Source: PostgreSQL 18, appendix A; Aurora DSQL user guide, "Concurrency control" (2026-10).
 */
export const OCC_ERROR_CODES: readonly string[] = Object.freeze(["40001", "OC000", "OC001"]);

/**
 * SQLSTATEs that say that a DDL statement's work is there already, or that what it drops is gone: safe to pass over
 * when DDL is run again. Source: PostgreSQL 18, appendix A.
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
 * SQLSTATEs to pass over in the SQL that sets a test up or cleans up after it: {@link IDEMPOTENT_DDL_CODES} and the
 * rows that an earlier run left.
 */
export const IDEMPOTENT_TEST_CODES: readonly string[] = Object.freeze([
  ...IDEMPOTENT_DDL_CODES,
  "23505", // unique_violation: the row is there
  "23503", // foreign_key_violation: the row is still referred to
  "2BP01", // dependent_objects_still_exist
]);

function hasCode(error: unknown, codes: readonly string[]): boolean {
  return causeChain(error).some((link) => {
    const code = getSqlState(link);
    return code !== undefined && codes.includes(code);
  });
}

/**
 * Whether an error says that the transaction met a conflict and may be run again as a whole. The whole cause chain is
 * looked through, since drizzle wraps a statement's error and leaves a COMMIT's as it is. Messages are not read: they
 * may hold a user's text.
 *
 * @param error Anything that was thrown.
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
  return hasCode(error, OCC_ERROR_CODES);
}

/**
 * Whether an error of a DDL statement says that its work is done already, by {@link IDEMPOTENT_DDL_CODES}.
 *
 * @param err Anything that was thrown.
 * @returns `true` when the statement need not be run.
 *
 * @example
 * ```ts
 * import { isIdempotentDdlError } from "@trellis/fn/database";
 *
 * console.log(isIdempotentDdlError({ code: "42P07" })); // true: the table exists
 * ```
 */
export function isIdempotentDdlError(err: unknown): boolean {
  return hasCode(err, IDEMPOTENT_DDL_CODES);
}

/** Classes in which the server did not say how a COMMIT ended: connection exceptions, shutdowns, internal errors. */
const UNKNOWN_OUTCOME = /^(?:08|57P0|XX)/;

/**
 * Whether a failed COMMIT may have been applied all the same: the server gave no answer, or one that does not say.
 *
 * @param error What COMMIT was answered with.
 * @returns `false` when the server said that the transaction was rolled back.
 */
export function isCommitOutcomeUnknown(error: unknown): boolean {
  const code = causeChain(error).map(getSqlState).find((state) => state !== undefined);
  return code === undefined || UNKNOWN_OUTCOME.test(code);
}
