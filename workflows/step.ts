import { rejectOnAbort } from "../core/async/deadline.ts";
import { fullJitterDelay } from "../core/retry.ts";
import { getReason } from "../core/triggers/trigger_failure.ts";
import { withDistSqlRetry } from "../database/session/retry.ts";
import { type TransactionClient, withTransaction } from "../database/session/transaction.ts";
import { findInCauseChain } from "../errors/cause_chain.ts";
import { CommitOutcomeUnknownError } from "../errors/database_errors.ts";
import { describeFailure } from "../jobs/end_attempt.ts";
import { JobLeaseLostError, PermanentJobError } from "../jobs/job_errors.ts";
import { type JobSettings, readJobOptions } from "../jobs/job_options.ts";
import { checkName, type Entry, NEW_ENTRY, readResult, writeResult } from "./journal.ts";
import { runAt, Scope } from "./scope.ts";
import { TURN } from "./start_workflow.ts";
import type { TurnRecord } from "./turn_record.ts";
import type { StepFunction, StepOptions } from "./workflow.ts";
import { WorkflowCodeError, WorkflowStepError } from "./workflow_errors.ts";

/** Arguments of `step` after its name. */
export interface Step {
  /** The function. */
  readonly fn: StepFunction<unknown>;
  /** Takes it back. */
  readonly undo: StepOptions<unknown>["undo"];
  /** How often it is run again. */
  readonly retry: JobSettings;
}

/**
 * Reads the arguments of `step`.
 *
 * @param name Name of the step.
 * @param rest Options and function.
 * @throws {WorkflowCodeError} If an argument is invalid.
 */
export function readStep(name: string, rest: readonly unknown[]): Step {
  checkName("step", name);
  const fn = rest.at(-1) as StepFunction<unknown>;
  const options = rest.length > 1 ? rest[0] as StepOptions<unknown> : {};
  const { undo, retry, ...unknown } = options;
  const [other] = Object.keys(unknown);
  if (typeof fn !== "function") throw new WorkflowCodeError(`step "${name}" has no function`);
  if (other !== undefined) {
    throw new WorkflowCodeError(`step "${name}" has no option ${other}: it has retry and undo`);
  }
  if (undo !== undefined && typeof undo !== "function") {
    throw new WorkflowCodeError(`undo of step "${name}" must be a function`);
  }
  try {
    return { fn, undo, retry: readJobOptions({ name: "step", schema: TURN, retry }) };
  } catch (error) {
    throw new WorkflowCodeError(`step "${name}": ${getReason(error)}`, { cause: error });
  }
}

/** A step whose function runs in a turn, or its undo. */
export interface StepWork {
  /** What it is. */
  readonly kind: "step" | "undo";
  /** Position in the workflow. */
  readonly key: string;
  /** Name of the step. */
  readonly name: string;
  /** Description for messages. */
  readonly label: string;
  /** How often it is run again. */
  readonly retry: JobSettings;
  /** True if it runs in a transaction. */
  readonly isTransaction: boolean;
  /** The function. */
  readonly run: (tx: TransactionClient) => unknown;
}

/** How an attempt of a step ended: with a result, with its last error, or to be tried again in a later turn. */
export type StepOutcome =
  | { readonly kind: "done"; readonly result: unknown; readonly atMs: number }
  | { readonly kind: "failed"; readonly error: WorkflowStepError; readonly atMs: number }
  | { readonly kind: "later" };

/** What an attempt of a step needs. */
export interface StepAttempt {
  /** What the turn has read, and writes. */
  readonly record: TurnRecord;
  /** The part of the workflow that the step belongs to. */
  readonly scope: Scope;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** Aborted when the time of the turn is up, or the workflow was cancelled. */
  readonly signal: AbortSignal;
}

/**
 * Runs the function of a step, and records its result in the same transaction.
 *
 * @param work The step.
 * @param options Record, scope and signal.
 * @throws If the turn cannot go on: its time is up, another worker runs it, or the result cannot be kept.
 */
export async function attemptStep(
  work: StepWork,
  { record, scope, attempt, signal }: StepAttempt,
): Promise<StepOutcome> {
  const { kind, key, name, label, isTransaction } = work;
  const db = record.rows.db!;
  const place = { scope: new Scope(key, scope.lastMs), step: name };
  async function run(tx: TransactionClient | undefined): Promise<Entry> {
    const value = await Promise.race([
      runAt(place, async () => await work.run(tx as TransactionClient)),
      // what was written is rolled back; other work may still have its effect
      ...(tx === undefined ? [] : [rejectOnAbort(signal)]),
    ]);
    const result = writeResult(`The result of ${label}`, value);
    const finishedMs = record.now();
    return { ...NEW_ENTRY, kind, key, name, state: "done", attempts: attempt, result, finishedMs };
  }
  let entry: Entry;
  try {
    if (isTransaction) {
      const { done, onCommitted } = await withDistSqlRetry(() =>
        withTransaction(db, async (tx) => {
          const done = await run(tx);
          return { done, onCommitted: await record.write(tx, [done]) };
        })
      );
      onCommitted();
      entry = done;
    } else {
      // decided before the step, so that a repeated one gets the same arguments
      await record.flush();
      entry = await run(undefined);
    }
  } catch (error) {
    if (error instanceof WorkflowCodeError || signal.aborted || isLost(error)) throw error;
    return await recordFailure(work, record, attempt, error);
  }
  if (!isTransaction) await record.flush(entry);
  return { kind: "done", result: readResult(entry.result), atMs: entry.finishedMs! };
}

/** Schedules the next attempt, or returns the error for the workflow. */
async function recordFailure(
  { kind, key, name, retry }: StepWork,
  record: TurnRecord,
  attempts: number,
  error: unknown,
): Promise<StepOutcome> {
  const text = describeFailure(error);
  const isLast = attempts >= retry.maxAttempts ||
    findInCauseChain(error, (link) => link instanceof PermanentJobError) !== undefined;
  const entry: Entry = { ...NEW_ENTRY, kind, key, name, attempts, error: text };
  if (isLast) {
    const finishedMs = record.now();
    record.buffer.push({ ...entry, state: "failed", finishedMs });
    return { kind: "failed", error: new WorkflowStepError(name, text), atMs: finishedMs };
  }
  const delayMs = fullJitterDelay(attempts, { ...retry, random: Math.random });
  await record.addPending({ ...entry, wakeMs: Math.ceil(record.now() + delayMs) });
  return { kind: "later" };
}

function isLost(error: unknown): boolean {
  return findInCauseChain(
    error,
    (link) => link instanceof JobLeaseLostError || link instanceof CommitOutcomeUnknownError,
  ) !== undefined;
}
