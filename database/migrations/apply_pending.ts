import { monotonicNow } from "../../core/async/clock.ts";
import { applyAtomic, applyOneByOne } from "./apply_atomic.ts";
import { applyBatch, groupMigrations } from "./apply_batch.ts";
import { applyStepwise } from "./apply_stepwise.ts";
import type { MigrationContext } from "./context.ts";
import type { PlannedMigration } from "./steps.ts";

/** A migration that a run applied. */
export interface MigratedFile {
  /** The migration. */
  tag: string;
  /** SHA-256 of its file. */
  hash: string;
  /** How long it took, in milliseconds. */
  durationMs: number;
}

/**
 * Applies migrations in their order. Neighbours that are atomic go in one message; what stands alone, or comes after one
 * that failed in a message, goes by itself.
 *
 * @param todo The migrations that the database lacks.
 * @param context What the run shares.
 * @param canBatch Whether the session takes several transactions in one message.
 * @returns What was applied, in order.
 * @throws {MigrationError} Names the file and the statement that failed; what was applied before stays.
 */
export async function applyPending(
  todo: readonly PlannedMigration[],
  context: MigrationContext,
  canBatch: boolean,
): Promise<MigratedFile[]> {
  const { lock, logger, clock } = context;
  const migrations: MigratedFile[] = [];
  for (const group of groupMigrations(todo, canBatch)) {
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
        await (!migration.atomic ? applyStepwise : isSuspect ? applyOneByOne : applyAtomic)(
          migration,
          context,
        );
        durationMs = monotonicNow(clock) - startedAt;
        isSuspect = false;
      }
      migrations.push({ tag, hash, durationMs });
      logger(`${tag}: applied in ${durationMs} ms`);
    }
  }
  return migrations;
}
