import type { Clock } from "../core/async/clock.ts";
import { joinSql, type PlainSql, sql } from "../database/session/plain_sql.ts";
import { cacheStatement } from "./cached_statement.ts";
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

/** How rows are inserted. */
export interface InsertOptions {
  /** Time that the relay leaves to the delivery. */
  readonly graceSeconds: number;
  /** Clock of a test. */
  readonly clock: Clock | undefined;
  /** True if the statement may run twice, or a row may have a key. */
  readonly mayExist: boolean;
}

/**
 * Builds the statement that inserts jobs.
 *
 * @param rows The jobs, as many as {@link splitRows} returns.
 * @param options With `mayExist`, a job whose id exists already is left out, which costs a bit more.
 */
export function buildInsert(rows: readonly NewJob[], options: InsertOptions): PlainSql {
  const { graceSeconds, clock, mayExist } = options;
  if (clock !== undefined) return writeInsert(rows, options);
  const values = rows.flatMap((row) => [
    row.id,
    row.name,
    row.payload,
    row.shard,
    row.group,
    row.position,
    row.delaySeconds,
    row.delaySeconds + graceSeconds,
    row.correlationId,
    row.traceParent,
  ]);
  const key = `insert ${rows.length} ${mayExist}`;
  return cacheStatement(key, values, () => writeInsert(rows, options));
}

function writeInsert(
  rows: readonly NewJob[],
  { graceSeconds, clock, mayExist }: InsertOptions,
): PlainSql {
  const values = rows.map((row) =>
    sql`(${row.id}::uuid, ${row.name}::text, ${row.payload}::text, ${row.shard}::int,
    ${row.group}::text, ${row.position}::bigint, ${sqlNow(clock)},
    ${sqlIn(clock, row.delaySeconds)}, ${sqlIn(clock, row.delaySeconds + graceSeconds)},
    ${row.correlationId}::text, ${row.traceParent}::text)`
  );
  const onConflict = mayExist ? sql` on conflict do nothing` : sql``;
  return sql`insert into "trellis_jobs" ("id", "name", "payload", "shard", "group_key", "position",
  "enqueued_at", "run_at", "due_at", "correlation_id", "trace_parent")
  values ${joinSql(values, ", ")}${onConflict}`;
}
