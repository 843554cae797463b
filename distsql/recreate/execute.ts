import type { RunSql } from "../../sql/session.ts";
import { type Clock, monotonicNow, systemClock } from "../../core/async/clock.ts";
import type { RecreationPlan } from "./recreation_plan.ts";
import { RecreationRun } from "./recreation_run.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { quoteNameAt } from "../../sql/sql_name.ts";
import { parseStatement } from "../../sql/statement_reader.ts";
import { applyAlter } from "./alter.ts";
import { estimateRows, readTableSchema } from "./read_current.ts";
import { BATCH_ROWS, generateRecreationPlan } from "./plan.ts";

/** Options of `executeRecreation`. */
export interface RecreationOptions {
  /**
   * Maximum number of rows of a batch.
   * @default 2500
   */
  batchRows?: number;
  /**
   * Maximum size of a batch in bytes, with rows as text. A larger row gets its own batch.
   * @default 5242880
   */
  batchBytes?: number;
  /**
   * Maximum duration in seconds of a background job of the distributed-SQL provider (an index, a
   * validation).
   * @default 3600
   */
  jobTimeoutSeconds?: number;
  /**
   * Clock that waits and reads the time.
   * @default systemClock
   */
  clock?: Clock;
}

/** Result of `executeRecreation`. */
export interface RecreationResult {
  /** Number of rows of the new table when the tables were swapped; 0 if there was nothing to do. */
  rows: number;
  /** Duration in milliseconds. */
  durationMs: number;
  /** True if it continued an earlier run. */
  resumed: boolean;
}

const MAX_BATCH_ROWS = 3000;
const MAX_BATCH_BYTES = 10 * 1024 * 1024;

/**
 * Recreates a table by its plan, as `executeRecreation` of `./database` says.
 *
 * @param run Runs a statement, with the rights of the table's owner.
 * @param plan The plan.
 * @param logger Called with each progress message: one line, without data.
 * @param options Batch sizes and time limits.
 */
export async function runRecreation(
  run: RunSql,
  plan: RecreationPlan,
  logger: (message: string) => void = () => {},
  options: RecreationOptions = {},
): Promise<RecreationResult> {
  const {
    batchRows = BATCH_ROWS,
    batchBytes = MAX_BATCH_BYTES / 2,
    jobTimeoutSeconds = 3600,
    clock = systemClock,
  } = options;
  checkOption("batchRows", batchRows, MAX_BATCH_ROWS);
  checkOption("batchBytes", batchBytes, MAX_BATCH_BYTES);
  checkOption("jobTimeoutSeconds", jobTimeoutSeconds, 1e6);
  const startedAt = monotonicNow(clock);
  if (plan.steps.length === 0) return { rows: 0, durationMs: 0, resumed: false };
  const limits = { rows: batchRows, bytes: batchBytes };
  const recreation = new RecreationRun(run, plan, {
    logger,
    limits,
    jobTimeoutMs: jobTimeoutSeconds * 1000,
    clock,
  });
  const done = await recreation.run();
  const durationMs = monotonicNow(clock) - startedAt;
  if (done === undefined) {
    logger(`${plan.table}: this plan is already done`);
    return { rows: 0, durationMs, resumed: false };
  }
  const { rows, resumed } = done;
  logger(`${plan.table}: recreated in ${durationMs} ms`);
  return { rows, durationMs, resumed };
}

function checkOption(name: string, value: number, most: number): void {
  if (Number.isFinite(value) && value > 0 && value <= most) return;
  throw new ConfigurationError(
    `RecreationOptions.${name} must be a number above 0 and up to ${most}, got ${value}`,
  );
}

/**
 * Plans the recreation of a live table for a change.
 *
 * @param run Runs a statement.
 * @param sql The ALTER TABLE statement.
 */
export async function planRecreation(run: RunSql, sql: string): Promise<RecreationPlan> {
  const reader = parseStatement(sql);
  const table = quoteNameAt(reader, reader.alteredTableAt());
  const current = await readTableSchema(run, table);
  return generateRecreationPlan(
    current,
    applyAlter(current, sql, true),
    await estimateRows(run, table),
  );
}
