import { findInCauseChain } from "../../errors/cause_chain.ts";
import { getSqlState } from "../../errors/driver_error.ts";
import { type MigrationContext, toMigrationError } from "./context.ts";
import { type HistoryTables, literal } from "./history.ts";
import { MigrationError } from "./migration_error.ts";
import type { PlannedMigration } from "./steps.ts";

/**
 * Applies a migration in one transaction, with the note that it is applied: it happens whole or not at all. Where the
 * server takes it, the whole is one message.
 *
 * @param planned The migration.
 * @param context What the run shares.
 * @throws {MigrationError} Names the statement that failed; nothing of the migration is left.
 */
export async function applyAtomic(
  planned: PlannedMigration,
  context: MigrationContext,
): Promise<void> {
  const { session, tables, lock } = context;
  if (lock.fence === undefined) {
    try {
      await session.script([
        ...planned.steps.map(({ sql }) => sql),
        writeAppliedNow(planned, tables),
      ]);
      return;
    } catch (error) {
      // without a SQLSTATE the server may have committed: the next run reads what became of it
      if (findInCauseChain(error, (link) => getSqlState(link) !== undefined) === undefined) {
        throw new MigrationError(
          `The connection was lost while ${planned.file.tag}.sql ran: run the migrations again, they go on where they are`,
          { tag: planned.file.tag, cause: error },
        );
      }
    }
  }
  await applyOneByOne(planned, context);
}

/**
 * Applies a migration in one transaction, a statement at a time. Also the second try after a message that failed: it was
 * rolled back, and now the failing statement gets its name.
 *
 * @param planned The migration.
 * @param context What the run shares.
 * @throws {MigrationError} Names the statement that failed; nothing of the migration is left.
 */
export async function applyOneByOne(
  planned: PlannedMigration,
  context: MigrationContext,
): Promise<void> {
  const { session, tables, lock } = context;
  let index = 0;
  try {
    await session.transaction(async (tx) => {
      if (lock.fence !== undefined && (await tx.query(lock.fence)).length === 0) await lock.check();
      for (; index < planned.steps.length; index++) await tx.query(planned.steps[index].sql);
      await tx.query(writeAppliedNow(planned, tables));
    });
  } catch (error) {
    throw toMigrationError(planned.file.tag, Math.min(index, planned.steps.length - 1), error);
  }
}

function writeAppliedNow({ file, steps }: PlannedMigration, { migrations }: HistoryTables): string {
  return `INSERT INTO ${migrations} (tag, hash, statements, duration_ms, executed) VALUES (${
    literal(file.tag)
  }, ` +
    `${literal(file.hash)}, ${steps.length}, ` +
    "(extract(epoch FROM clock_timestamp() - transaction_timestamp()) * 1000)::integer, true)";
}
