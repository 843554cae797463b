import type { Clock } from "../core/async/clock.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import { withDistSqlRetry } from "../database/session/retry.ts";
import { runSql, runSqlRows } from "../database/session/run_sql.ts";
import { type TransactionClient, withTransaction } from "../database/session/transaction.ts";
import { hashToUuid } from "../core/digest.ts";
import { type PlainSql, sql } from "../database/session/plain_sql.ts";
import { findInCauseChain } from "../errors/cause_chain.ts";
import { describeFailure } from "../jobs/end_attempt.ts";
import { insertJobs } from "../jobs/enqueue.ts";
import { cancelJobs } from "../jobs/job_admin.ts";
import { JobCancelledError, JobMisfitError } from "../jobs/job_errors.ts";
import { isJobId } from "../jobs/job_row.ts";
import { sqlNow } from "../jobs/job_sql.ts";
import type { AnyJob, LeasedAttempt, OwnedLease } from "../jobs/define_job.ts";
import { markDone } from "../jobs/run_attempt.ts";
import { log } from "../observability/logger.ts";
import { addOccurrences } from "../observability/metrics.ts";
import { cancelChildren } from "./cancel_workflow.ts";
import {
  readEntries,
  readWorkflow,
  type WorkflowMode,
  type WorkflowRow,
  writeEntries,
} from "./journal.ts";
import { insertSignal } from "./signal_workflow.ts";
import {
  createTurnJob,
  getChildSignal,
  getJobName,
  insertWorkflow,
  type TurnPayload,
} from "./start_workflow.ts";
import { type ChildResult, type Outcome, Turn } from "./turn.ts";
import type { WorkflowDefinition } from "./workflow.ts";

/** The job of a turn, and what running it needs. */
interface TurnJob {
  readonly definition: WorkflowDefinition;
  readonly payload: TurnPayload;
  readonly db: DrizzleClient;
  readonly clock: Clock | undefined;
  /** Marks the job as done in the transaction of what it wrote. */
  readonly end: (tx: TransactionClient) => Promise<void>;
}

/** How a workflow ended. */
export interface Ending {
  readonly state: "done" | "failed" | "cancelled" | "stopped";
  readonly output: string | null;
  readonly error: string | null;
  /** How it continues if it is retried. */
  readonly mode: WorkflowMode;
}

/**
 * Creates the functions that run the jobs of a workflow, and that end the workflow after the last attempt of a job.
 *
 * @param definition The workflow.
 */
export function createTurnRunner(
  definition: WorkflowDefinition,
): Required<Pick<AnyJob, "runLeased" | "giveUp">> {
  async function openJob(
    { lease, getDb, clock }: OwnedLease,
    payload: TurnPayload,
  ): Promise<TurnJob> {
    const { keepSeconds } = definition.settings;
    const end = (tx: TransactionClient) => markDone(tx, [lease], keepSeconds, clock);
    return { definition, payload, db: await getDb(), clock, end };
  }

  /** Returns the workflow of a job, or ends the job: the workflow does not run. */
  async function readRunning(job: TurnJob): Promise<WorkflowRow | undefined> {
    const row = await readWorkflow(job.db, job.payload.id, job.clock);
    if (row?.state === "running" && row.name === definition.name) return row;
    await write(job, job.end);
  }

  return {
    async runLeased(attempt): Promise<void> {
      const job = await openJob(attempt, attempt.params.payload as TurnPayload);
      const { payload } = job;
      if (payload.timer !== undefined) return await enqueueTurn(job);
      if (payload.remove === true) return await removeWorkflow(job);
      const row = await readRunning(job);
      if (row === undefined) return;
      const { version } = definition;
      if (row.version > version) {
        const message =
          `The workflow was started by version ${row.version}, this is version ${version}`;
        throw new JobMisfitError(message);
      }
      await runWorkflow(job, row, attempt);
    },

    async giveUp(failed): Promise<boolean> {
      const { payload, error, metrics } = failed;
      const turn = JSON.parse(payload) as TurnPayload | null;
      if (!isJobId(turn?.id) || turn.remove === true) return false;
      const job = await openJob(failed, turn);
      const row = await readRunning(job);
      if (row === undefined) return true;
      // a newer release has started it, or its undo is lost: it can go on
      const canGoOn = row.mode !== "run" ||
        findInCauseChain(error, (link) => link instanceof JobMisfitError) !== undefined;
      const ending: Ending = {
        state: canGoOn ? "stopped" : "failed",
        mode: canGoOn ? row.mode : "lost",
        output: null,
        error: describeStop(error, row.mode, row.error),
      };
      if (await endWorkflow(job, row, { turn: undefined, ending })) report(row, ending, metrics);
      // the turn that cancels it has been enqueued
      else await write(job, job.end);
      return true;
    },
  };
}

