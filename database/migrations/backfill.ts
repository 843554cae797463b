import { findInCauseChain } from "../../errors/cause_chain.ts";
import { getSqlState } from "../../errors/driver_error.ts";
import type { SqlSession } from "../providers/provider.ts";
import type { MigrationContext } from "./context.ts";
import { MigrationError } from "./migration_error.ts";
import { isConnectionLost, retryIdempotent } from "./retry_idempotent.ts";
import { type BatchDecision, decideBatch, refuseWithoutKey } from "./row_changes/batch_decision.ts";
import { type BatchProgress, readProgress, writeProgress } from "./row_changes/batch_progress.ts";
import { type BatchWalk, createWalk } from "./row_changes/batch_walk.ts";
import { countMatching, hasRowIds } from "./row_changes/count_rows.ts";
import { freezeTime, readsTime } from "./row_changes/freeze_time.ts";
import { type ReadRows, readSchemaFacts } from "./row_changes/read_facts.ts";
import { readRowChange } from "./row_changes/row_change.ts";
import { MAX_ROWS } from "./row_changes/row_limit.ts";
import { emptyFacts } from "./row_changes/schema_facts.ts";

/** A third of the provider's 3,000 rows: what foreign keys cascade to counts too. */
const ROWS_PER_BATCH = 1000;

/** Connections that may be lost over all batches. */
const MAX_LOSSES = 12;

/** How a batch is written down. */
export interface BatchNotes {
  /** Runs work in a transaction, again after a conflict. */
  run: (work: (tx: SqlSession) => Promise<void>) => Promise<void>;
  /** What is noted by now. */
  read: () => Promise<{ state: string; watermark: string | undefined } | undefined>;
  /** The statement that notes how far the batches got. */
  note: (state: "running" | "done", watermark: string | undefined) => string;
}

function getReader({ session, clock }: MigrationContext): ReadRows {
  return (sql) => retryIdempotent(() => session.query(sql), clock);
}

/**
 * Whether a statement changes more rows than a transaction can, and may be cut into batches as far as its text tells.
 *
 * @param sql The statement.
 * @param context What the run shares.
 */
export async function isLargeChange(sql: string, context: MigrationContext): Promise<boolean> {
  const change = readRowChange(sql);
  if (change === undefined || change.verb === "compound") return false;
  if (!decideBatch(change, emptyFacts()).isBatchable) return false;
  return await countMatching(change, [], getReader(context)) > MAX_ROWS;
}

/**
 * Decides by the catalog as it is now whether a statement can be cut into batches.
 *
 * @param sql The statement.
 * @param context What the run shares.
 * @returns The decision, or `undefined` when the statement is no UPDATE or DELETE.
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
 * Runs an UPDATE or DELETE over a table in transactions of at most 1,000 rows, along a unique key. How far it got is
 * noted in each batch's own transaction, so that no row is changed twice, whatever dies in between. `now()` is the same
 * moment in all of them.
 *
 * @param sql The statement.
 * @param watermark What an earlier run noted.
 * @param context What the run shares.
 * @param notes Runs and notes.
 * @throws {MigrationError} When the statement cannot be cut into batches.
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
  context.logger(`${change.path}: changed in parts of up to ${ROWS_PER_BATCH} rows`);
  const walk = createWalk(change, decision, getReader(context));
  await runWalk(walk, { ...progress, moment }, { table: change.target, context, notes });
}

/**
 * The error of a change that is too large for one transaction and cannot be cut.
 *
 * @param decision Why not; not given when it is no UPDATE or DELETE of one table.
 */
export function notBatchable(decision: BatchDecision | undefined): MigrationError {
  const why = decision?.isBatchable === false
    ? `, because ${decision.reason}. ${decision.advice}`
    : ": write it in parts";
  return new MigrationError(
    `The statement changes more than a transaction can and cannot be cut into batches${why}`,
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

async function runWalk(
  walk: BatchWalk,
  start: BatchProgress,
  { table, context, notes }: WalkOptions,
): Promise<void> {
  const { moment } = start;
  let { key } = start;
  let size = ROWS_PER_BATCH;
  let losses = 0;
  for (let count = 1;; count++) {
    await context.lock.check();
    const batch = await walk.next(key, size);
    const mark = batch === undefined ? undefined : writeProgress({ key: batch.key, moment });
    try {
      await notes.run(async (tx) => {
        if (batch !== undefined) batch.check(await tx.query(batch.sql));
        await tx.query(notes.note(batch === undefined ? "done" : "running", mark));
      });
    } catch (error) {
      if (isConnectionLost(error) && ++losses < MAX_LOSSES) {
        // the batch happened together with its note, or not at all
        const row = await notes.read();
        if (row?.state === "done") return;
        if (batch !== undefined && row?.watermark === mark) key = batch.key;
        continue;
      }
      size = shrink(size, error);
      continue;
    }
    if (batch === undefined) return;
    key = batch.key;
    if (count % 50 === 0) context.logger(`${table}: ${count} batches`);
  }
}

function shrink(size: number, error: unknown): number {
  if (findInCauseChain(error, (link) => getSqlState(link) === "54000") === undefined) throw error;
  if (size > 1) return Math.max(1, Math.floor(size / 4));
  throw new MigrationError(
    "One row, with the rows that its foreign keys delete or change, is more than a transaction can change: " +
      "change the referencing rows first, in statements of their own",
    { cause: error },
  );
}
