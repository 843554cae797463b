import { type SQL, sql } from "drizzle-orm";
import type { Clock } from "../core/async/clock.ts";
import type { NewJob } from "./job_row.ts";
import { sqlIn, sqlNow } from "./sql_time.ts";

/** Numbers of rows in one statement: few texts, because each is prepared and kept. */
const BATCHES = [100, 10, 1];

/**
 * Splits rows into the batches of {@link buildInsert}.
 *
 * @param rows The rows.
 */
export function splitRows(rows: readonly NewJob[]): NewJob[][] {
  const batches: NewJob[][] = [];
  let at = 0;
  for (const size of BATCHES) {
    for (; rows.length - at >= size; at += size) batches.push(rows.slice(at, at + size));
  }
  return batches;
}

/**
 * Builds the statement that inserts jobs. A job whose id exists already is left out.
 *
 * @param rows The jobs.
 * @param graceSeconds Time that the relay leaves to the delivery.
 * @param clock Clock of a test.
 */
export function buildInsert(
  rows: readonly NewJob[],
  graceSeconds: number,
  clock: Clock | undefined,
): SQL {
  const values = rows.map((row) =>
    sql`(${row.id}::uuid, ${row.name}::text, ${row.payload}::text, ${row.shard}::int, ${row.group}::text, ${row.position}::bigint, ${
      sqlNow(clock)
    }, ${sqlIn(clock, row.delaySeconds)}, ${
      sqlIn(clock, row.delaySeconds + graceSeconds)
    }, ${row.correlationId}::text, ${row.traceParent}::text)`
  );
  return sql`insert into "trellis_jobs" ("id", "name", "payload", "shard", "group_key", "position", "enqueued_at", "run_at", "due_at", "correlation_id", "trace_parent") values ${
    sql.join(values, sql`, `)
  } on conflict do nothing`;
}
