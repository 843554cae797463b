import { hasSqlState } from "../../errors/driver_error.ts";
import { isSilent } from "../../sql/sqlstate.ts";
import { isConnectionLost } from "../../sql/retry_idempotent.ts";

/**
 * Maximum number of rows that a statement may change in one transaction: the provider allows 3,000,
 * and the progress record takes one.
 */
export const MAX_ROWS = 2999;

/**
 * Checks whether the server rejected a statement because its transaction is too large: SQLSTATE
 * 54000, program_limit_exceeded.
 *
 * @param error The thrown error.
 */
export function isOverLimit(error: unknown): boolean {
  return hasSqlState(error, ["54000"]);
}

/** Maximum size of a batch. */
export interface BatchLimits {
  /** Number of rows. */
  readonly rows: number;
  /** Size of the rows as text, in bytes. */
  readonly bytes: number;
}

/** Resumable work on many rows, one transaction per batch. */
export interface BatchWork<Position extends { readonly isDone: boolean }> {
  /** Initial limits. They are reduced whenever the server rejects a batch as too large. */
  readonly limits: BatchLimits;
  /** Runs the batch after a position, and records the new position, which is returned. */
  run(position: Position, limits: BatchLimits): Promise<Position>;
  /** Reads the recorded position after a batch whose outcome is unknown. */
  recover(position: Position): Promise<Position>;
  /** Returns the number of rows of the batch that was rejected, if it had fewer than the limit. */
  getBatchRows?(): number;
  /** Creates the error for a single row that is too large. Without it the server's is thrown. */
  describeTooLarge?(error: unknown): Error;
  /** Called after each batch with the number of batches so far. */
  onBatch?(position: Position, batches: number): void;
}

/**
 * Thrown by a batch that found another recorded position than the one it started from. Its
 * transaction has been rolled back.
 */
export class PositionChangedError extends Error {}

/** Maximum number of lost connections in a row. */
const MAX_LOST_CONNECTIONS = 8;

/**
 * Maximum number of changed positions in a row: a COMMIT whose response was lost may still succeed,
 * but only a second process changes the position again and again.
 */
const MAX_POSITION_CHANGES = 2;

/**
 * Runs batch after batch until the work is done. A batch that is too large is retried with fewer
 * rows. After a lost connection the recorded position decides where to continue.
 *
 * @param work The work.
 * @param start The recorded position of an earlier run, or the first.
 * @returns The last position.
 * @throws {PositionChangedError} If another process does the same work.
 */
export async function runBatches<Position extends { readonly isDone: boolean }>(
  work: BatchWork<Position>,
  start: Position,
): Promise<Position> {
  let position = start;
  let { limits } = work;
  let batches = 0;
  let lost = 0;
  let changed = 0;
  while (!position.isDone) {
    try {
      position = await work.run(position, limits);
      lost = changed = 0;
      work.onBatch?.(position, ++batches);
    } catch (error) {
      if (isOverLimit(error)) {
        const rows = work.getBatchRows?.() ?? limits.rows;
        if (rows === 1) throw work.describeTooLarge?.(error) ?? error;
        limits = shrink({ ...limits, rows });
        continue;
      }
      if (error instanceof PositionChangedError) changed++;
      else if (isConnectionLost(error)) lost++;
      else throw error;
      // a batch that used the whole time limit of a statement is retried only once
      const maxLost = isSilent(error) ? 1 : MAX_LOST_CONNECTIONS;
      if (changed > MAX_POSITION_CHANGES || lost > maxLost) throw error;
      position = await work.recover(position);
    }
  }
  return position;
}

function shrink({ rows, bytes }: BatchLimits): BatchLimits {
  return { rows: Math.max(1, Math.floor(rows / 4)), bytes: Math.max(1, Math.floor(bytes / 4)) };
}
