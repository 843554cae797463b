import {
  estimateRows,
  planRecreation,
  readTableSchema,
  type RecreationOptions,
  type RecreationPlan,
  type RecreationResult,
  runRecreation,
  type TableSchema,
} from "../../distsql/engine.ts";
import type { RunSql } from "../../sql/session.ts";
import { rawSql } from "../session/plain_sql.ts";
import type { DrizzleClient } from "../session/drizzle_client.ts";
import { withDistSqlRetry } from "../session/retry.ts";
import { runSqlRows } from "../session/run_sql.ts";
import type { MigrationContext } from "./context.ts";

/**
 * Reads a table from the catalog: columns, constraints, indexes, comments, owner, grants,
 * referencing foreign keys, and dependent objects. During an unfinished recreation this is the
 * original table, so that the same plan results and the recreation continues.
 *
 * @param db A client.
 * @param tableName Exact name of the table, or, if there is none of that name, its name as SQL:
 * `app.notes`, `"app"."Notes"`.
 * @returns The table.
 * @throws {RecreationError} If there is no such table, or it is a view, a partition or partitioned.
 *
 * @example
 * ```ts
 * import { closeDrizzleClient, getDrizzleClient, introspectTable } from "@trellis/fn/database";
 * import { sql } from "@trellis/fn/database/orm";
 *
 * const db = await getDrizzleClient({ provider: "embedded-pg" });
 * await db.execute(sql`CREATE TABLE notes (id int PRIMARY KEY, title text NOT NULL)`);
 * const table = await introspectTable(db, "notes");
 * console.log(table.columns.map((column) => column.name)); // ["id", "title"]
 * await closeDrizzleClient();
 * ```
 */
export function introspectTable(db: DrizzleClient, tableName: string): Promise<TableSchema> {
  return readTableSchema(runOn(db), tableName);
}

/**
 * Returns the estimated number of rows of a table: the planner's estimate, or a count if there is
 * none.
 *
 * @param db A client.
 * @param tableName As for {@link introspectTable}.
 * @returns The number of rows.
 * @throws {RecreationError} If there is no such table.
 *
 * @example
 * ```ts
 * import { closeDrizzleClient, getDrizzleClient, getEstimatedRowCount } from "@trellis/fn/database";
 * import { sql } from "@trellis/fn/database/orm";
 *
 * const db = await getDrizzleClient({ provider: "embedded-pg" });
 * await db.execute(sql`CREATE TABLE drafts AS SELECT generate_series(1, 20) AS id`);
 * console.log(await getEstimatedRowCount(db, "drafts")); // 20
 * await closeDrizzleClient();
 * ```
 */
export function getEstimatedRowCount(db: DrizzleClient, tableName: string): Promise<number> {
  return estimateRows(runOn(db), tableName);
}

/**
 * Recreates a table by its plan, with one statement per transaction. Can be called again with the
 * same plan after any failure: it continues where an earlier run stopped, and does nothing if the
 * plan is done.
 *
 * The old table keeps its name until all rows of both tables were compared. It is dropped once the
 * new table has its name, its indexes and the foreign keys that reference it. During the final
 * comparison no table has the name, and statements about it fail. Only one run may be active at a
 * time, which the lock of `runMigrations` ensures.
 *
 * @param db A client with the rights of the table's owner.
 * @param plan Plan from `generateRecreationPlan`.
 * @param logger Called with each progress message: one line, without data.
 * @param options Batch sizes and time limits.
 * @returns The result.
 * @throws {RecreationError} If rows changed during the copy (the table is unchanged: run it again
 * while nothing writes to it), the table differs from the plan's, or a step failed. The message
 * says where it stopped.
 *
 * @example
 * ```ts
 * import {
 *   applyAlterToSchema,
 *   closeDrizzleClient,
 *   executeRecreation,
 *   generateRecreationPlan,
 *   getDrizzleClient,
 *   getEstimatedRowCount,
 *   introspectTable,
 * } from "@trellis/fn/database";
 * import { sql } from "@trellis/fn/database/orm";
 *
 * const db = await getDrizzleClient({ provider: "embedded-pg" });
 * await db.execute(sql`CREATE TABLE prices (id int PRIMARY KEY, amount text)`);
 * await db.execute(sql`INSERT INTO prices VALUES (1, '12.50')`);
 * const current = await introspectTable(db, "prices");
 * const desired = applyAlterToSchema(current, "ALTER TABLE prices ALTER amount TYPE numeric(10,2) USING amount::numeric");
 * const plan = generateRecreationPlan(current, desired, await getEstimatedRowCount(db, "prices"));
 * const result = await executeRecreation(db, plan);
 * console.log(result.rows); // 1
 * await closeDrizzleClient();
 * ```
 */
export function executeRecreation(
  db: DrizzleClient,
  plan: RecreationPlan,
  logger: (message: string) => void = () => {},
  options: RecreationOptions = {},
): Promise<RecreationResult> {
  return runRecreation(runOn(db), plan, logger, options);
}

/** Runs statements on a client, each again after a conflict, since it is its own transaction. */
export function runOn(db: DrizzleClient): RunSql {
  return (text) => withDistSqlRetry(() => runSqlRows(db, rawSql(text)), { maxRetries: 8 });
}

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
  await executeRecreation(db, plan, logger, { clock, jobTimeoutSeconds: jobTimeoutMs / 1000 });
}
