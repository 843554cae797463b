import { monotonicNow } from "../../core/async/clock.ts";
import { isAppError } from "../../errors/app_error.ts";
import { findSqlState } from "../../errors/driver_error.ts";
import { applyBatch, connectionLost, groupMigrations } from "./apply_batch.ts";
import { applyStepwise } from "./apply_stepwise.ts";
import { type MigrationContext, toMigrationError } from "./context.ts";
import { canLock, getLockLimits, planLockTimeouts, withLocks } from "./lock_wait.ts";
import type { PlannedMigration } from "./steps.ts";
import { type HistoryTables, removeApplied } from "./history.ts";
import { quoteLiteral } from "../../sql/quote.ts";

/** Migration that was applied by a run. */
export interface MigratedFile {
  /** The migration. */
  tag: string;
  /** SHA-256 of its file. */
  hash: string;
  /** Duration in milliseconds. */
  durationMs: number;
}

/**
 * Applies migrations in order. Consecutive atomic migrations are sent in one message. Other
 * migrations, and those after a failure within a message, are sent separately.
 *
 * @param todo The pending migrations.
 * @param context Shared state of the run.
 * @param canBatch True if the session supports several transactions in one message.
 * @returns The applied migrations, in order; fewer if the time of the run is over.
 * @throws {MigrationError} If a statement fails: names file and statement. Earlier migrations stay
 * applied.
 */
export async function applyPending(
  todo: readonly PlannedMigration[],
  context: MigrationContext,
  canBatch: boolean,
): Promise<MigratedFile[]> {
  const { lock, logger, clock } = context;
  const migrations: MigratedFile[] = [];
  for (const group of groupMigrations(todo, canBatch)) {
    if (context.isOver()) break;
    await lock.check();
    const [first, last] = [group[0].file.tag, group[group.length - 1].file.tag];
    if (group.length > 1) logger(`${first} to ${last}: ${group.length} migrations in one message`);
    const canSend = group.length > 1 &&
      await canLock(group.flatMap(({ steps }) => steps), context);
    const batch = canSend ? await applyBatch(group, context) : undefined;
    for (const migration of group) {
      const { tag, hash } = migration.file;
      let durationMs = batch?.get(tag);
      if (durationMs === undefined) {
        const startedAt = monotonicNow(clock);
        if (migration.atomic) await applyAtomic(migration, context);
        else if (!await applyStepwise(migration, context)) return migrations;
        durationMs = monotonicNow(clock) - startedAt;
      }
      migrations.push({ tag, hash, durationMs });
      logger(`${tag}: applied in ${durationMs} ms`);
    }
  }
  return migrations;
}

/**
 * Applies a migration and records it in one transaction: both happen or neither.
 *
 * @param planned The migration.
 * @param context Shared state of the run.
 * @throws {MigrationError} If a statement fails: names the statement. The migration is rolled back.
 */
export async function applyAtomic(
  planned: PlannedMigration,
  context: MigrationContext,
): Promise<void> {
  const { session, tables, lock } = context;
  const { file: { tag, rollsBack }, steps } = planned;
  const limits = getLockLimits(planned, context);
  const settings = planLockTimeouts(steps, limits);
  let index = 0;
  function run(): Promise<void> {
    return session.transaction(async (tx) => {
      if (lock.fence !== undefined && (await tx.query(lock.fence)).length === 0) await lock.check();
      for (index = 0; index < steps.length; index++) {
        const setting = settings[index];
        if (setting !== undefined) await tx.query(setting);
        await tx.query(steps[index].sql);
      }
      if (rollsBack) await tx.query(removeApplied(tables, rollsBack));
      await tx.query(writeAppliedNow(planned, tables));
    });
  }
  try {
    await withLocks(tag, steps, limits, context, run);
  } catch (error) {
    // without a SQLSTATE the server may have committed; the next run reads the outcome
    if (!isAppError(error) && findSqlState(error) === undefined) {
      throw connectionLost(planned.file.path, tag, error);
    }
    throw toMigrationError(planned, Math.min(index, steps.length - 1), error);
  }
}

function writeAppliedNow({ file, steps }: PlannedMigration, { migrations }: HistoryTables): string {
  return `INSERT INTO ${migrations} (tag, hash, statements, duration_ms, executed) ` +
    `VALUES (${quoteLiteral(file.tag)}, ${quoteLiteral(file.hash)}, ${steps.length}, ` +
    "(extract(epoch FROM clock_timestamp() - transaction_timestamp()) * 1000)::integer, true)";
}
