import { monotonicNow } from "../../core/async/clock.ts";
import { type MigrationContext, summarizeStatement, toMigrationError } from "./context.ts";
import { clearSteps, readSteps, removeApplied, type StepRow, writeApplied } from "./history.ts";
import { getLockLimits } from "./lock_wait.ts";
import { inTransaction, noteDone, type StepOutcome, StepRun } from "./step_run.ts";
import { MigrationError } from "./migration_error.ts";
import { resolveStep } from "./resolve_step.ts";
import { assertNoSearchPath, getSettings, withSettings } from "./session_settings.ts";
import type { MigrationStep, PlannedMigration } from "./steps.ts";
import { retryIdempotent } from "../../sql/retry_idempotent.ts";

/**
 * Applies a migration statement by statement, and records each before and after it runs, so that a
 * later run continues where this one stopped. Statements that can share a transaction with their
 * record do. For the others, the catalog shows whether they ran.
 *
 * @param planned The migration.
 * @param given Shared state of the run.
 * @returns False if the time of the run was over before the end.
 * @throws {MigrationError} If a statement fails: names the statement. Statements before it stay
 * applied and are not run again.
 */
export async function applyStepwise(
  planned: PlannedMigration,
  given: MigrationContext,
): Promise<boolean> {
  const { file, steps } = planned;
  const settings: string[] = [];
  const context = {
    ...given,
    session: withSettings(given.session, settings),
    lockLimits: getLockLimits(planned, given),
  };
  const startedAt = monotonicNow(context.clock);
  const noted = await retryIdempotent(
    () => readSteps(context.session, context.tables, file.tag),
    context.clock,
  );
  const rows = new Map(noted.map((row) => [row.step, row]));
  assertSameSteps(planned, rows);
  const from = [...rows.values()].filter(({ state }) => state === "done").length;
  if (rows.size > 0) {
    context.logger(`${file.tag}: continues at statement ${from + 1} of ${steps.length}`);
  }
  for (let index = 0, next: number; index < steps.length; index = next) {
    next = index + 1;
    if (index > 0) settings.push(...getSettings(steps[index - 1]));
    if (rows.get(index)?.state === "done") continue;
    if (context.isOver()) return false;
    await context.lock.check();
    context.logger(
      `${file.tag}: statement ${index + 1} of ${steps.length}: ${summarizeStatement(steps[index])}`,
    );
    try {
      next = await runStep(planned, index, rows.get(index), context, settings);
    } catch (error) {
      throw toMigrationError(planned, index, error);
    }
    if (next === index) return false;
  }
  await context.lock.check();
  const durationMs = monotonicNow(context.clock) - startedAt;
  await retryIdempotent(() =>
    inTransaction(context, async (tx) => {
      const known = await tx.query(`SELECT tag FROM ${context.tables.migrations} WHERE tag = $1`, [
        file.tag,
      ]);
      if (known.length > 0) return;
      if (file.rollsBack) await tx.query(removeApplied(context.tables, file.rollsBack));
      await tx.query(
        writeApplied(context.tables, {
          ...file,
          statements: steps.length,
          durationMs,
          executed: true,
        }),
      );
      await tx.query(clearSteps(context.tables, file.tag));
    }), context.clock);
  return true;
}

/**
 * Runs what is left of a step. Returns the index of the next step, after those that complete a
 * skipped step; that of the step itself if the time of the run was over.
 */
async function runStep(
  planned: PlannedMigration,
  index: number,
  row: StepRow | undefined,
  context: MigrationContext,
  settings: readonly string[],
): Promise<number> {
  const resolved = await resolveStep(planned.steps[index], row, context);
  if (typeof resolved === "object" && resolved.run === "recreate") assertNoSearchPath(settings);
  const outcome = typeof resolved === "string" ? resolved : await runResolved(resolved);
  if (outcome === "done") return index + 1;
  if (outcome === "paused") return index;
  context.logger(`${planned.file.tag}: statement ${index + 1} has nothing to do`);
  let end = index + 1;
  while (outcome === "skipped" && planned.steps[end]?.follows === true) end++;
  await noteDone(planned, index, end, context);
  return end;

  async function runResolved(step: MigrationStep): Promise<StepOutcome> {
    const run = new StepRun(planned.file.tag, index, step, context);
    try {
      return await run.run(row);
    } catch (error) {
      throw toMigrationError(planned, index, error, run.line);
    }
  }
}

/**
 * Checks that the recorded steps belong to this plan. Steps of another plan must not count as done.
 */
function assertSameSteps(
  { file, steps }: PlannedMigration,
  rows: ReadonlyMap<number, StepRow>,
): void {
  for (const { step, hash } of rows.values()) {
    if (steps[step]?.hash === hash) continue;
    throw new MigrationError(
      `${file.path} stopped at statement ${rows.size} in an earlier run, and its ` +
        `statement ${step + 1} has changed since: restore the original file ` +
        "(or version of this package), or finish the migration by hand and mark it as applied",
      { tag: file.tag, statement: step + 1 },
    );
  }
}
