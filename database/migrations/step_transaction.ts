import type { SqlSession } from "../../sql/session.ts";
import { runWithRetry } from "../retry.ts";
import type { MigrationContext } from "./context.ts";
import { writeStep } from "./history.ts";
import { MigrationError } from "./migration_error.ts";
import type { PlannedMigration } from "./steps.ts";

/** Runs work in a transaction and retries it after a conflict; fails if another run took over. */
export function inTransaction(
  context: MigrationContext,
  fn: (tx: SqlSession) => Promise<void>,
): Promise<void> {
  const { session, lock, clock } = context;
  return runWithRetry(() =>
    session.transaction(async (tx) => {
      if (lock.fence !== undefined && (await tx.query(lock.fence)).length === 0) {
        throw new MigrationError(
          "Another run took over the migrations of this database, so this run stops",
        );
      }
      await fn(tx);
    }), { maxRetries: 8, clock });
}

/**
 * Records a range of steps as done in one transaction, because a step that completes a skipped one
 * must never run separately.
 */
export function noteDone(
  { file, steps }: PlannedMigration,
  from: number,
  to: number,
  context: MigrationContext,
): Promise<void> {
  const { tables, lock } = context;
  return inTransaction(context, async (tx) => {
    for (let step = from; step < to; step++) {
      await tx.query(
        writeStep(tables, file.tag, lock.owner, { step, hash: steps[step].hash, state: "done" }),
      );
    }
  });
}
