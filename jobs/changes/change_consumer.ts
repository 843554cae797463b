import type { PgTable } from "drizzle-orm/pg-core";
import type { Clock } from "../../core/async/clock.ts";
import { rejectOnAbort } from "../../core/async/deadline.ts";
import { getRequestContext } from "../../core/request_context.ts";
import { getReason } from "../../core/triggers/trigger_failure.ts";
import type { DrizzleClient } from "../../database/session/drizzle_client.ts";
import { withDistSqlRetry } from "../../database/session/retry.ts";
import { runSqlRows, type SqlClient } from "../../database/session/run_sql.ts";
import { type TransactionClient, withTransaction } from "../../database/session/transaction.ts";
import { isAppError } from "../../errors/app_error.ts";
import { UnexpectedError } from "../../errors/http_errors.ts";
import type { Change } from "./change.ts";
import type { ChangeEnvelope, ChangeHead, FullChange, RawRow } from "./change_envelope.ts";
import { isOfTable } from "./change_batch.ts";
import { type ChangedTable, decodeKey, decodeRow, describeRow, listKey } from "./changed_table.ts";
import { ignoreChunk, storePiece } from "./chunks.ts";
import { parseExactJson } from "./exact_json.ts";
import { buildAdvance, getPositionId, hasPosition } from "./positions.ts";

/** What became of a record. */
export type RecordOutcome = "handled" | "skipped" | "stored";

/** Work on a change, in the transaction that remembers it. */
export type ChangeWork = (
  change: Change<PgTable>,
  tx: TransactionClient,
  signal: AbortSignal,
) => unknown;

/** What consuming changes needs. */
export interface ConsumerOptions {
  /** Name of the consumer. */
  readonly name: string;
  /** The consumed table. */
  readonly table: ChangedTable;
  /** Returns the client. */
  readonly getDb: () => DrizzleClient | Promise<DrizzleClient>;
  /** Time that positions are kept. */
  readonly keepSeconds: number;
  /** Clock for the age of changes. */
  readonly clock: Clock;
}

const NO_SIGNAL: AbortSignal = new AbortController().signal;

/**
 * Processes a record: runs the work if it completes a change that was not handled, and that is later
 * than the last handled change of its row. All in one transaction.
 *
 * @param options Consumer, table and client.
 * @param envelope The record.
 * @param work The work.
 * @throws {UnexpectedError} If the change does not fit the table; the message names table and key.
 */
export async function consumeRecord(
  options: ConsumerOptions,
  envelope: ChangeEnvelope,
  work: ChangeWork,
): Promise<RecordOutcome> {
  const signal = getRequestContext()?.signal ?? NO_SIGNAL;
  const db = await options.getDb();
  return await withDistSqlRetry(() =>
    withTransaction(
      db,
      (tx) =>
        Promise.race([
          consumeInTransaction(options, tx, envelope, (change) => work(change, tx, signal)),
          rejectOnAbort(signal),
        ]),
    )
  );
}

async function consumeInTransaction(
  options: ConsumerOptions,
  tx: TransactionClient,
  envelope: ChangeEnvelope,
  work: (change: Change<PgTable>) => unknown,
): Promise<RecordOutcome> {
  if (envelope.type === "full") return await applyChange(options, tx, envelope, work);
  if (envelope.type === "chunked" && !isOfTable(envelope, options.table)) {
    await ignoreChunk(tx, options.name, envelope.chunkId);
    return "stored";
  }
  const complete = await storePiece(tx, options.name, envelope);
  if (complete === undefined) return "stored";
  const { main, text } = complete;
  const after = parseExactJson(text) as RawRow;
  const change: FullChange = { ...main, type: "full", before: null, after };
  return await applyChange(options, tx, change, work);
}

async function applyChange(
  options: ConsumerOptions,
  db: SqlClient,
  change: FullChange,
  work: (change: Change<PgTable>) => unknown,
): Promise<RecordOutcome> {
  const { table, name } = options;
  const row = (change.after ?? change.before)!;
  const decoded = decodeChange(table, change);
  const id = await getPositionId(name, table, listKey(table, row));
  await refuseUnknownOld(options, db, { id, change, row });
  const position = { id, consumer: name, commitNs: change.commitNs };
  if ((await runSqlRows(db, buildAdvance(position))).length === 0) return "skipped";
  await work(decoded);
  return "handled";
}

/**
 * Throws for a change that is so old that the position of its row may have been removed: whether it
 * was handled cannot be known.
 */
async function refuseUnknownOld(
  { clock, keepSeconds, table }: ConsumerOptions,
  db: SqlClient,
  { id, change, row }: { id: string; change: ChangeHead; row: RawRow },
): Promise<void> {
  const ageMs = clock.now() - toMilliseconds(change.commitNs);
  if (ageMs < keepSeconds * 1000 || await hasPosition(db, id)) return;
  throw new UnexpectedError(
    `A change of ${describeRow(table, row)} is older than the ${keepSeconds} seconds that ` +
      "positions are kept, so that it may have been handled: raise keepSeconds above the retention " +
      "of the stream, and read the row to bring its consumer up to date",
  );
}

function decodeChange(table: ChangedTable, change: FullChange): Change<PgTable> {
  const row = (change.after ?? change.before)!;
  try {
    const key = decodeKey(table, row) as Change<PgTable>["key"];
    const facts = {
      key,
      committedAt: new Date(toMilliseconds(change.commitNs)),
      position: change.commitNs,
      transactionId: change.transactionId,
    };
    const { operation } = change;
    if (operation === "delete") return { ...facts, operation, before: key, after: null };
    return { ...facts, operation, before: null, after: decodeRow(table, change.after!) };
  } catch (error) {
    if (!isAppError(error, "VALIDATION_FAILED")) throw error;
    throw new UnexpectedError(
      `A change of ${describeRow(table, row)} does not fit the table: ${getReason(error)}`,
      { cause: error },
    );
  }
}

function toMilliseconds(nanoseconds: bigint): number {
  return Number(nanoseconds / 1_000_000n);
}
