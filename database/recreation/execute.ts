import { type Clock, monotonicNow, systemClock } from "../../core/async/clock.ts";
import type { DrizzleClient } from "../providers/provider.ts";
import type { RecreationPlan } from "./recreation_plan.ts";
import { RecreationRun } from "./recreation_run.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { BATCH_ROWS } from "./plan.ts";

/** Options of {@link executeRecreation}. */
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
  jobTimeout?: number;
  /**
   * Clock that waits and reads the time.
   * @default systemClock
   */
  clock?: Clock;
}

/** Result of {@link executeRecreation}. */
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
 * Recreates a table by its plan, with one statement per transaction. Can be called again with the
 * same plan after any failure: it continues where an earlier run stopped, and does nothing if the
 * plan is done.
 *
 * The old table keeps its name until all rows of both tables were compared. It is dropped once the
 * new table has its name, its indexes and the foreign keys that reference it. During the final
 * comparison no table has the name, and statements about it fail. Only one run may be active at a
 * time, which the lock of `runMigrations` ensures.
 *
 * @param db A client with the rights of the table's owner.
 * @param plan Plan from `generateRecreationPlan`.
 * @param logger Called with each progress message: one line, without data.
 * @param options Batch sizes and time limits.
 * @returns The result.
 * @throws {RecreationError} If rows changed during the copy (the table is unchanged: run it again
 * while nothing writes to it), the table differs from the plan's, or a step failed. The message
 * says where it stopped.
 *
 * @example
 * ```ts
 * import {
 *   applyAlterToSchema,
 *   closeDrizzleClient,
 *   executeRecreation,
 *   generateRecreationPlan,
 *   getDrizzleClient,
 *   getEstimatedRowCount,
 *   introspectTable,
 * } from "@trellis/fn/database";
 * import { sql } from "@trellis/fn/database/orm";
 *
 * const db = await getDrizzleClient({ provider: "embedded-pg" });
 * await db.execute(sql`CREATE TABLE prices (id int PRIMARY KEY, amount text)`);
 * await db.execute(sql`INSERT INTO prices VALUES (1, '12.50')`);
 * const current = await introspectTable(db, "prices");
 * const desired = applyAlterToSchema(current, "ALTER TABLE prices ALTER amount TYPE numeric(10,2) USING amount::numeric");
 * const plan = generateRecreationPlan(current, desired, await getEstimatedRowCount(db, "prices"));
 * const result = await executeRecreation(db, plan);
 * console.log(result.rows); // 1
 * await closeDrizzleClient();
 * ```
 */
export async function executeRecreation(
  db: DrizzleClient,
  plan: RecreationPlan,
  logger: (message: string) => void = () => {},
  options: RecreationOptions = {},
): Promise<RecreationResult> {
  const {
    batchRows = BATCH_ROWS,
    batchBytes = MAX_BATCH_BYTES / 2,
    jobTimeout = 3600,
    clock = systemClock,
  } = options;
  checkOption("batchRows", batchRows, MAX_BATCH_ROWS);
  checkOption("batchBytes", batchBytes, MAX_BATCH_BYTES);
  checkOption("jobTimeout", jobTimeout, 1e6);
  const startedAt = monotonicNow(clock);
  if (plan.steps.length === 0) return { rows: 0, durationMs: 0, resumed: false };
  const limits = { rows: batchRows, bytes: batchBytes };
  const run = new RecreationRun(db, plan, {
    logger,
    limits,
    jobTimeoutMs: jobTimeout * 1000,
    clock,
  });
  const done = await run.run();
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
