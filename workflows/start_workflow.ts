import { hashToUuid } from "../core/digest.ts";
import { type PlainSql, sql } from "../database/session/plain_sql.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import { withDistSqlRetry } from "../database/session/retry.ts";
import { runSql, sendAhead } from "../database/session/run_sql.ts";
import { type TransactionClient, withTransaction } from "../database/session/transaction.ts";
import { findTransactionState } from "../database/session/transaction_guard.ts";
import { createSchema, type StandardSchema } from "../env/standard_schema.ts";
import { insertJobs, type JobClient } from "../jobs/enqueue.ts";
import {
  createJobRow,
  type EnqueueOptions,
  isJobId,
  type NewJob,
  serializePayload,
} from "../jobs/job_row.ts";
import { findTestClock } from "../jobs/job_settings.ts";
import { explainTable, sqlNow } from "../jobs/job_sql.ts";
import { currentInvocation } from "../observability/invocation_context.ts";
import { log } from "../observability/logger.ts";

/** Payload of the jobs of a workflow. Without a further member, the job runs a turn. */
export interface TurnPayload {
  /** The workflow. */
  readonly id: string;
  /** The entry whose time has come: the job enqueues a turn. Timers belong to no group, because they are enqueued early. */
  readonly timer?: string;
  /** The turn may end the wait of this entry, regardless of the clock. */
  readonly due?: string;
  /** Time for which the timer was set, in epoch milliseconds: it ends no later wait. Those of earlier releases have none. */
  readonly wakeMs?: number;
  /** Removes the workflow. */
  readonly remove?: boolean;
}

/** Schema of {@link TurnPayload}. */
export const TURN: StandardSchema<TurnPayload> = createSchema<TurnPayload>((value) =>
  isJobId((value as Partial<TurnPayload> | null)?.id)
    ? { value: value as TurnPayload }
    : { issues: [{ message: "It holds no id of a workflow", path: ["id"] }] }
);

/** Returns the name of the jobs of a workflow. */
export function getJobName(name: string): string {
  return `workflow.${name}`;
}

/**
 * Creates a job of a workflow. Turns of one workflow are a group, so that they run one at a time.
 *
 * @param name Name of the workflow.
 * @param payload What the job does.
 * @param options Delay and key.
 */
export function createTurnJob(
  name: string,
  payload: TurnPayload,
  options: Pick<EnqueueOptions, "delaySeconds" | "key"> = {},
): Promise<NewJob> {
  const isTurn = payload.timer === undefined && payload.remove === undefined;
  const group = isTurn ? `workflow:${payload.id}` : undefined;
  return createJobRow(getJobName(name), TURN, payload, { ...options, group });
}

/** The workflow that waits for another one. */
export interface WorkflowParent {
  /** Primary key. */
  readonly id: string;
  /** Name of the workflow. */
  readonly name: string;
  /** Key of the entry that waits. */
  readonly entry: string;
}

/** Returns the id of a child workflow. */
export function getChildId(parentId: string, entry: string): Promise<string> {
  return hashToUuid(["child workflow", parentId, entry]);
}

/** Returns the name of the signal with which a child workflow returns its result. */
export function getChildSignal(entry: string): string {
  return `child ${entry}`;
}

/** Workflow to start. */
export interface NewWorkflow {
  /** Primary key. */
  readonly id: string;
  /** Name of the workflow. */
  readonly name: string;
  /** Version of the code. */
  readonly version: number;
  /** JSON. */
  readonly input: string;
  /** The workflow that waits for it. */
  readonly parent?: WorkflowParent;
  /** Its first turn. */
  readonly job: NewJob;
}

/**
 * Prepares the start of a workflow.
 *
 * @param workflow Name, version and schema of the input.
 * @param value The input.
 * @param options Its id, or a key that the id is derived from; the workflow that waits for it.
 * @throws {ValidationError} If the input does not fit the schema, or JSON cannot hold it.
 */
export async function prepareStart(
  { name, version, input }: { name: string; version: number; input: StandardSchema },
  value: unknown,
  { id, key, parent }: { id?: string; key?: string; parent?: WorkflowParent } = {},
): Promise<NewWorkflow> {
  const text = await serializePayload(getJobName(name), input, value);
  const ownId = id ?? (key === undefined ? crypto.randomUUID() : await toWorkflowId(name, key));
  // a start with a key may be repeated
  const options = key === undefined && id === undefined ? {} : { key: `start ${ownId}` };
  const job = await createTurnJob(name, { id: ownId }, options);
  return { id: ownId, name, version, input: text, parent, job };
}

/** Returns the id of the workflow with a key. */
export function toWorkflowId(name: string, key: string): Promise<string> {
  return hashToUuid(["workflow", name, key]);
}

/**
 * Inserts a workflow and its first turn in a transaction.
 *
 * @param tx The transaction.
 * @param workflow The workflow; nothing is changed if its id exists.
 */
export async function insertWorkflow(tx: TransactionClient, workflow: NewWorkflow): Promise<void> {
  const { id, name, version, input, parent, job } = workflow;
  const correlationId = currentInvocation()?.correlationId ?? null;
  await insertAhead(
    tx,
    sql`insert into "trellis_workflows" ("id", "name", "version", "input", "parent_id", "parent_name",
    "parent_entry", "started_at", "correlation_id") values (${id}::uuid, ${name}::text, ${version}::int, ${input}::text,
    ${parent?.id ?? null}::uuid, ${parent?.name ?? null}::text, ${parent?.entry ?? null}::text, ${
      sqlNow(findTestClock())
    },
    ${correlationId}::text) on conflict do nothing`,
  );
  await insertJobs(tx, [job]);
}

/**
 * Sends an insert of a transaction without waiting for its answer, where the driver can.
 *
 * @param tx The transaction. It is rolled back if the insert fails.
 * @param statement The insert.
 */
export async function insertAhead(tx: TransactionClient, statement: PlainSql): Promise<void> {
  const state = findTransactionState(tx);
  if (state === undefined) return void await runSql(tx, statement);
  sendAhead(tx, state, statement).catch((error) =>
    log("ERROR", "a workflow could not be written, the transaction is rolled back", {
      error: explainTable(error, "workflows"),
    })
  );
}

/**
 * Runs work in the transaction of a client, or in a new one. The work may run twice.
 *
 * @param client A transaction's client, or a client.
 * @param work The work.
 */
export function inTransaction<T>(
  client: JobClient,
  work: (tx: TransactionClient) => Promise<T>,
): Promise<T> {
  if (findTransactionState(client) !== undefined) return work(client as TransactionClient);
  return withDistSqlRetry(
    async () => await withTransaction(client as DrizzleClient, work),
    { idempotent: true },
  );
}
