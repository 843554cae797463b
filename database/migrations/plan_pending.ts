import type { DatabaseProvider } from "../config.ts";
import type { DistSqlOptions } from "../distsql/options.ts";
import type { MigrationFolder } from "./folder.ts";
import type { MigrationStatus } from "./plan.ts";
import { describeFinding, type PlanFinding } from "./plan_finding.ts";
import { type PlannedMigration, planSteps } from "./steps.ts";

/** Plan of a run. */
export interface PendingPlan {
  /** Pending migrations with their statements, in order. */
  planned: PlannedMigration[];
  /** Findings about the folder, then those about the pending files. */
  findings: PlanFinding[];
  /** Warnings among the findings, one sentence each. */
  warnings: string[];
}

/**
 * Plans a run in one pass over all pending files. Runs and writes nothing, and collects every error
 * and warning.
 *
 * @param folder The folder.
 * @param status The pending migrations.
 * @param provider Target provider.
 * @param options Translation options for `distsql`.
 * @returns The plan. It must not be run if any finding is an error.
 */
export function planPending(
  folder: MigrationFolder,
  { pending, findings: inFolder }: MigrationStatus,
  provider: DatabaseProvider,
  options: DistSqlOptions,
): PendingPlan {
  const planned = pending.length === 0
    ? []
    : planSteps(folder.files, new Set(pending), provider, options);
  return collectFindings(planned, inFolder);
}

/**
 * Combines the findings of a plan.
 *
 * @param planned The pending migrations.
 * @param inFolder Findings about the folder.
 */
export function collectFindings(
  planned: PlannedMigration[],
  inFolder: readonly PlanFinding[],
): PendingPlan {
  const findings = [...inFolder, ...planned.flatMap((migration) => migration.findings)];
  const warnings = findings.filter(({ severity }) => severity === "warning").map(describeFinding);
  return { planned, findings, warnings };
}
