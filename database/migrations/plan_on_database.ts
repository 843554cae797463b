import {
  type DistSqlOptions,
  planRowChanges,
  type RowChangeRefusal,
  UNBATCHABLE,
} from "../../distsql/engine.ts";
import type { DatabaseProvider } from "../config/config.ts";
import type { SqlSession } from "../../sql/session.ts";
import type { MigrationFolder } from "./folder.ts";
import { type HistoryTables, readDoneSteps } from "./history.ts";
import { assertNoneBegun, type MigrationStatus } from "./plan.ts";
import { describeFinding, type PlanFinding } from "../../sql/plan_finding.ts";
import { type LocatedStep, type PlannedMigration, planSteps } from "./steps.ts";
import { retryIdempotent } from "../../sql/retry_idempotent.ts";
import { readRelations } from "./online.ts";
import { findTrafficRisks, readChangedTable } from "./traffic_rules.ts";

/** Plan of a run. */
export interface PendingPlan {
  /** Pending migrations with their statements, in order. */
  planned: PlannedMigration[];
  /** Findings about the folder, then those about the pending files. */
  findings: PlanFinding[];
  /** Warnings among the findings, one sentence each. */
  warnings: string[];
}

/** Target of a plan. */
export interface PlanTarget {
  /** Target provider. */
  readonly provider: DatabaseProvider;
  /** Translation options for `distsql`. */
  readonly translation: DistSqlOptions;
}

/**
 * Plans a run on a database in one pass over all pending files. Runs and writes nothing, and
 * collects every error and warning, also about changes of rows that are too large for the current
 * tables.
 *
 * @param folder The folder.
 * @param status The pending migrations.
 * @param target Target of the plan.
 * @param session Session of the database; only read from.
 * @param tables Tables that record migrations.
 * @returns The plan. It must not be run if any finding is an error.
 */
export async function planOnDatabase(
  folder: MigrationFolder,
  status: MigrationStatus,
  target: PlanTarget,
  session: SqlSession,
  tables: HistoryTables,
): Promise<PendingPlan> {
  const planned = planPending(folder, status, target);
  if (planned.length === 0) return collectFindings(status, planned);
  if (target.provider !== "distsql") {
    return collectFindings(status, await addTrafficRisks(planned, session));
  }
  const done = await readDoneSteps(session, tables);
  assertNoneBegun(done.keys(), status.pending);
  const statements = listStatements(planned, done);
  const refusals = await planRowChanges(
    statements,
    (sql) => retryIdempotent(() => session.query(sql)),
  );
  return collectFindings(status, addRefusals(planned, statements, refusals));
}

/**
 * Plans all migrations of a folder for an empty database, also with changes of rows that are too
 * large for the rows which the migrations themselves insert.
 *
 * @param folder The folder.
 * @param status All migrations, as pending.
 * @param target Target of the plan.
 */
export async function planOnEmpty(
  folder: MigrationFolder,
  status: MigrationStatus,
  target: PlanTarget,
): Promise<PendingPlan> {
  const planned = planPending(folder, status, target);
  if (target.provider !== "distsql") return collectFindings(status, planned);
  const statements = listStatements(planned, new Map());
  const refusals = await planRowChanges(statements);
  return collectFindings(status, addRefusals(planned, statements, refusals));
}

function planPending(
  { files }: MigrationFolder,
  { pending }: MigrationStatus,
  { provider, translation }: PlanTarget,
): PlannedMigration[] {
  return pending.length === 0 ? [] : planSteps(files, new Set(pending), provider, translation);
}

/** Adds the warnings about statements that stop the traffic on the tables as they are now. */
async function addTrafficRisks(
  planned: readonly PlannedMigration[],
  session: SqlSession,
): Promise<PlannedMigration[]> {
  const relations = await readRelations(planned.flatMap(getRelations), session);
  if (relations.size === 0) return [...planned];
  return planned.map((migration) => {
    if (!getRelations(migration).some((relation) => relations.has(relation))) return migration;
    const risks = findTrafficRisks(migration.file).flatMap(({ finding, relation, needsRows }) => {
      const present = relations.get(relation);
      if (present === undefined || (needsRows && !present.isLarge)) return [];
      const about = present.rows === undefined ? "" : ` (about ${present.rows} rows)`;
      return [{ ...finding, message: `${finding.message}${about}` }];
    });
    return { ...migration, findings: [...migration.findings, ...risks] };
  });
}

/** Returns the relations that the statements of a migration change or lock, as written. */
function getRelations({ steps }: PlannedMigration): string[] {
  return steps.flatMap(({ sql, block = [{ sql }], locks = [] }) => [
    ...locks.map(({ relation }) => relation),
    ...block.flatMap((each) => readChangedTable(each.sql) ?? []),
  ]);
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

/** Adds the refused changes of rows to the findings of their migrations, which then have no steps. */
function addRefusals(
  planned: readonly PlannedMigration[],
  statements: readonly LocatedStep[],
  refusals: readonly RowChangeRefusal[],
): PlannedMigration[] {
  const all = refusals.map(({ index, table, summary, advice }): PlanFinding => ({
    severity: "error",
    rule: UNBATCHABLE,
    ...statements[index].place,
    ...(table === undefined ? {} : { table }),
    message: summary,
    advice,
  }));
  return planned.map((migration) => {
    const added = all.filter(({ file }) => file === migration.file.path);
    if (added.length === 0) return migration;
    const findings = [...migration.findings, ...added].sort((a, b) =>
      (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0)
    );
    return { ...migration, steps: [], findings };
  });
}

function collectFindings(
  { findings: inFolder }: MigrationStatus,
  planned: PlannedMigration[],
): PendingPlan {
  const findings = [...inFolder, ...planned.flatMap((migration) => migration.findings)];
  const warnings = findings.filter(({ severity }) => severity === "warning").map(describeFinding);
  return { planned, findings, warnings };
}
