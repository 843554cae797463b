import type { RunSql } from "../../sql/session.ts";
import { findBatch, readProgress, writeProgress } from "./batch_walk.ts";
import { countMatching } from "./count_rows.ts";
import { type BatchDecision, type BatchRefusal, decideBatch, readScope } from "./decide_batch.ts";
import { freezeTime, readsTime } from "./freeze_time.ts";
import { readFunctions, readRelation } from "./relation.ts";
import { getPath, readRowChange } from "./row_change.ts";
import { MAX_ROWS } from "./run_batches.ts";

/** Key of the last row of a batch. */
export type BatchKey = readonly string[];

/** UPDATE or DELETE that runs in batches. `now()` is the same moment in all of them. */
export interface BatchedChange {
  /** Always `true`. */
  readonly isBatchable: true;
  /** Path of the table, for messages. */
  readonly table: string;
  /** Key after which to continue; omitted before the first batch. */
  readonly start: BatchKey | undefined;
  /**
   * Finds the next batch.
   *
   * @param after Key of the last row of the previous batch.
   * @param size Maximum number of rows.
   * @returns The statement, its key and the text that records it; `undefined` if no row is left.
   */
  next(
    after: BatchKey | undefined,
    size: number,
  ): Promise<{ readonly sql: string; readonly key: BatchKey; readonly mark: string } | undefined>;
  /** Reads the key in a recorded text. */
  readKey(mark: string | undefined): BatchKey | undefined;
}

/**
 * Decides from the current catalog whether a statement can be split into batches.
 *
 * @param sql The statement.
 * @param run Runs a query.
 * @returns The decision, or `undefined` if the statement neither updates nor deletes.
 */
export async function decideChange(sql: string, run: RunSql): Promise<BatchDecision | undefined> {
  const change = readRowChange(sql);
  if (change === undefined) return undefined;
  const functions = await readFunctions(run);
  return decideBatch(change, await readScope(change, (name) => readRelation(run, name), functions));
}

/**
 * Checks whether a statement changes more rows than a transaction can, and can be split into
 * batches.
 *
 * @param sql The statement.
 * @param run Runs a query.
 */
export async function needsBatches(sql: string, run: RunSql): Promise<boolean> {
  const change = readRowChange(sql);
  if (change === undefined || change.verb === "compound") return false;
  if (await countMatching(change, run) <= MAX_ROWS) return false;
  return (await decideChange(sql, run))?.isBatchable === true;
}

/**
 * Prepares a statement for its batches.
 *
 * @param sql The statement.
 * @param mark Recorded text of an earlier run.
 * @param run Runs a query.
 * @returns The change, or why it cannot be split; `undefined` if it neither updates nor deletes.
 */
export async function openChange(
  sql: string,
  mark: string | undefined,
  run: RunSql,
): Promise<BatchedChange | BatchRefusal | undefined> {
  const plan = await decideChange(sql, run);
  if (plan?.isBatchable !== true) return plan;
  const progress = readProgress(mark);
  const moment = progress.moment ?? (readsTime(sql) ? await readMoment(run) : undefined);
  const change = readRowChange(moment === undefined ? sql : freezeTime(sql, moment));
  if (change === undefined || change.verb === "compound") return undefined;
  return {
    isBatchable: true,
    table: getPath(change.table),
    start: progress.key,
    async next(after, size) {
      const batch = await findBatch(change, plan, after, size, run);
      return batch && { ...batch, mark: writeProgress({ key: batch.key, moment }) };
    },
    readKey: (text) => readProgress(text).key,
  };
}

async function readMoment(run: RunSql): Promise<string> {
  const [row] = await run("SELECT now()::text AS moment");
  return String(row.moment);
}
