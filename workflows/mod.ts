/**
 * Workflows: functions that last for weeks. Each step runs once and commits together with the rows that it writes, on the
 * database that the application has already; workers of `@trellis/fn/jobs` run them.
 *
 * @example
 * ```ts
 * import { defineWorkflow } from "@trellis/fn/workflows";
 * import * as z from "zod";
 *
 * export const remind = defineWorkflow({ name: "remind", input: z.object({ noteId: z.string() }) })(
 *   async function remind({ step, sleep, input }) {
 *     await sleep(86400);
 *     await step("mail", { retry: { maxAttempts: 5 } }, () => console.log(input.noteId));
 *   },
 * );
 * console.log(remind.workflowName); // remind
 * ```
 *
 * @module
 */
export {
  type AnyWorkflow,
  defineWorkflow,
  type StartWorkflowOptions,
  type Workflow,
  type WorkflowDefinition,
  type WorkflowInput,
  type WorkflowOptions,
  type WorkflowResult,
} from "./define_workflow.ts";
export { cancelWorkflow } from "./cancel_workflow.ts";
export type { EntryKind, EntryState } from "./journal.ts";
export { WORKFLOWS_MIGRATION_SQL } from "./migration.ts";
export { signalWorkflow } from "./signal_workflow.ts";
export {
  getWorkflow,
  listWorkflows,
  type ListWorkflowsOptions,
  retryWorkflow,
  type WorkflowDetails,
  type WorkflowEntry,
  type WorkflowState,
  type WorkflowSummary,
} from "./workflow_admin.ts";
export { WorkflowCodeError, WorkflowStepError } from "./workflow_errors.ts";
export type {
  AllResult,
  StepFunction,
  StepOptions,
  WaitForOptions,
  WorkflowParams,
} from "./workflow_params.ts";
