import { sql } from "../database/session/plain_sql.ts";
import { runSqlRows } from "../database/session/run_sql.ts";
import type { TransactionClient } from "../database/session/transaction.ts";
import { NotFoundError } from "../errors/http_errors.ts";
import { insertJobs, type JobClient } from "../jobs/enqueue.ts";
import { checkSize, type NewJob, toJson } from "../jobs/job_row.ts";
import { findTestClock } from "../jobs/job_settings.ts";
import { sqlNow } from "../jobs/job_sql.ts";
import { checkName } from "./journal.ts";
import { createTurnJob, insertAhead, inTransaction } from "./start_workflow.ts";

/**
 * Sends a signal to a workflow, in the transaction of the client: `waitFor` returns its payload. It only inserts rows, so
 * that it does not conflict with a workflow that runs. A signal that is not awaited yet is kept.
 *
 * @param client A transaction's client; or a client.
 * @param id The workflow.
 * @param name Name of the signal.
 * @param payload The payload; must be JSON.
 * @returns `false` if the workflow has ended, and nothing was sent.
 * @throws {NotFoundError} If there is no workflow with this id.
 * @throws {ValidationError} If JSON cannot hold the payload.
 *
 * @example
 * ```ts ignore
 * await withTransaction(db, async (tx) => {
 *   await tx.insert(payments).values(payment);
 *   await signalWorkflow(tx, payment.workflowId, "paid", { cents: payment.cents });
 * });
 * ```
 */
export async function signalWorkflow(
  client: JobClient,
  id: string,
  name: string,
  payload: unknown = null,
): Promise<boolean> {
  checkName("signal", name);
  const text = toJson(payload, true);
  checkSize(`The payload of the signal "${name}"`, text);
  return await inTransaction(client, async (tx) => {
    const [workflow] = await runSqlRows<{ name: string; finished: boolean }>(
      tx,
      sql`select "name", "finished_at" is not null as finished from "trellis_workflows"
      where "id" = ${id}::uuid`,
    );
    if (workflow === undefined) throw new NotFoundError(`There is no workflow with the id ${id}`);
    if (workflow.finished) return false;
    const wake = await createTurnJob(workflow.name, { id });
    await insertSignal(tx, id, { name, payload: text, wake });
    return true;
  });
}

/**
 * Inserts a signal, and a turn that receives it.
 *
 * @param tx The transaction.
 * @param id The workflow.
 * @param signal Name, JSON and turn.
 */
export async function insertSignal(
  tx: TransactionClient,
  id: string,
  { name, payload, wake }: { name: string; payload: string; wake: NewJob },
): Promise<void> {
  await insertAhead(
    tx,
    sql`insert into "trellis_workflow_entries" ("workflow_id", "entry", "kind", "name", "state", "result",
    "created_at") values (${id}::uuid, ${`s.${crypto.randomUUID()}`}::text, 'signal', ${name}::text,
    'pending', ${payload}::text, ${sqlNow(findTestClock())})`,
  );
  await insertJobs(tx, [wake]);
}
