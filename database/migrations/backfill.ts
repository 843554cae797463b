import type { SqlSession } from "../../sql/session.ts";
import { runBatches } from "../../distsql/batches/run_batches.ts";
import type { MigrationContext } from "./context.ts";
import { MigrationError } from "./migration_error.ts";
import {
  type BatchDecision,
  decideBatch,
  refuseWithoutKey,
} from "../../distsql/batches/batch_decision.ts";
import {
  type BatchProgress,
  readProgress,
  writeProgress,
} from "../../distsql/batches/batch_progress.ts";
import { type BatchWalk, createWalk } from "../../distsql/batches/batch_walk.ts";
import { countMatching, hasRowIds } from "../../distsql/batches/count_rows.ts";
import { freezeTime, readsTime } from "../../distsql/batches/freeze_time.ts";
import { type ReadRows, readSchemaFacts } from "../../distsql/batches/read_facts.ts";
import { readRowChange } from "../../distsql/batches/row_change.ts";
import { MAX_ROWS } from "../../distsql/batches/row_limit.ts";
import { emptyFacts } from "../../distsql/batches/schema_facts.ts";
import { retryIdempotent } from "../../sql/retry_idempotent.ts";

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

function getReader({ session, clock }: MigrationContext): ReadRows {
  return (sql) => retryIdempotent(() => session.query(sql), clock);
}

/**
 * Checks whether a statement changes more rows than a transaction can, and might be split into
 * batches.
 *
 * @param sql The statement.
 * @param context Shared state of the run.
 */
export async function isLargeChange(sql: string, context: MigrationContext): Promise<boolean> {
  const change = readRowChange(sql);
  if (change === undefined || change.verb === "compound") return false;
  if (!decideBatch(change, emptyFacts()).isBatchable) return false;
  return await countMatching(change, [], getReader(context)) > MAX_ROWS;
}

/**
 * Decides from the current catalog whether a statement can be split into batches.
 *
 * @param sql The statement.
 * @param context Shared state of the run.
 * @returns The decision, or `undefined` if the statement is not an UPDATE or DELETE.
 */
export async function decideNow(
  sql: string,
  context: MigrationContext,
): Promise<BatchDecision | undefined> {
  const change = readRowChange(sql);
  if (change === undefined) return undefined;
  const read = getReader(context);
  const decision = decideBatch(change, await readSchemaFacts(read));
  if (!decision.isBatchable || change.verb === "compound") return decision;
  const isOrdered = decision.by === "key" && decision.key.length > 0;
  const isNumbered = decision.by === "row-id" && decision.table !== undefined &&
    await hasRowIds(decision.table, read);
  return isOrdered || isNumbered ? decision : refuseWithoutKey(change.path);
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
  const decision = await decideNow(sql, context);
  if (decision?.isBatchable !== true) throw notBatchable(decision);
  const progress = readProgress(watermark);
  const moment = progress.moment ?? (readsTime(sql) ? await readMoment(context) : undefined);
  const change = readRowChange(moment === undefined ? sql : freezeTime(sql, moment));
  if (change === undefined || change.verb === "compound") throw notBatchable(undefined);
  context.logger(`${change.path}: changed in batches of up to ${ROWS_PER_BATCH} rows`);
  const walk = createWalk(change, decision, getReader(context));
  await runWalk(walk, { ...progress, moment }, { table: change.target, context, notes });
}

/**
 * Creates the error for a change that is too large for one transaction and cannot be split.
 *
 * @param decision The reason; omitted if the statement is not an UPDATE or DELETE of one table.
 */
export function notBatchable(decision: BatchDecision | undefined): MigrationError {
  const why = decision?.isBatchable === false
    ? `, because ${decision.reason}. ${decision.advice}`
    : ": split it into several statements";
  return new MigrationError(
    "The statement changes more rows than one transaction can and cannot be split into " +
      `batches${why}`,
  );
}

async function readMoment(context: MigrationContext): Promise<string> {
  const [row] = await getReader(context)("SELECT now()::text AS moment");
  return String(row.moment);
}

interface WalkOptions {
  readonly table: string;
  readonly context: MigrationContext;
  readonly notes: BatchNotes;
}

interface WalkPosition {
  readonly key: readonly string[] | undefined;
  readonly isDone: boolean;
}

async function runWalk(
  walk: BatchWalk,
  { key, moment }: BatchProgress,
  { table, context, notes }: WalkOptions,
): Promise<void> {
  async function run(position: WalkPosition, rows: number): Promise<WalkPosition> {
    await context.lock.check();
    const batch = await walk.next(position.key, rows);
    const isDone = batch === undefined;
    const mark = isDone ? undefined : writeProgress({ key: batch.key, moment });
    await notes.run(async (tx) => {
      if (batch !== undefined) {
        const fault = batch.findFault(await tx.query(batch.sql));
        if (fault !== undefined) throw new MigrationError(fault);
      }
      await tx.query(notes.note(isDone ? "done" : "running", mark));
    });
    return isDone ? { ...position, isDone } : { key: batch.key, isDone };
  }

  async function recover(position: WalkPosition): Promise<WalkPosition> {
    // the batch and its record were committed together or not at all
    const row = await notes.read();
    if (row?.state === "done") return { ...position, isDone: true };
    return { key: readProgress(row?.watermark).key ?? position.key, isDone: false };
  }

  await runBatches({
    limits: { rows: ROWS_PER_BATCH, bytes: Infinity },
    run: (position, { rows }) => run(position, rows),
    recover,
    describeTooLarge: rowTooLarge,
    onBatch(_position, batches) {
      if (batches % 50 === 0) context.logger(`${table}: ${batches} batches`);
    },
  }, { key, isDone: false });
}

function rowTooLarge(cause: unknown): MigrationError {
  return new MigrationError(
    "One row, with the rows that its foreign keys delete or change, is more than a " +
      "transaction can change: change the referencing rows first, in separate statements",
    { cause },
  );
}
