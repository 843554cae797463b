import { wholeNumber } from "../core/function_options.ts";
import { checkOption, oneOf } from "../core/option_rules.ts";
import { joinSql, type PlainSql, sql } from "../database/session/plain_sql.ts";
import { runSql, runSqlRows } from "../database/session/run_sql.ts";
import { insertJobs, type JobClient } from "../jobs/enqueue.ts";
import { isoTime } from "../jobs/job_admin.ts";
import type { Entry, EntryKind, EntryState } from "./journal.ts";
import { createTurnJob, inTransaction } from "./start_workflow.ts";

/**
 * State of a workflow. `undoing` takes steps back after a failure, `cancelling` after a request. A `stopped` workflow does
 * not fit its code, and continues with `retryWorkflow`.
 */
export type WorkflowState =
  | "running"
  | "undoing"
  | "cancelling"
  | "stopped"
  | "done"
  | "failed"
  | "cancelled";

/** The states, for checks and messages. */
export const WORKFLOW_STATES = [
  "running",
  "undoing",
  "cancelling",
  "stopped",
  "done",
  "failed",
  "cancelled",
] as const satisfies WorkflowState[];

/** Workflow in the table. */
export interface WorkflowSummary {
  /** Primary key. */
  readonly id: string;
  /** Name of the workflow. */
  readonly name: string;
  /** Version of the code that started it. */
  readonly version: number;
  /** State of the workflow. */
  readonly state: WorkflowState;
  /** Why it failed or stopped. */
  readonly error: string | undefined;
  /** The workflow that waits for it. */
  readonly parentId: string | undefined;
  /** Time of the start. */
  readonly startedAt: string;
  /** Time of the end. */
  readonly finishedAt: string | undefined;
  /** Correlation id of the request that started it. */
  readonly correlationId: string | undefined;
}

/** Recorded step, wait or signal of a workflow. */
export interface WorkflowEntry {
  /** Position: `00002`, or `00002.1.00000` in the second branch of `all`. Signals begin with `s.`, undos with `u.`. */
  readonly position: string;
  /** What it is. */
  readonly kind: EntryKind;
  /** Name of the step, signal or child workflow. */
  readonly name: string;
  /** Whether it has ended. */
  readonly state: EntryState;
  /** Attempts of a step. */
  readonly attempts: number;
  /** Last error of a step. */
  readonly error: string | undefined;
  /** Time until which it waits. */
  readonly wakeAt: string | undefined;
  /** Time at which it was recorded first. */
  readonly createdAt: string;
  /** Time at which it ended. */
  readonly finishedAt: string | undefined;
}

/** Workflow with its input, result and steps; they may hold personal data. */
export interface WorkflowDetails<TOutput = unknown> extends WorkflowSummary {
  /** The input. */
  readonly input: unknown;
  /** The result, once it is done. */
  readonly output: TOutput | undefined;
  /** What was recorded, in order. */
  readonly entries: readonly WorkflowEntry[];
}

/** Options of `listWorkflows`. */
export interface ListWorkflowsOptions {
  /** Only workflows in this state. */
  state?: WorkflowState;
  /** Only workflows with this name. */
  name?: string;
  /**
   * Maximum number of workflows, 1 to 1,000.
   * @default 50
   */
  limit?: number;
}

type SummaryRow = Record<string, string | number | null>;

const SHOWN_STATE: PlainSql = sql`case when "state" = 'running' and "mode" = 'undo' then 'undoing'
  when "state" = 'running' and "mode" = 'cancel' then 'cancelling' else "state" end`;

const COLUMNS: PlainSql =
  sql`"id", "name", "version", ${SHOWN_STATE} as shown, "error", "parent_id",
  ${isoTime("started_at")} as started, ${isoTime("finished_at")} as finished, "correlation_id"`;

/**
 * Lists workflows, the last started first.
 *
 * @param client The client.
 * @param options Filter and limit.
 * @returns The workflows without inputs, results and steps.
 * @throws {ConfigurationError} If an option is invalid.
 *
 * @example
 * ```ts ignore
 * for (const { id, name, error } of await listWorkflows(db, { state: "stopped" })) {
 *   console.log(id, name, error);
 * }
 * ```
 */
export async function listWorkflows(
  client: JobClient,
  { state, name, limit = 50 }: ListWorkflowsOptions = {},
): Promise<WorkflowSummary[]> {
  checkOption("limit", limit, wholeNumber([1, 1000, "workflows"]));
  if (state !== undefined) checkOption("state", state, oneOf(WORKFLOW_STATES));
  // the column has an index, the shown state has none
  const column = state === "undoing" || state === "cancelling" ? "running" : state;
  const conditions = [
    sql`true`,
    ...(column === undefined ? [] : [sql`"state" = ${column} and ${SHOWN_STATE} = ${state!}`]),
    ...(name === undefined ? [] : [sql`"name" = ${name}`]),
  ];
  const rows = await runSqlRows<SummaryRow>(
    client,
    sql`select ${COLUMNS} from "trellis_workflows" where ${joinSql(conditions, " and ")}
      order by "started_at" desc, "id" limit ${limit}`,
  );
  return rows.map(readSummary);
}

