import { quoteNameAt } from "../../sql/sql_name.ts";
import { parseStatement } from "../../sql/statement_reader.ts";
import type { DrizzleClient } from "../providers/provider.ts";
import { applyAlter } from "../../distsql/recreate/alter.ts";
import { executeRecreation, getEstimatedRowCount, introspectTable } from "../recreation.ts";
import { generateRecreationPlan } from "../../distsql/recreate/plan.ts";
import type { RecreationPlan } from "../../distsql/recreate/recreation_plan.ts";
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
    plan = await planRecreation(db, sql);
    await keep(JSON.stringify(plan));
  } else plan = JSON.parse(kept);
  await executeRecreation(db, plan, logger, { clock, jobTimeout: jobTimeoutMs / 1000 });
}

async function planRecreation(db: DrizzleClient, sql: string): Promise<RecreationPlan> {
  const reader = parseStatement(sql);
  const table = quoteNameAt(reader, reader.alteredTableAt());
  const current = await introspectTable(db, table);
  return generateRecreationPlan(
    current,
    applyAlter(current, sql, true),
    await getEstimatedRowCount(db, table),
  );
}
