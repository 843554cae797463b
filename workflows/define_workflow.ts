import { wholeNumber } from "../core/function_options.ts";
import {
  checkOptions,
  NAME_OPTION,
  type OptionRules,
  SCHEMA_OPTION,
} from "../core/option_rules.ts";
import { checkHandler } from "../core/triggers/trigger_options.ts";
import type { StandardSchema } from "../env/standard_schema.ts";
import { record } from "../env/recording.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import { type AnyJob, defineJob, type JobInput, type JobOutput } from "../jobs/define_job.ts";
import type { JobClient } from "../jobs/enqueue.ts";
import type { JobSettings } from "../jobs/job_options.ts";
import { createTurnRunner } from "./run_turn.ts";
import { getJobName, insertWorkflow, inTransaction, prepareStart, TURN } from "./start_workflow.ts";
import { getWorkflow, type WorkflowDetails } from "./workflow_admin.ts";
import type { WorkflowParams } from "./workflow_params.ts";

/** Options of `defineWorkflow`. */
export interface WorkflowOptions<
  TInput extends StandardSchema,
  TOutput extends StandardSchema = StandardSchema,
> {
  /** Name of the workflow in the table: letters, digits, `.`, `_` and `-`. Do not rename it while workflows run. */
  name: string;
  /** Schema of the input, checked when a workflow starts and again when it goes on. */
  input: TInput;
  /**
   * Schema of the result. A result that does not fit stops the workflow.
   * @default any JSON
   */
  output?: TOutput;
  /**
   * Number of this version of the code. A workflow sees the version that started it, and is left to a newer release if
   * its version is higher.
   * @default 1
   */
  version?: number;
  /**
   * Seconds that one turn may take, 1 to 900: from one wait to the next, or part of that. A step must take less.
   * @default 60
   */
  timeoutSeconds?: number;
  /**
   * Seconds that a workflow is kept after its end, from 60.
   * @default 2592000 (30 days)
   */
  retentionSeconds?: number;
}

/** Options of a workflow with their defaults, and its function. */
export interface WorkflowDefinition {
  /** Name of the workflow. */
  readonly name: string;
  /** Version of the code. */
  readonly version: number;
  /** Schema of the input. */
  readonly input: StandardSchema;
  /** Schema of the input, as jobs call it. */
  readonly schema: StandardSchema;
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

const RULES: OptionRules = {
  name: NAME_OPTION,
  input: SCHEMA_OPTION,
  output: SCHEMA_OPTION,
  version: wholeNumber([1, 1_000_000, ""]),
  timeoutSeconds: wholeNumber([1, 900, "seconds"]),
  retentionSeconds: wholeNumber([60, 366 * 86_400, "seconds"]),
};

/** Turns fail when the database or the process does. Failed steps have attempts of their own. */
const TURN_ATTEMPTS = 20;
/** Time that the rows of finished turns are kept. */
const TURN_KEPT_SECONDS = 3600;

/**
 * Declares a workflow: a function whose steps run once each, although it waits for days and its process ends in between.
 * Its steps are rows of `trellis_workflow_entries` (`WORKFLOWS_MIGRATION_SQL`), committed together with what a step writes.
 * A worker of `@trellis/fn/jobs` runs it.
 *
 * The function runs again from its beginning each time that the workflow goes on, and calls that were recorded return their
 * results at once. So everything that differs from run to run belongs into steps, or comes from `now`, `random` and `uuid`.
 *
 * @param options Name, schemas, version.
 * @returns A function that takes the workflow's function and returns the workflow.
 * @throws {ConfigurationError} If an option is unknown or invalid.
 *
 * @example
 * ```ts
 * import { createJobWorker, JOBS_MIGRATION_SQL } from "@trellis/fn/jobs";
 * import { defineWorkflow, signalWorkflow, WORKFLOWS_MIGRATION_SQL } from "@trellis/fn/workflows";
 * import { sql } from "@trellis/fn/database/orm";
 * import { createTestDatabase } from "@trellis/fn/testing";
 * import * as z from "zod";
 *
 * const { db, close } = await createTestDatabase();
 * for (const statement of (JOBS_MIGRATION_SQL + "--> statement-breakpoint" + WORKFLOWS_MIGRATION_SQL).split("--> statement-breakpoint")) {
 *   await db.execute(sql.raw(statement));
 * }
 * await db.execute(sql`create table firms (name text)`);
 *
 * const onboard = defineWorkflow({ name: "onboard", input: z.object({ firm: z.string() }) })(
 *   async function onboard({ step, waitFor, input }) {
 *     await step("create", (tx) => void tx.execute(sql`insert into firms values (${input.firm})`));
 *     const paid = await waitFor("paid", { timeoutSeconds: 14 * 86400, schema: z.object({ cents: z.number() }) });
 *     return paid?.cents ?? 0;
 *   },
 * );
 *
 * const worker = createJobWorker({ getDb: () => db, jobs: [onboard.job], logging: { level: "SILENT" }, metrics: false });
 * const id = await onboard.start(db, { firm: "Acme" });
 * await worker.runDue();
 * await signalWorkflow(db, id, "paid", { cents: 900 });
 * await worker.runDue();
 * const workflow = await onboard.get(db, id);
 * console.log(workflow?.state, workflow?.output); // done 900
 * await close();
 * ```
 */
export function defineWorkflow<
  TInput extends StandardSchema,
  TOutput extends StandardSchema = StandardSchema,
>(
  options: WorkflowOptions<TInput, TOutput>,
): <TResult extends JobInput<TOutput>>(
  body: (params: WorkflowParams<JobOutput<TInput>>) => TResult | Promise<TResult>,
) => Workflow<JobInput<TInput>, unknown extends JobOutput<TOutput> ? TResult : JobOutput<TOutput>> {
  checkOptions("defineWorkflow", options, RULES);
  // a missing name or schema is as wrong as an invalid one
  checkOptions(
    "defineWorkflow",
    { name: options.name ?? null, input: options.input ?? null },
    RULES,
  );
  const { name, input, output, version = 1, timeoutSeconds = 60 } = options;
  const { retentionSeconds = 30 * 86_400 } = options;

  return function wrapBody(body) {
    checkHandler("defineWorkflow", body);
    const job = defineJob({
      name: getJobName(name),
      schema: TURN,
      transaction: true,
      retry: { maxAttempts: TURN_ATTEMPTS },
      timeoutSeconds,
      keepSeconds: TURN_KEPT_SECONDS,
    })(function runTurn() {
      throw new ConfigurationError(`Give the job of the workflow ${name} to a worker`);
    });
    const definition: WorkflowDefinition = {
      name,
      version,
      input,
      schema: input,
      output,
      retentionSeconds,
      settings: job.settings,
      body: body as WorkflowDefinition["body"],
    };
    return record("defineWorkflow", [options, body], {
      workflowName: name,
      job: Object.assign(job, { runLeased: createTurnRunner(definition) }),
      definition,
      async start(client, value, { key } = {}): Promise<string> {
        const workflow = await prepareStart(definition, value, { key });
        await inTransaction(client, (tx) => insertWorkflow(tx, workflow));
        return workflow.id;
      },
      async get(client, id) {
        const found = await getWorkflow(client, id);
        return found?.name === name ? found as WorkflowDetails<never> : undefined;
      },
    });
  };
}
