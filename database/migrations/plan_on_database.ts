import type { DatabaseProvider } from "../config.ts";
import type { DistSqlOptions } from "../distsql/options.ts";
import type { SqlSession } from "../providers/provider.ts";
import type { MigrationFolder } from "./folder.ts";
import { type HistoryTables, readDoneSteps } from "./history.ts";
import type { MigrationStatus } from "./plan.ts";
import type { PlanFinding } from "./plan_finding.ts";
import { collectFindings, type PendingPlan, planPending } from "./plan_pending.ts";
import {
  planRowChanges,
  planRowChangesOnEmpty,
  type RowChangeRefusal,
  UNBATCHABLE,
} from "./row_changes/plan_row_changes.ts";
import type { LocatedStep, PlannedMigration } from "./steps.ts";
import { retryIdempotent } from "../sql/retry_idempotent.ts";

/** Target of a plan. */
export interface PlanTarget {
  /** Target provider. */
  readonly provider: DatabaseProvider;
  /** Translation options for `distsql`. */
  readonly translation: DistSqlOptions;
}

/**
 * Plans a run on a database: the findings of {@link planPending}, and changes of rows that are too
 * large for the current tables.
 *
 * @param folder The folder.
 * @param status The pending migrations.
 * @param target Target of the plan.
 * @param session Session of the database; only read from.
 * @param tables Tables that record migrations.
 */
export async function planOnDatabase(
  folder: MigrationFolder,
  status: MigrationStatus,
  { provider, translation }: PlanTarget,
  session: SqlSession,
  tables: HistoryTables,
): Promise<PendingPlan> {
  const plan = planPending(folder, status, provider, translation);
  if (provider !== "distsql" || plan.planned.length === 0) return plan;
  const done = await readDoneSteps(session, tables);
  const statements = listStatements(plan.planned, done);
  const refusals = await planRowChanges(
    statements,
    (sql) => retryIdempotent(() => session.query(sql)),
  );
  return addRefusals(plan, status, statements, refusals);
}

/**
 * Plans all migrations of a folder for an empty database: the findings of {@link planPending}, and
 * changes of rows that are too large for the rows which the migrations themselves insert.
 *
 * @param folder The folder.
 * @param status All migrations, as pending.
 * @param target Target of the plan.
 */
export function planOnEmpty(
  folder: MigrationFolder,
  status: MigrationStatus,
  { provider, translation }: PlanTarget,
): PendingPlan {
  const plan = planPending(folder, status, provider, translation);
  if (provider !== "distsql") return plan;
  const statements = listStatements(plan.planned, new Map());
  return addRefusals(plan, status, statements, planRowChangesOnEmpty(statements));
}

/** Returns the statements that are not done yet. */
function listStatements(
  planned: readonly PlannedMigration[],
  done: ReadonlyMap<string, ReadonlySet<number>>,
): LocatedStep[] {
  return planned.flatMap(({ file, located = [] }) =>
    located.filter((_, at) => !done.get(file.tag)?.has(at))
  );
}

function addRefusals(
  { planned }: PendingPlan,
  { findings: inFolder }: MigrationStatus,
  statements: readonly LocatedStep[],
  refusals: readonly RowChangeRefusal[],
): PendingPlan {
  const added = refusals.map(({ index, table, summary, advice }): PlanFinding => ({
    severity: "error",
    rule: UNBATCHABLE,
    ...statements[index].place,
    ...(table === undefined ? {} : { table }),
    message: summary,
    advice,
  }));
  return collectFindings(planned.map((migration) => addFindings(migration, added)), inFolder);
}

function addFindings(migration: PlannedMigration, all: readonly PlanFinding[]): PlannedMigration {
  const added = all.filter(({ file }) => file === `${migration.file.tag}.sql`);
  if (added.length === 0) return migration;
  const findings = [...migration.findings, ...added].sort((a, b) =>
    (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0)
  );
  return { ...migration, steps: [], findings };
}