async function runWorkflow(
  job: TurnJob,
  row: WorkflowRow,
  { metrics, params, watch }: LeasedAttempt,
): Promise<void> {
  const { definition, db, clock, payload } = job;
  const entries = await readEntries(db, row.id);
  const cancel = new AbortController();
  await watch(async () => {
    const turn = new Turn({
      definition,
      row,
      entries,
      timer: payload,
      db,
      clock,
      signal: params.signal,
      cancelling: cancel.signal,
      metadata: params.metadata,
    });
    await runTurn(job, row, turn, metrics);
  }, async () => {
    const { mode } = await readWorkflow(db, row.id, clock) ?? {};
    if (mode === "cancel") cancel.abort(new JobCancelledError(row.id));
  });
}

async function runTurn(
  job: TurnJob,
  row: WorkflowRow,
  turn: Turn,
  metrics: boolean,
): Promise<void> {
  let outcome: Outcome = await turn.run();
  let { mode, error } = row;
  if (outcome.kind === "failed" && mode === "run") {
    mode = "undo";
    error = describeFailure(outcome.error);
    if (turn.hasUndos && !await beginUndo(job, row.id, error)) outcome = { kind: "suspended" };
  }
  const goesBack = mode !== "run" && (row.mode !== "run" || outcome.kind === "failed");
  if (goesBack && outcome.kind !== "stopped" && outcome.kind !== "broken") {
    outcome = await turn.undo();
  }
  if (outcome.kind === "broken") throw outcome.error;
  if (outcome.kind === "suspended") return await suspend(job, turn);
  // without an undo, the table does not know of the way back
  const known = turn.hasUndos && mode === "undo" ? mode : row.mode;
  const kept = { mode: known, output: null, error };
  const ending: Ending = outcome.kind === "stopped"
    ? { ...kept, state: "stopped", error: describeStop(outcome.error, mode, error) }
    : goesBack
    ? { ...kept, state: mode === "cancel" ? "cancelled" : "failed" }
    : {
      ...kept,
      state: "done",
      output: (outcome as { output: string | null }).output,
      error: null,
    };
  if (await endWorkflow(job, { ...row, mode: known }, { turn, ending })) {
    report(row, ending, metrics);
  } else await suspend(job, turn);
}

/** Keeps why the workflow failed, if it was on its way back. */
function describeStop(stop: unknown, mode: WorkflowMode, failure: string | null): string {
  const text = describeFailure(stop);
  return mode === "undo" && failure !== null ? `${text}\nFailed before: ${failure}` : text;
}

/** Runs a transaction of a turn. If it runs again after a lost answer, the lease is lost. */
async function write(
  { db }: Pick<TurnJob, "db">,
  work: (tx: TransactionClient) => Promise<void>,
): Promise<void> {
  await withDistSqlRetry(() => withTransaction(db, work));
}

/** Timers belong to no group: a job that waits would hold back the turns after it. */
async function enqueueTurn(job: TurnJob): Promise<void> {
  const { timer: due, ...payload } = job.payload;
  const turn = await createTurnJob(job.definition.name, { ...payload, due });
  await write(job, async (tx) => {
    await job.end(tx);
    await insertJobs(tx, [turn]);
  });
}

/**
 * Builds the statements that lock a workflow whose retention is over, or will be, and that remove it and its entries.
 *
 * @param id The workflow.
 * @param retentionSeconds Seconds that it is kept after its end.
 * @param clock Clock of a test.
 */
export function buildRemoval(
  id: string,
  retentionSeconds: number,
  clock: Clock | undefined,
): [look: PlainSql, workflow: PlainSql, entries: PlainSql] {
  return [
    sql`select ${retentionSeconds}::float8 - extract(epoch from ${
      sqlNow(clock)
    } - "finished_at") as left_seconds
      from "trellis_workflows" where "id" = ${id}::uuid and "state" in ('done', 'failed', 'cancelled') for update`,
    sql`delete from "trellis_workflows" where "id" = ${id}::uuid`,
    sql`delete from "trellis_workflow_entries" where "workflow_id" = ${id}::uuid`,
  ];
}

/**
 * Removes a workflow. One that was sent again in the meantime stays: its next end enqueues another removal. One whose
 * retention is longer now is removed later.
 */
async function removeWorkflow(job: TurnJob): Promise<void> {
  const { payload: { id }, clock, definition: { name, retentionSeconds } } = job;
  await write(job, async (tx) => {
    await job.end(tx);
    const [look, ...removal] = buildRemoval(id, retentionSeconds, clock);
    const [found] = await runSqlRows<{ left_seconds: number | string }>(tx, look);
    if (found === undefined) return;
    const delaySeconds = Number(found.left_seconds);
    if (delaySeconds > 1) {
      await insertJobs(tx, [await createTurnJob(name, { id, remove: true }, { delaySeconds })]);
      return;
    }
    for (const statement of removal) await runSql(tx, statement);
  });
}

