import type { Clock } from "../core/async/clock.ts";
import { type PlainSql, sql } from "../database/session/plain_sql.ts";

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
