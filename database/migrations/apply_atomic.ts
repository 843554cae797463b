import { findSqlState } from "../../errors/driver_error.ts";
import { type MigrationContext, toMigrationError } from "./context.ts";
import type { HistoryTables } from "./history.ts";
import { MigrationError } from "./migration_error.ts";
import type { PlannedMigration } from "./steps.ts";
import { quoteLiteral } from "../../sql/quote.ts";

/**
 * Applies a migration and records it in one transaction: both happen or neither. Sends one message
 * if the server supports it.
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
  if (lock.fence === undefined) {
    try {
      await session.script([
        ...planned.steps.map(({ sql }) => sql),
        writeAppliedNow(planned, tables),
      ]);
      return;
    } catch (error) {
      // without a SQLSTATE the server may have committed; the next run reads the outcome
      if (findSqlState(error) === undefined) {
        throw new MigrationError(
          `The connection was lost while ${planned.file.tag}.sql ran: run the migrations ` +
            "again, they continue where they stopped",
          { tag: planned.file.tag, cause: error },
        );
      }
    }
  }
  await applyOneByOne(planned, context);
}

/**
 * Applies a migration in one transaction, statement by statement. Also used after a failed message
 * was rolled back, to find out which statement fails.
 *
 * @param planned The migration.
 * @param context Shared state of the run.
 * @throws {MigrationError} If a statement fails: names the statement. The migration is rolled back.
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
    throw toMigrationError(planned, Math.min(index, planned.steps.length - 1), error);
  }
}

function writeAppliedNow({ file, steps }: PlannedMigration, { migrations }: HistoryTables): string {
  return `INSERT INTO ${migrations} (tag, hash, statements, duration_ms, executed) ` +
    `VALUES (${quoteLiteral(file.tag)}, ${quoteLiteral(file.hash)}, ${steps.length}, ` +
    "(extract(epoch FROM clock_timestamp() - transaction_timestamp()) * 1000)::integer, true)";
}
