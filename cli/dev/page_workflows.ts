import type { DatabaseConfig } from "../../database/config/config.ts";
import { getDrizzleClient } from "../../database/providers/client.ts";
import { NotFoundError, ValidationError } from "../../errors/http_errors.ts";
import { explainTable } from "../../jobs/job_sql.ts";
import { cancelWorkflow } from "../../workflows/cancel_workflow.ts";
import { signalWorkflow } from "../../workflows/signal_workflow.ts";
import { getChildId } from "../../workflows/start_workflow.ts";
import {
  getWorkflow,
  listWorkflows,
  retryWorkflow,
  WORKFLOW_STATES,
  type WorkflowDetails,
  type WorkflowEntry,
  type WorkflowSummary,
} from "../../workflows/workflow_admin.ts";
import { checkWorkId, readWorkFilter } from "./page_jobs.ts";

/** A workflow with the ids of its children. */
export interface PageWorkflow extends WorkflowDetails {
  readonly entries: readonly (WorkflowEntry & { readonly childId?: string })[];
}

/**
 * Lists the last workflows, without inputs, results and steps.
 *
 * @param params The filter: `state` and `name`; empty for all.
 * @throws {ValidationError} If there is no such state.
 * @throws {ConfigurationError} If the database has no table of workflows.
 */
export async function listPageWorkflows(
  config: DatabaseConfig,
  params: URLSearchParams,
): Promise<WorkflowSummary[]> {
  const filter = readWorkFilter(params, WORKFLOW_STATES);
  return await listWorkflows(await getDrizzleClient(config), filter).catch((error) => {
    throw explainTable(error, "workflows");
  });
}

/**
 * Reads a workflow with its input, result and steps.
 *
 * @param id The workflow's id.
 * @throws {NotFoundError} If the table has no such workflow.
 */
export async function readPageWorkflow(config: DatabaseConfig, id: string): Promise<PageWorkflow> {
  const db = await getDrizzleClient(config);
  const workflow = await getWorkflow(db, checkWorkId(id, "workflow"));
  if (workflow === undefined) throw new NotFoundError("The workflow does not exist");
  const entries = await Promise.all(workflow.entries.map(async (entry) => ({
    ...entry,
    ...(entry.kind === "child" ? { childId: await getChildId(id, entry.position) } : {}),
  })));
  return { ...workflow, entries };
}

/**
 * Lets a workflow go on, cancels it, or sends it a signal.
 *
 * @param id The workflow's id.
 * @param change `retry`, `cancel` or `signal`.
 * @param readBody Reads the JSON of the request: `{ name, payload }` of a signal.
 * @returns The workflow after the change.
 * @throws {ValidationError} If the state of the workflow does not allow it, or the signal has no name.
 */
export async function changePageWorkflow(
  config: DatabaseConfig,
  id: string,
  change: string,
  readBody: () => Promise<unknown>,
): Promise<PageWorkflow> {
  const db = await getDrizzleClient(config);
  await readPageWorkflow(config, id);
  let isChanged: boolean;
  if (change === "retry") isChanged = await retryWorkflow(db, id);
  else if (change === "cancel") isChanged = await cancelWorkflow(db, id);
  else if (change === "signal") {
    const { name, payload } = Object(await readBody());
    if (typeof name !== "string" || name === "") {
      throw new ValidationError("A signal needs a name, and may have a payload");
    }
    isChanged = await signalWorkflow(db, id, name, payload);
  } else throw new NotFoundError("Page not found");
  const workflow = await readPageWorkflow(config, id);
  if (isChanged) return workflow;
  throw new ValidationError(`The workflow is ${workflow.state}, so it was not changed`);
}
