import { type SQL, sql } from "drizzle-orm";
import type { Clock } from "../core/async/clock.ts";

/** Returns the current time as SQL: the database's, so that workers need no equal clocks. */
export function sqlNow(clock: Clock | undefined): SQL {
  return clock === undefined
    ? sql`clock_timestamp()`
    : sql`${new Date(clock.now()).toISOString()}::timestamptz`;
}

/** Returns the time in so many seconds as SQL. */
export function sqlIn(clock: Clock | undefined, seconds: SQL | number): SQL {
  return sql`${sqlNow(clock)} + (${seconds})::float8 * interval '1 second'`;
}
