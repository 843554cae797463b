import type { WrapperMetadata } from "../core/with_observability.ts";
import type { TransactionClient } from "../database/session/transaction.ts";
import type { StandardSchema } from "../env/standard_schema.ts";
import type { AnyJob } from "../jobs/define_job.ts";
import type { JobOutput } from "../jobs/job_options.ts";
import type { JobClient } from "../jobs/enqueue.ts";
import type { JobRetryOptions, JobSettings } from "../jobs/job_options.ts";
import type { WorkflowDetails } from "./workflow_admin.ts";

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
   * Runs a function once and keeps its result, which must be JSON. When the workflow continues later, the result is read.
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

/** Options of a workflow with their defaults, and its function. */
export interface WorkflowDefinition {
  /** Name of the workflow. */
  readonly name: string;
  /** Version of the code. */
  readonly version: number;
  /** Schema of the input. */
  readonly input: StandardSchema;
  /** Schema of the result. */
  readonly output: StandardSchema | undefined;
  /** Seconds that a workflow is kept after its end. */
  readonly retentionSeconds: number;
  /** Settings of its jobs. */
  readonly settings: JobSettings;
  /** The function. */
  readonly body: (params: WorkflowParams<unknown>) => unknown;
}

/** Options of `start`. */
export interface StartWorkflowOptions {
  /** Makes the workflow unique: while a workflow of this name and key is in the table, even if it has ended, no other is started. */
  key?: string;
}

/** Declared workflow. */
export interface Workflow<TInput = unknown, TOutput = unknown> {
  /** Name of the workflow. */
  readonly workflowName: string;
  /** Job that runs the turns: give it to a worker. */
  readonly job: AnyJob;
  /** Options and function. */
  readonly definition: WorkflowDefinition;
  /**
   * Starts a workflow in the transaction of `client`. It runs after COMMIT, and never if the transaction is rolled back.
   *
   * @param client A transaction's client; or a client.
   * @param input The input; must be JSON.
   * @param options Key.
   * @returns The workflow's id. With a `key`, the id of the one workflow with this key.
   * @throws {ValidationError} If the input does not fit the schema.
   */
  start(client: JobClient, input: TInput, options?: StartWorkflowOptions): Promise<string>;
  /**
   * Returns the id of the workflow that `start` has started, or will start, with a key: signals and {@link Workflow.get} need
   * no column with the id.
   *
   * @param key Key of `start`.
   *
   * @example
   * ```ts ignore
   * await onboard.start(tx, { firm }, { key: signup.id });
   * // in another request
   * await signalWorkflow(tx, await onboard.getId(signup.id), "paid", { cents });
   * ```
   */
  getId(key: string): Promise<string>;
  /**
   * Returns the state of a workflow.
   *
   * @param client A transaction's client; or a client.
   * @param id The workflow.
   * @returns State, result and steps; `undefined` if there is no workflow of this name with this id.
   */
  get(client: JobClient, id: string): Promise<WorkflowDetails<TOutput> | undefined>;
}

/** Workflow of any input and result. */
// deno-lint-ignore no-explicit-any -- a function's parameters are contravariant
export type AnyWorkflow = Workflow<any, any>;

/** Input of a workflow. */
export type WorkflowInput<T> = T extends Workflow<infer TInput, infer _> ? TInput : never;

/** Result of a workflow. */
export type WorkflowResult<T> = T extends Workflow<infer _, infer TOutput> ? TOutput : never;
