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
export { defineWorkflow, type WorkflowOptions } from "./define_workflow.ts";
export { cancelWorkflow } from "./cancel_workflow.ts";
export type { EntryKind, EntryState } from "./journal.ts";
export { WORKFLOWS_MIGRATION_SQL } from "./migration.ts";
export { replayWorkflow, type WorkflowReplay } from "./replay_workflow.ts";
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
  AnyWorkflow,
  StartWorkflowOptions,
  StepFunction,
  StepOptions,
  WaitForOptions,
  Workflow,
  WorkflowDefinition,
  WorkflowInput,
  WorkflowParams,
  WorkflowResult,
} from "./workflow.ts";
export {
  trellisWorkflowEntries,
  trellisWorkflows,
  type WorkflowEntriesTable,
  type WorkflowEntriesTableColumns,
  type WorkflowsTable,
  type WorkflowsTableColumns,
} from "./workflows_table.ts";
