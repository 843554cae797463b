import type { DatabaseProvider } from "../config.ts";
import type { DistSqlOptions } from "../distsql/options.ts";
import type { MigrationFolder } from "./folder.ts";
import type { MigrationStatus } from "./plan.ts";
import { describeFinding, type PlanFinding } from "./plan_finding.ts";
import { type PlannedMigration, planSteps } from "./steps.ts";

/** Everything that is known of a run before it begins. */
export interface PendingPlan {
  /** The pending migrations with their statements, in order. */
  planned: PlannedMigration[];
  /** What was found in the folder and in the pending files, in that order. */
  findings: PlanFinding[];
  /** The warnings among the findings, one sentence each. */
  warnings: string[];
}

/**
 * Plans a run in one pass over all pending files. Runs and writes nothing, and collects every refusal and warning.
 *
 * @param folder The folder.
 * @param status What is pending.
 * @param provider Where the migrations run.
 * @param options Choices of the translation for `distsql`.
 * @returns The plan. Nothing of it may be run when a finding is an error.
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
 * Puts the findings of a plan together.
 *
 * @param planned The pending migrations.
 * @param inFolder What was found in the folder.
 */
export function collectFindings(
  planned: PlannedMigration[],
  inFolder: readonly PlanFinding[],
): PendingPlan {
  const findings = [...inFolder, ...planned.flatMap((migration) => migration.findings)];
  const warnings = findings.filter(({ severity }) => severity === "warning").map(describeFinding);
  return { planned, findings, warnings };
}
