import type { Clock } from "../core/async/clock.ts";
import { formatArray } from "../database/session/array_literal.ts";
import { type PlainSql, rawSql, sql } from "../database/session/plain_sql.ts";
import { hasSqlState } from "../errors/driver_error.ts";
import { ConfigurationError } from "../errors/http_errors.ts";

/**
 * Returns the current time as SQL: the database's, so that workers need no equal clocks. It is the time at
 * which the statement began: `clock_timestamp()` is volatile, so that no index can be searched with it.
 */
export function sqlNow(clock: Clock | undefined): PlainSql {
  return clock === undefined
    ? sql`statement_timestamp()`
    : sql`${new Date(clock.now()).toISOString()}::timestamptz`;
}

/** Returns the time in so many seconds as SQL. */
export function sqlIn(clock: Clock | undefined, seconds: PlainSql | number): PlainSql {
  return sql`${sqlNow(clock)} + (${seconds})::float8 * interval '1 second'`;
}

/** Largest limit that is part of the text of a statement. */
const MAX_TEXT_LIMIT = 32;

/**
 * Returns a maximum number of rows as SQL. PostgreSQL plans a prepared statement each time if it does not know that the
 * number is small, or if it knows a parameter. Each text is prepared and kept, so that a large one is a parameter.
 */
export function sqlLimit(limit: number): PlainSql {
  return limit <= MAX_TEXT_LIMIT ? rawSql(String(limit)) : sql`(select ${limit}::bigint)`;
}

/** Returns a maximum number of rows as text: the limit, or of a large one the next power of two. */
export function sqlBound(limit: number): PlainSql {
  return rawSql(String(limit <= MAX_TEXT_LIMIT ? limit : 2 ** Math.ceil(Math.log2(limit))));
}

/** Ids of one statement. */
export const MAX_IDS = 100;

/** Jobs that one statement leases or gives back, if they are more than a job for each lane: far below the 3,000 rows of the distributed provider. */
export const MAX_LEASED = 1000;

/**
 * Returns ids as the argument of `any`. PostgreSQL makes one plan for all of them, because a query hides their number.
 *
 * @param ids The ids.
 */
export function sqlIds(ids: readonly string[]): PlainSql {
  return sql`(select ${`{${ids.join()}}`}::text)::uuid[]`;
}

/**
 * Returns an array as SQL. It is one parameter, so that the text of the statement is the same for each length.
 *
 * @param values The values.
 * @param type Type of a value.
 */
export function sqlArray(
  values: readonly (string | number | null)[],
  type: "bigint" | "float8" | "int" | "text" | "uuid",
): PlainSql {
  // numbers and ids need no quotes
  const text = type === "text"
    ? formatArray(values, (value) => value as string | null)
    : `{${values.map((value) => value ?? "NULL").join(",")}}`;
  return sql`${text}::text::${rawSql(type)}[]`;
}

/** SQLSTATEs of a missing table and of a missing column. */
const MISSING = ["42P01", "42703"];

/**
 * Returns what to do about the error of a statement of this package: the table is missing or was created by an earlier
 * release.
 *
 * @param error The error.
 * @param feature What the table is for.
 * @returns A ConfigurationError; the error itself if it is another one.
 */
export function explainTable(error: unknown, feature: "jobs" | "workflows" = "jobs"): unknown {
  if (!hasSqlState(error, MISSING)) return error;
  return new ConfigurationError(
    `The table trellis_${feature} does not exist, or is that of an earlier release: write a migration with ` +
      `\`trellis db tables ${feature} > migrations/<number>_${feature}.sql\`, and apply it`,
    { cause: error },
  );
}
