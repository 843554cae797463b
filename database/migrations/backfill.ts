import type { RunSql, SqlSession } from "../../sql/session.ts";
import { MAX_ROWS, runBatches } from "../../distsql/batches/run_batches.ts";
import type { MigrationContext } from "./context.ts";
import { MigrationError } from "./migration_error.ts";
import {
  type BatchDecision,
  type BatchPlan,
  decideBatch,
  readJoin,
} from "../../distsql/batches/decide_batch.ts";
import {
  type BatchProgress,
  findBatch,
  readProgress,
  writeProgress,
} from "../../distsql/batches/batch_walk.ts";
import { countMatching } from "../../distsql/batches/count_rows.ts";
import { freezeTime, readsTime } from "../../distsql/batches/freeze_time.ts";
import { readFunctions, readRelation } from "../../distsql/batches/relation.ts";
import { getPath, readRowChange, type RowChange } from "../../distsql/batches/row_change.ts";
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

function getReader({ session, clock }: MigrationContext): RunSql {
  return (sql) => retryIdempotent(() => session.query(sql), clock);
}

/**
 * Checks whether a statement changes more rows than a transaction can, and can be split into
 * batches.
 *
 * @param sql The statement.
 * @param context Shared state of the run.
 */
export async function needsBatches(sql: string, context: MigrationContext): Promise<boolean> {
  const change = readRowChange(sql);
  if (change === undefined || change.verb === "compound") return false;
  if (await countMatching(change, getReader(context)) <= MAX_ROWS) return false;
  return (await decideNow(sql, context))?.isBatchable === true;
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
  const run = getReader(context);
  const plain = change.verb === "compound" ? undefined : change;
  const joined = plain && readJoin(plain);
  return decideBatch(change, {
    table: plain && await readRelation(run, plain.table),
    joined: joined && await readRelation(run, joined.table),
    functions: await readFunctions(run),
  });
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
  context.logger(`${getPath(change.table)}: changed in batches of up to ${ROWS_PER_BATCH} rows`);
  await runWalk({ change, plan: decision, context, notes }, { ...progress, moment });
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

interface Walk {
  readonly change: RowChange;
  readonly plan: BatchPlan;
  readonly context: MigrationContext;
  readonly notes: BatchNotes;
}

interface WalkPosition {
  readonly key: readonly string[] | undefined;
  readonly isDone: boolean;
}

async function runWalk(
  { change, plan, context, notes }: Walk,
  { key, moment }: BatchProgress,
): Promise<void> {
  const read = getReader(context);

  async function run(position: WalkPosition, rows: number): Promise<WalkPosition> {
    await context.lock.check();
    const batch = await findBatch(change, plan, position.key, rows, read);
    const isDone = batch === undefined;
    const mark = isDone ? undefined : writeProgress({ key: batch.key, moment });
    await notes.run(async (tx) => {
      if (batch !== undefined) await tx.query(batch.sql);
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
      if (batches % 50 === 0) context.logger(`${change.target}: ${batches} batches`);
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
