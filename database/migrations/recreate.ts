import { planRecreation, type RecreationPlan } from "../../distsql/engine.ts";
import { executeRecreation, runOn } from "../recreation.ts";
import type { MigrationContext } from "./context.ts";

/**
 * Recreates a table for a change that the provider has no statement for. The plan is stored before
 * the first step, because the original table can no longer be read in the middle of a recreation.
 *
 * @param sql The ALTER TABLE statement.
 * @param kept Plan stored by an earlier run, as JSON.
 * @param keep Stores the plan.
 * @param context Shared state of the run.
 */
export async function recreateTable(
  sql: string,
  kept: string | undefined,
  keep: (plan: string) => Promise<void>,
  context: MigrationContext,
): Promise<void> {
  const { logger, clock, jobTimeoutMs } = context;
  const db = await context.openClient();
  let plan: RecreationPlan;
  if (kept === undefined) {
    plan = await planRecreation(runOn(db), sql);
    await keep(JSON.stringify(plan));
  } else plan = JSON.parse(kept);
  await executeRecreation(db, plan, logger, { clock, jobTimeout: jobTimeoutMs / 1000 });
}