/**
 * Returns a workflow with its input, result and steps.
 *
 * @param client The client.
 * @param id The workflow.
 * @returns The workflow, or `undefined` if there is none with this id.
 *
 * @example
 * ```ts ignore
 * console.log((await getWorkflow(db, id))?.entries.at(-1)?.name);
 * ```
 */
export async function getWorkflow(
  client: JobClient,
  id: string,
): Promise<WorkflowDetails | undefined> {
  const [row] = await runSqlRows<SummaryRow>(
    client,
    sql`select ${COLUMNS}, "input", "output" from "trellis_workflows" where "id" = ${id}::uuid`,
  );
  if (row === undefined) return undefined;
  const entries = await runSqlRows<SummaryRow>(
    client,
    sql`select "entry", "kind", "name", "state", "attempts", "error", ${isoTime("wake_at")} as wake,
    ${isoTime("created_at")} as created, ${isoTime("finished_at")} as finished
    from "trellis_workflow_entries" where "workflow_id" = ${id}::uuid order by "created_at", "entry"`,
  );
  return {
    ...readSummary(row),
    input: JSON.parse(row.input as string),
    output: row.output === null ? undefined : JSON.parse(row.output as string),
    entries: entries.map((entry): WorkflowEntry => ({
      position: entry.entry as string,
      kind: entry.kind as EntryKind,
      name: entry.name as string,
      state: entry.state as Entry["state"],
      attempts: Number(entry.attempts),
      error: toText(entry.error),
      wakeAt: toText(entry.wake),
      createdAt: entry.created as string,
      finishedAt: toText(entry.finished),
    })),
  };
}

/**
 * Lets a workflow go on: one that was stopped, with the code of this release; one whose turns were lost; or one that
 * has failed, unless steps were taken back. Failed steps get as many attempts as new ones.
 *
 * @param client A transaction's client; or a client.
 * @param id The workflow.
 * @returns `false` if it cannot go on, or there is none with this id.
 *
 * @example
 * ```ts ignore
 * await retryWorkflow(db, id);
 * ```
 */
export async function retryWorkflow(client: JobClient, id: string): Promise<boolean> {
  return await inTransaction(client, async (tx) => {
    const goOn = async (condition: PlainSql): Promise<string | undefined> => {
      const [workflow] = await runSqlRows<{ name: string }>(
        tx,
        sql`update "trellis_workflows" set "state" = 'running', "finished_at" = null,
        "mode" = case when "mode" = 'lost' then 'run' else "mode" end,
        "error" = case when "mode" = 'undo' then "error" end
        where "id" = ${id}::uuid and ${condition} returning "name"`,
      );
      return workflow?.name;
    };
    const isOpen = await goOn(
      sql`("state" in ('running', 'stopped') or "mode" = 'lost' and "parent_id" is null)`,
    );
    // a parent has received the failure of its child
    const name = isOpen ??
      await goOn(sql`"state" = 'failed' and "mode" = 'run' and "parent_id" is null`);
    if (name === undefined) return false;
    // a failure that the workflow has caught stays: only the step that it failed with is run again
    const kind = isOpen === undefined ? "step" : "undo";
    await runSql(
      tx,
      sql`update "trellis_workflow_entries" set "state" = 'pending', "attempts" = 0,
      "finished_at" = null, "wake_at" = "created_at" where "workflow_id" = ${id}::uuid and "entry" = (
        select "entry" from "trellis_workflow_entries" where "workflow_id" = ${id}::uuid
        and "kind" = ${kind} and "finished_at" is not null
        order by "finished_at" desc, "entry" desc limit 1) and "state" = 'failed'`,
    );
    await insertJobs(tx, [await createTurnJob(name, { id })]);
    return true;
  });
}

function readSummary(row: SummaryRow): WorkflowSummary {
  return {
    id: row.id as string,
    name: row.name as string,
    version: Number(row.version),
    state: row.shown as WorkflowState,
    error: toText(row.error),
    parentId: toText(row.parent_id),
    startedAt: row.started as string,
    finishedAt: toText(row.finished),
    correlationId: toText(row.correlation_id),
  };
}

function toText(value: string | number | null): string | undefined {
  return value === null ? undefined : String(value);
}
