import { findInCauseChain } from "../../errors/cause_chain.ts";
import { getSqlState } from "../../errors/driver_error.ts";
import type { MigrationContext } from "./context.ts";
import { type HistoryTables, literal } from "./history.ts";
import { MigrationError } from "./migration_error.ts";
import { retryIdempotent } from "./retry_idempotent.ts";
import type { PlannedMigration } from "./steps.ts";

/** Files of one message; progress is told between messages. */
const MAX_FILES = 100;
const MAX_CHARACTERS = 1_000_000;

/** Settings by which the server reads a whole message before it runs the first statement. */
const READS_DIFFERENTLY = /standard_conforming_strings|backslash_quote|client_encoding/i;

/**
 * Cuts migrations into runs of neighbours that one message to the server can carry.
 *
 * @param planned Migrations in their order.
 * @param canBatch Whether the session takes several transactions in one message.
 * @returns The same migrations in the same order; most often one group.
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

/** What became of a batch. */
export interface BatchResult {
  /** Milliseconds by tag, of the migrations that are applied: all, or those before the one that failed. */
  durations: ReadonlyMap<string, number>;
  /** Whether one of them failed. Nothing of it is left, and the next ones were not begun. */
  failed: boolean;
}

/**
 * Applies migrations in one message to the server, each in a transaction of its own with the note that it is applied. Where
 * one fails, those before it stay, and it is up to the caller to run it again by itself and name the statement.
 *
 * @param batch Atomic migrations in their order.
 * @param context What the run shares.
 * @returns Which are applied.
 * @throws {MigrationError} When the connection was lost.
 */
export async function applyBatch(
  batch: readonly PlannedMigration[],
  context: MigrationContext,
): Promise<BatchResult> {
  const { session, tables, clock } = context;
  const [first, last] = [batch[0].file.tag, batch[batch.length - 1].file.tag];
  let failed = false;
  try {
    await session.script(batch.flatMap((_, index) => toTransaction(batch, index, tables)));
  } catch (error) {
    // without a SQLSTATE the server may have committed some: the next run reads which
    if (findInCauseChain(error, (link) => getSqlState(link) !== undefined) === undefined) {
      throw new MigrationError(
        `The connection was lost while ${first}.sql to ${last}.sql ran: run the migrations again, they go on where they are`,
        { tag: first, cause: error },
      );
    }
    failed = true;
    await session.script(["ROLLBACK"]); // the transaction that failed is still open
  }
  const tags = batch.map(({ file }) => literal(file.tag)).join(", ");
  const select = `SELECT tag, duration_ms FROM ${tables.migrations} WHERE tag IN (${tags})`;
  const rows = await retryIdempotent(() => session.query(select), clock);
  return {
    durations: new Map(rows.map(({ tag, duration_ms }) => [String(tag), Number(duration_ms)])),
    failed,
  };
}

function toTransaction(
  batch: readonly PlannedMigration[],
  index: number,
  tables: HistoryTables,
): string[] {
  const { file, steps } = batch[index];
  const previous = batch[index - 1]?.file.tag;
  // one message has one transaction_timestamp(), so a later transaction began when the one before it was noted
  const startedAt = previous === undefined
    ? "transaction_timestamp()"
    : `(SELECT applied_at FROM ${tables.migrations} WHERE tag = ${literal(previous)})`;
  const note =
    `INSERT INTO ${tables.migrations} (tag, hash, statements, duration_ms, executed, applied_at) ` +
    `SELECT ${literal(file.tag)}, ${literal(file.hash)}, ${steps.length}, ` +
    `(extract(epoch FROM at - ${startedAt}) * 1000)::integer, true, at FROM clock_timestamp() AS at`;
  return [
    "BEGIN",
    ...steps.map(({ sql }) => sql),
    note,
    // the last commit waits for the disk, and with it all before it
    ...(index < batch.length - 1 ? ["SET LOCAL synchronous_commit TO off"] : []),
    "COMMIT",
  ];
}
