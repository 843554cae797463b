import { findSqlState } from "../../errors/driver_error.ts";
import type { MigrationContext } from "./context.ts";
import { getLockLimits, planLockTimeouts } from "./lock_wait.ts";
import { MigrationError } from "./migration_error.ts";
import type { PlannedMigration } from "./steps.ts";
import { quoteLiteral } from "../../sql/quote.ts";
import { retryIdempotent } from "../../sql/retry_idempotent.ts";

/** Maximum number of files per message. Progress is logged between messages. */
const MAX_FILES = 100;
const MAX_CHARACTERS = 1_000_000;

/**
 * Settings that change how the server parses statements. A message is parsed before its first
 * statement runs.
 */
const READS_DIFFERENTLY = /standard_conforming_strings|backslash_quote|client_encoding/i;

/**
 * Groups consecutive migrations that can be sent to the server in one message.
 *
 * @param planned Migrations in order.
 * @param canBatch True if the session supports several transactions in one message.
 * @returns The same migrations in the same order, usually in one group.
 */
export function groupMigrations(
  planned: readonly PlannedMigration[],
  canBatch: boolean,
): PlannedMigration[][] {
  const groups: PlannedMigration[][] = [];
  let size = 0;
  let isOpen = false;
  for (const migration of planned) {
    const length = migration.file.sql.length;
    const fits = canBatch && migration.atomic && !READS_DIFFERENTLY.test(migration.file.sql);
    const group = groups.at(-1);
    if (
      fits && isOpen && group !== undefined && group.length < MAX_FILES &&
      size + length <= MAX_CHARACTERS
    ) {
      group.push(migration);
      size += length;
    } else {
      groups.push([migration]);
      size = length;
      isOpen = fits;
    }
  }
  return groups;
}

/**
 * Applies migrations in one message to the server. Each migration has its own transaction, which
 * also records it. If one fails, it is rolled back, the migrations before it stay applied, and the
 * following ones are not started. The caller runs the failed one separately to find the statement.
 *
 * @param batch Atomic migrations in order.
 * @param context Shared state of the run.
 * @returns Milliseconds by tag of the applied migrations.
 * @throws {MigrationError} If the connection was lost.
 */
export async function applyBatch(
  batch: readonly PlannedMigration[],
  context: MigrationContext,
): Promise<ReadonlyMap<string, number>> {
  const { session, tables, clock } = context;
  const [first, last] = [batch[0].file.tag, batch[batch.length - 1].file.tag];
  try {
    await session.script(batch.flatMap((_, index) => toTransaction(batch, index, context)));
  } catch (error) {
    // without a SQLSTATE the server may have committed some; the next run reads which
    if (findSqlState(error) === undefined) {
      throw connectionLost(`${first}.sql to ${last}.sql`, first, error);
    }
    await session.script(["ROLLBACK"]); // the failed transaction is still open
  }
  const tags = batch.map(({ file }) => quoteLiteral(file.tag)).join(", ");
  const select = `SELECT tag, duration_ms FROM ${tables.migrations} WHERE tag IN (${tags})`;
  const rows = await retryIdempotent(() => session.query(select), clock);
  return new Map(rows.map(({ tag, duration_ms }) => [String(tag), Number(duration_ms)]));
}

/** Creates the error of a connection that ended while migrations ran. */
export function connectionLost(files: string, tag: string, cause: unknown): MigrationError {
  return new MigrationError(
    `The connection was lost while ${files} ran: run the migrations again, they continue where ` +
      "they stopped",
    { tag, cause },
  );
}

function toTransaction(
  batch: readonly PlannedMigration[],
  index: number,
  context: MigrationContext,
): string[] {
  const { file, steps } = batch[index];
  const { tables } = context;
  const settings = planLockTimeouts(steps, getLockLimits(batch[index], context));
  const previous = batch[index - 1]?.file.tag;
  // one message has one transaction_timestamp(), so each transaction starts its duration at the
  // record of the one before
  const startedAt = previous === undefined
    ? "transaction_timestamp()"
    : `(SELECT applied_at FROM ${tables.migrations} WHERE tag = ${quoteLiteral(previous)})`;
  const note =
    `INSERT INTO ${tables.migrations} (tag, hash, statements, duration_ms, executed, applied_at) ` +
    `SELECT ${quoteLiteral(file.tag)}, ${quoteLiteral(file.hash)}, ${steps.length}, ` +
    `(extract(epoch FROM at - ${startedAt}) * ` +
    `1000)::integer, true, at FROM clock_timestamp() AS at`;
  return [
    "BEGIN",
    ...steps.flatMap(({ sql }, at) => [settings[at] ?? [], sql].flat()),
    note,
    // only the last commit waits for the disk, which includes all before it
    ...(index < batch.length - 1 ? ["SET LOCAL synchronous_commit TO off"] : []),
    "COMMIT",
  ];
}
