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
import type { AnyJob } from "../jobs/define_job.ts";
import type { JobInput, JobOutput } from "../jobs/job_options.ts";
import { readJobOptions } from "../jobs/job_options.ts";
import { createTurnRunner } from "./run_turn.ts";
import {
  getJobName,
  insertWorkflow,
  inTransaction,
  prepareStart,
  toWorkflowId,
  TURN,
} from "./start_workflow.ts";
import type { Workflow, WorkflowDefinition, WorkflowParams } from "./workflow.ts";
import { getWorkflow, type WorkflowDetails } from "./workflow_admin.ts";

/** Options of `defineWorkflow`. */
export interface WorkflowOptions<
  TInput extends StandardSchema,
  TOutput extends StandardSchema = StandardSchema,
> {
  /** Name of the workflow in the table: letters, digits, `.`, `_` and `-`. Do not rename it while workflows run. */
  name: string;
  /** Schema of the input, checked when a workflow starts and each time it continues. */
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

const RULES: OptionRules = {
  name: NAME_OPTION,
  input: SCHEMA_OPTION,
  output: SCHEMA_OPTION,
  version: wholeNumber([1, 1_000_000, ""]),
  timeoutSeconds: wholeNumber([1, 900, "seconds"]),
  retentionSeconds: wholeNumber([60, 366 * 86_400, "seconds"]),
};

/** Turns fail when the database or the process does. Failed steps have their own attempts. */
const TURN_ATTEMPTS = 20;
/** Time that the rows of finished turns are kept. */
const TURN_KEPT_SECONDS = 3600;

/**
 * Declares a workflow: a function whose steps run once each, although it waits for days and its process ends in between.
 * Its steps are rows of `trellis_workflow_entries` (`WORKFLOWS_MIGRATION_SQL`), committed together with what a step writes.
 * A worker of `@trellis/fn/jobs` runs it.
 *
 * The function runs again from its beginning each time that the workflow continues, and calls that were recorded return their
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
 *     await step("create", async (tx) => {
 *       await tx.execute(sql`insert into firms values (${input.firm})`);
 *     });
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
    const settings = readJobOptions({
      name: getJobName(name),
      schema: TURN,
      transaction: true,
      retry: { maxAttempts: TURN_ATTEMPTS },
      timeoutSeconds,
      keepSeconds: TURN_KEPT_SECONDS,
    });
    const definition: WorkflowDefinition = {
      name,
      version,
      input,
      output,
      retentionSeconds,
      settings,
      body: body as WorkflowDefinition["body"],
    };
    return record("defineWorkflow", [options, body], {
      workflowName: name,
      job: createWorkerJob(definition),
      definition,
      async start(client, value, { key } = {}): Promise<string> {
        const workflow = await prepareStart(definition, value, { key });
        await inTransaction(client, (tx) => insertWorkflow(tx, workflow));
        return workflow.id;
      },
      getId: (key) => toWorkflowId(name, key),
      async get(client, id) {
        const found = await getWorkflow(client, id);
        return found?.name === name ? found as WorkflowDetails<never> : undefined;
      },
    });
  };
}

/** Creates the job that workers get. Only the functions of this package enqueue turns. */
function createWorkerJob(definition: WorkflowDefinition): AnyJob {
  const { name, settings } = definition;
  function refuse(): never {
    throw new ConfigurationError(`The job of the workflow ${name} is for workers: call start`);
  }
  return {
    jobName: settings.name,
    schema: TURN,
    settings,
    handler: refuse,
    enqueue: refuse,
    enqueueMany: refuse,
    waitFor: refuse,
    ...createTurnRunner(definition),
  };
}
