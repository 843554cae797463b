import type { WrapperMetadata } from "../core/with_observability.ts";
import type { TransactionClient } from "../database/session/transaction.ts";
import type { StandardSchema } from "../env/standard_schema.ts";
import { getReason } from "../core/triggers/trigger_failure.ts";
import type { JobOutput } from "../jobs/define_job.ts";
import { type JobRetryOptions, type JobSettings, readJobOptions } from "../jobs/job_options.ts";
import type { AnyWorkflow, WorkflowInput, WorkflowResult } from "./define_workflow.ts";
import { TURN } from "./start_workflow.ts";
import { WorkflowCodeError } from "./workflow_errors.ts";

/** Options of a step. */
export interface StepOptions<T> {
  /**
   * How often a failed step is run again.
   * @default 10 attempts, as for jobs
   */
  retry?: JobRetryOptions;
  /**
   * Takes the step back if the workflow fails later or is cancelled: the last step first. A function with a second
   * parameter runs in a transaction, exactly once; others run at least once.
   */
  undo?: (result: T, tx: TransactionClient) => unknown;
}

/**
 * Function of a step. With the parameter `tx` it runs in a transaction that also records its result, so that what it
 * writes with `tx` is applied exactly once. Without a parameter it runs at least once.
 */
export type StepFunction<T> = (tx: TransactionClient) => T | Promise<T>;

/** Options of `waitFor`. */
export interface WaitForOptions<TSchema extends StandardSchema = StandardSchema> {
  /**
   * Seconds until it ends without a signal, up to 366 days.
   * @default none: it waits for as long as it takes
   */
  timeoutSeconds?: number;
  /** Schema of the payload. A payload that does not fit stops the workflow. */
  schema?: TSchema;
}

/** Result of a member of `all`. */
export type AllResult<T> = T extends () => infer R ? Awaited<R> : Awaited<T>;

/** Arguments of a workflow's function. Await each call before the next one, or pass them to `all`. */
export interface WorkflowParams<TInput> {
  /** The parsed input. */
  input: TInput;
  /** Id of the workflow. With the name of a step it is a key for services that support one. */
  id: string;
  /** Version of the code that started the workflow. */
  version: number;
  /** Aborted when the time of the turn is up: pass it to `fetch`. */
  signal: AbortSignal;
  /** Ids of the turn; the correlation id is that of the request which started the workflow. */
  metadata: WrapperMetadata;
  /**
   * Runs a function once and keeps its result, which must be JSON. When the workflow goes on later, the result is read.
   *
   * @param name Name of the step in the table.
   * @param fn The function.
   * @returns What the function returned, after its way through JSON.
   * @throws {WorkflowStepError} If it failed for the last time.
   */
  step<T>(name: string, fn: StepFunction<T>): Promise<T>;
  /** Runs a function once, with retries or with a way back. */
  step<T>(name: string, options: StepOptions<T>, fn: StepFunction<T>): Promise<T>;
  /** Waits 0 seconds to 366 days. Nothing runs meanwhile. */
  sleep(seconds: number): Promise<void>;
  /** Waits until a time, which may have passed. */
  sleepUntil(time: Date | number): Promise<void>;
  /**
   * Waits for a signal of `signalWorkflow`. Signals that arrive earlier are kept, in their order.
   *
   * @param name Name of the signal.
   * @returns The payload; `undefined` if the time is up.
   */
  waitFor<TSchema extends StandardSchema = StandardSchema>(
    name: string,
    options?: WaitForOptions<TSchema>,
  ): Promise<JobOutput<TSchema> | undefined>;
  /**
   * Runs another workflow and waits for its result. It is cancelled with this workflow.
   *
   * @returns Its result.
   * @throws {WorkflowStepError} If it failed or was cancelled.
   */
  child<TWorkflow extends AnyWorkflow>(
    workflow: TWorkflow,
    input: WorkflowInput<TWorkflow>,
  ): Promise<WorkflowResult<TWorkflow>>;
  /**
   * Waits for several calls, or runs functions with several calls each side by side.
   *
   * @returns The results in their order.
   * @throws The first error in their order, when all have ended.
   */
  all<T extends readonly unknown[]>(
    members: readonly [...T],
  ): Promise<{ -readonly [K in keyof T]: AllResult<T[K]> }>;
  /** Returns the time of the last result, the same in each replay. */
  now(): Date;
  /** Returns a number from 0 to below 1, the same in each replay. It can be derived from the workflow's id: it is no secret. */
  random(): number;
  /** Returns a new UUID, the same in each replay. It can be derived from the workflow's id: it is no secret. */
  uuid(): string;
  /**
   * Returns true for workflows that have not passed this place yet, and false for those that passed it before it was in
   * the code: they go the former way.
   *
   * @param name Name of the change.
   */
  patched(name: string): boolean;
}

const MAX_NAME = 200;

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

/**
 * Checks the name of a step or signal.
 *
 * @param what What has the name, for the message.
 * @param name The name.
 * @throws {WorkflowCodeError} If it is empty or too long.
 */
export function checkName(what: string, name: unknown): void {
  if (typeof name === "string" && name !== "" && name.length <= MAX_NAME && !name.includes("\0")) {
    return;
  }
  throw new WorkflowCodeError(
    `The name of a ${what} must be a text of 1 to ${MAX_NAME} characters`,
  );
}