async function suspend(job: TurnJob, { record }: Turn): Promise<void> {
  const { definition, payload: { id }, clock } = job;
  const { name } = definition;
  const stale = await Promise.all(
    record.staleTimers.map((key) => hashToUuid([getJobName(name), key])),
  );
  await write(job, async (tx) => {
    await job.end(tx);
    await writeEntries(tx, id, [...record.buffer, ...record.pending], clock);
    for (const child of record.children) await insertWorkflow(tx, child);
    await insertJobs(tx, record.timers);
    await cancelJobs(tx as unknown as DrizzleClient, stale);
  });
}

/** The code may be corrected before the next turn: from here on, the workflow only goes back. */
async function beginUndo({ db }: TurnJob, id: string, error: string): Promise<boolean> {
  const rows = await withDistSqlRetry(() => runSqlRows(db, buildUndo(id, error)));
  return rows.length > 0;
}

/**
 * Builds the statement after which a workflow only goes back.
 *
 * @param id The workflow.
 * @param error Why it failed.
 */
export function buildUndo(id: string, error: string): PlainSql {
  return sql`update "trellis_workflows" set "mode" = 'undo', "error" = ${error}
      where "id" = ${id}::uuid and "mode" = 'run' and "state" = 'running' returning "id"`;
}

/** Rolls a transaction back, because the workflow is to be cancelled. */
class CancelledMeanwhileError extends Error {
  override readonly name: string = "CancelledMeanwhileError";
}

/**
 * Writes the end of a workflow.
 *
 * @returns `false` if it is to be cancelled: a turn for that has been enqueued.
 */
async function endWorkflow(
  job: TurnJob,
  row: WorkflowRow,
  { turn, ending }: { turn: Turn | undefined; ending: Ending },
): Promise<boolean> {
  const { definition, clock } = job;
  const { id, parent } = row;
  const { state, mode, output, error } = ending;
  const isFinal = state !== "stopped";
  const removal = await createTurnJob(definition.name, { id, remove: true }, {
    delaySeconds: definition.retentionSeconds,
  });
  try {
    await write(job, async (tx) => {
      await job.end(tx);
      if (isFinal) await writeEntries(tx, id, turn?.record.buffer ?? [], clock);
      const rows = await runSqlRows(tx, buildEnd(row, ending, clock));
      if (rows.length === 0) throw new CancelledMeanwhileError();
      if (!isFinal) return;
      await insertJobs(tx, [removal]);
      // a workflow that was lost needs their results if it is retried
      if (state !== "done" && mode !== "lost") await cancelChildren(tx, id);
      if (parent === undefined) return;
      const result: ChildResult = { state, output, error };
      const wake = await createTurnJob(parent.name, { id: parent.id });
      const payload = JSON.stringify(result);
      await insertSignal(tx, parent.id, { name: getChildSignal(parent.entry), payload, wake });
    });
    return true;
  } catch (thrown) {
    if (thrown instanceof CancelledMeanwhileError) return false;
    throw thrown;
  }
}

/**
 * Builds the statement that ends a workflow. It changes no row if the workflow is to be cancelled.
 *
 * @param row The workflow, and how the turn found it.
 * @param ending How it ends.
 * @param clock Clock of a test.
 */
export function buildEnd(
  row: Pick<WorkflowRow, "id" | "mode">,
  { state, mode, output, error }: Ending,
  clock: Clock | undefined,
): PlainSql {
  const finishedAt = state === "stopped" ? sql`null::timestamptz` : sqlNow(clock);
  return sql`update "trellis_workflows" set "state" = ${state}, "mode" = ${mode}, "output" = ${output}::text,
        "error" = ${error}::text, "finished_at" = ${finishedAt}
        where "id" = ${row.id}::uuid and "state" = 'running' and "mode" = ${row.mode} returning "id"`;
}

const METRICS: Readonly<Record<Ending["state"], string>> = {
  done: "WorkflowsDone",
  failed: "WorkflowsFailed",
  cancelled: "WorkflowsCancelled",
  stopped: "WorkflowsStopped",
};

function report({ id, name }: WorkflowRow, { state, error }: Ending, hasMetrics: boolean): void {
  if (state === "failed" || state === "stopped") {
    log("ERROR", `workflow ${state}: see trellis workflows show`, {
      workflow: name,
      workflow_id: id,
      reason: error,
    });
  }
  if (!hasMetrics) return;
  addOccurrences({ workflow: name }, [[METRICS[state], "Count", 1]]);
}
