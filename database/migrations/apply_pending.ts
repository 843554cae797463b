import { monotonicNow } from "../../core/async/clock.ts";
import { applyAtomic, applyOneByOne } from "./apply_atomic.ts";
import { applyBatch, groupMigrations } from "./apply_batch.ts";
import { applyStepwise } from "./apply_stepwise.ts";
import type { MigrationContext } from "./context.ts";
import type { PlannedMigration } from "./steps.ts";

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
    const batch = group.length > 1 ? await applyBatch(group, context) : undefined;
    let isSuspect = batch?.failed === true;
    for (const migration of group) {
      const { tag, hash } = migration.file;
      let durationMs = batch?.durations.get(tag);
      if (durationMs === undefined) {
        const startedAt = monotonicNow(clock);
        const applyWhole = isSuspect ? applyOneByOne : applyAtomic;
        if (migration.atomic) await applyWhole(migration, context);
        else if (!await applyStepwise(migration, context)) return migrations;
        durationMs = monotonicNow(clock) - startedAt;
        isSuspect = false;
      }
      migrations.push({ tag, hash, durationMs });
      logger(`${tag}: applied in ${durationMs} ms`);
    }
  }
  return migrations;
}
