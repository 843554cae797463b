import { sql } from "../database/session/plain_sql.ts";
import { runSqlRows } from "../database/session/run_sql.ts";
import type { TransactionClient } from "../database/session/transaction.ts";
import { insertJobs, type JobClient } from "../jobs/enqueue.ts";
import { readEntries } from "./journal.ts";
import { createTurnJob, getChildId, inTransaction } from "./start_workflow.ts";

/**
 * Cancels a workflow, in the transaction of the client: a turn takes back the steps that have an `undo`, the last one
 * first, and cancels the child workflows. A step that runs ends first: its `signal` is aborted within about 5 seconds.
 *
 * @param client A transaction's client; or a client.
 * @param id The workflow.
 * @returns `false` if it has ended, or there is none with this id.
 *
 * @example
 * ```ts ignore
 * await cancelWorkflow(db, id);
 * ```
 */
export async function cancelWorkflow(client: JobClient, id: string): Promise<boolean> {
  return await inTransaction(client, async (tx) => {
    const [workflow] = await runSqlRows<{ name: string }>(
      tx,
      sql`update "trellis_workflows" set "mode" = 'cancel', "state" = 'running',
      "finished_at" = null where "id" = ${id}::uuid and ("finished_at" is null or "mode" = 'lost') returning "name"`,
    );
    if (workflow === undefined) return false;
    await insertJobs(tx, [await createTurnJob(workflow.name, { id })]);
    return true;
  });
}

/**
 * Cancels the child workflows that a workflow waits for.
 *
 * @param tx The transaction.
 * @param id The workflow.
 */
export async function cancelChildren(tx: TransactionClient, id: string): Promise<void> {
  for (const { key, kind, state } of await readEntries(tx, id)) {
    if (kind === "child" && state === "pending") {
      await cancelWorkflow(tx, await getChildId(id, key));
    }
  }
}
