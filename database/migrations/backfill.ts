import {
  type BatchedChange,
  type BatchKey,
  type BatchRefusal,
  openChange,
  runBatches,
} from "../../distsql/engine.ts";
import { retryIdempotent } from "../../sql/retry_idempotent.ts";
import type { RunSql, SqlSession } from "../../sql/session.ts";
import type { MigrationContext } from "./context.ts";
import { MigrationError } from "./migration_error.ts";

/**
 * A third of the provider's limit of 3,000 rows, because cascading changes of foreign keys count
 * too.
 */
const ROWS_PER_BATCH = 1000;

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
 * Runs an UPDATE or DELETE in transactions of at most 1,000 rows, in the order of a unique key.
 * Each transaction also records the progress, so that no row is changed twice after a crash.
 * `now()` is the same moment in all of them.
 *
 * @param sql The statement.
 * @param watermark Recorded progress of an earlier run.
 * @param context Shared state of the run.
 * @param notes Access to the record.
 * @throws {MigrationError} If the statement cannot be split into batches.
 */
export async function runInBatches(
  sql: string,
  watermark: string | undefined,
  context: MigrationContext,
  notes: BatchNotes,
): Promise<void> {
  const change = await openChange(sql, watermark, queryRunner(context));
  if (change?.isBatchable !== true) throw notBatchable(change);
  context.logger(`${change.table}: changed in batches of up to ${ROWS_PER_BATCH} rows`);
  await runWalk(change, context, notes);
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
): Promise<void> {
  async function run(position: WalkPosition, rows: number): Promise<WalkPosition> {
    await context.lock.check();
    const batch = await change.next(position.key, rows);
    const isDone = batch === undefined;
    await notes.run(async (tx) => {
      if (batch !== undefined) await tx.query(batch.sql);
      await tx.query(notes.note(isDone ? "done" : "running", batch?.mark));
    });
    return isDone ? { ...position, isDone } : { key: batch.key, isDone };
  }

  async function recover(position: WalkPosition): Promise<WalkPosition> {
    // the batch and its record were committed together or not at all
    const row = await notes.read();
    if (row?.state === "done") return { ...position, isDone: true };
    return { key: change.readKey(row?.watermark) ?? position.key, isDone: false };
  }

  await runBatches({
    limits: { rows: ROWS_PER_BATCH, bytes: Infinity },
    run: (position, { rows }) => run(position, rows),
    recover,
    describeTooLarge: rowTooLarge,
    onBatch(_position, batches) {
      if (batches % 50 === 0) context.logger(`${change.table}: ${batches} batches`);
    },
  }, { key: change.start, isDone: false });
}

function rowTooLarge(cause: unknown): MigrationError {
  return new MigrationError(
    "One row, with the rows that its foreign keys delete or change, is more than a " +
      "transaction can change: change the referencing rows first, in separate statements",
    { cause },
  );
}
