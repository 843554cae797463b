import {
  type BatchedChange,
  type BatchKey,
  type BatchRefusal,
  openChange,
  runBatches,
} from "../../distsql/engine.ts";
import { retryIdempotent } from "../../sql/retry_idempotent.ts";
import type { RunSql, SqlSession } from "../../sql/session.ts";
import { monotonicNow } from "../../core/async/clock.ts";
import { BackfillPace } from "./backfill_pace.ts";
import type { MigrationContext } from "./context.ts";
import { isNotLocked } from "./lock_wait.ts";
import { MigrationError } from "./migration_error.ts";

/** Interval of progress messages. */
const MESSAGE_EVERY_MS = 1000;

/** Access to the record of a change in batches. */
export interface BatchNotes {
  /** Runs work in a transaction, and retries it after a conflict. */
  run: (work: (tx: SqlSession) => Promise<void>) => Promise<void>;
  /** Reads the current record. */
  read: () => Promise<{ state: string; watermark: string | undefined } | undefined>;
  /** Returns the statement that records the progress. */
  note: (state: "running" | "done", watermark: string | undefined) => string;
}

/** Returns a function that runs queries about a change of rows. */
export function queryRunner({ session, clock }: MigrationContext): RunSql {
  return (sql) => retryIdempotent(() => session.query(sql), clock);
}

/**
 * Runs an UPDATE or DELETE in transactions of at most 1,000 rows, in the order of a unique key, at
 * the pace of {@link BackfillPace}. Each transaction also records the progress, so that no row is
 * changed twice after a crash. `now()` is the same moment in all of them.
 *
 * @param sql The statement.
 * @param watermark Recorded progress of an earlier run.
 * @param context Shared state of the run.
 * @param notes Access to the record.
 * @returns False if the time of the run was over before the end.
 * @throws {MigrationError} If the statement cannot be split into batches, or has to wait for too
 * long.
 */
export async function runInBatches(
  sql: string,
  watermark: string | undefined,
  context: MigrationContext,
  notes: BatchNotes,
): Promise<boolean> {
  const change = await openChange(sql, watermark, queryRunner(context));
  if (change?.isBatchable !== true) throw notBatchable(change);
  return await runWalk(change, context, notes);
}

/**
 * Creates the error for a change that is too large for one transaction and cannot be split.
 *
 * @param refusal The reason; omitted if the statement is not an UPDATE or DELETE of one table.
 */
export function notBatchable(refusal: BatchRefusal | undefined): MigrationError {
  const why = refusal !== undefined
    ? `, because ${refusal.reason}. ${refusal.advice}`
    : ": split it into several statements";
  return new MigrationError(
    "The statement changes more rows than one transaction can and cannot be split into " +
      `batches${why}`,
  );
}

interface WalkPosition {
  readonly key: BatchKey | undefined;
  readonly isDone: boolean;
}

async function runWalk(
  change: BatchedChange,
  context: MigrationContext,
  notes: BatchNotes,
): Promise<boolean> {
  const { clock, logger } = context;
  const pace = new BackfillPace(change.table, change.relation, context);
  const estimate = context.limitsRows ? undefined : await change.estimate();
  let isPaused = false;
  let size = pace.rows;
  let done = 0;
  let loggedAt = monotonicNow(clock);
  logger(`${change.table}: changed in batches of up to ${pace.rows} rows`);

  async function run(position: WalkPosition, limit: number): Promise<WalkPosition> {
    await context.lock.check();
    await pace.wait();
    isPaused = context.isOver();
    if (isPaused) return { ...position, isDone: true };
    size = Math.min(limit, pace.rows);
    const batch = await change.next(position.key, size);
    const isDone = batch === undefined;
    const startedAt = monotonicNow(clock);
    try {
      await notes.run(async (tx) => {
        if (pace.lockTimeout !== undefined) await tx.query(pace.lockTimeout);
        if (batch !== undefined) await tx.query(batch.sql);
        await tx.query(notes.note(isDone ? "done" : "running", batch?.mark));
      });
    } catch (error) {
      if (pace.lockTimeout === undefined || !isNotLocked(error)) throw error;
      await pace.giveWay(error);
      return position;
    }
    if (isDone) return { ...position, isDone };
    pace.adapt(batch.rows, monotonicNow(clock) - startedAt);
    done += batch.rows;
    return { key: batch.key, isDone };
  }

  async function recover(position: WalkPosition): Promise<WalkPosition> {
    // the batch and its record were committed together or not at all
    const row = await notes.read();
    if (row?.state === "done") return { ...position, isDone: true };
    return { key: change.readKey(row?.watermark) ?? position.key, isDone: false };
  }

  function logRows(): void {
    loggedAt = monotonicNow(clock);
    // statistics can be older than the rows
    const all = estimate === undefined || estimate < done ? "" : ` of about ${estimate}`;
    logger(`${change.table}: ${done}${all} rows`);
  }

  await runBatches({
    limits: { rows: pace.rows, bytes: Infinity },
    run: (position, { rows }) => run(position, rows),
    recover,
    getBatchRows: () => size,
    describeTooLarge: rowTooLarge,
    onBatch() {
      if (monotonicNow(clock) - loggedAt >= MESSAGE_EVERY_MS) logRows();
    },
  }, { key: change.start, isDone: false });
  logger(`${change.table}: ${done} rows ${isPaused ? "so far" : "in all"}`);
  return !isPaused;
}

function rowTooLarge(cause: unknown): MigrationError {
  return new MigrationError(
    "One row, with the rows that its foreign keys delete or change, is more than a " +
      "transaction can change: change the referencing rows first, in separate statements",
    { cause },
  );
}
