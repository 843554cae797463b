import { type Clock, monotonicNow, systemClock } from "../../core/async/clock.ts";
import type { DrizzleClient } from "../providers/provider.ts";
import type { RecreationPlan } from "./recreation_plan.ts";
import { RecreationRun } from "./recreation_run.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { BATCH_ROWS } from "./plan.ts";

/** Options of {@link executeRecreation}. */
export interface RecreationOptions {
  /**
   * Rows of a batch at most.
   * @default 2500
   */
  batchRows?: number;
  /**
   * Bytes of a batch at most, of the rows as text; a row that is larger is a batch of its own.
   * @default 5242880
   */
  batchBytes?: number;
  /**
   * Seconds that a background job of the distributed-SQL provider (an index, a validation) may take.
   * @default 3600
   */
  jobTimeout?: number;
  /**
   * Waits.
   * @default systemClock
   */
  clock?: Clock;
}

/** What {@link executeRecreation} did. */
export interface RecreationResult {
  /** Rows of the new table when the names changed; 0 when nothing had to be done. */
  rows: number;
  /** How long it took, in milliseconds. */
  durationMs: number;
  /** Whether it went on where an earlier run had stopped. */
  resumed: boolean;
}

const MAX_BATCH_ROWS = 3000;
const MAX_BATCH_BYTES = 10 * 1024 * 1024;

/**
 * Makes a table again by its plan, one statement a transaction. It may be called again with the same plan after anything:
 * a run that died goes on where it stopped, and a plan that is done does nothing.
 *
 * The old table keeps its name until all rows of both tables were compared; it is dropped when the new one has its name,
 * its indexes and the foreign keys that point to it. While the rows are compared for the last time the table has no name
 * and statements about it fail. One run at a time: `runMigrations` sees to that with its lock.
 *
 * @param db A client with the rights of the table's owner.
 * @param plan From `generateRecreationPlan`.
 * @param logger Told what happens, one line each, without data.
 * @param options Sizes and waits.
 * @returns What was done.
 * @throws {RecreationError} When rows changed while they were copied (the table is as it was: run it again when nobody
 * writes), the table is another one than the plan is about, or a step failed. The message tells where it stopped.
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
    logger(`${plan.table}: this plan is done already`);
    return { rows: 0, durationMs, resumed: false };
  }
  const { rows, resumed } = done;
  logger(`${plan.table}: made again in ${durationMs} ms`);
  return { rows, durationMs, resumed };
}

function checkOption(name: string, value: number, most: number): void {
  if (Number.isFinite(value) && value > 0 && value <= most) return;
  throw new ConfigurationError(
    `RecreationOptions.${name} must be a number above 0 and up to ${most}, got ${value}`,
  );
}
