import type { SystemWork } from "./jobs.ts";
import type { Session } from "./session.ts";
import type { ConflictMarker } from "./sql_error.ts";

/** Interval for checking a statement's blockers, in milliseconds. */
const BLOCK_CHECK_MS = 20;

/**
 * Watches a statement in autocommit. A transaction that blocks it while it waits for its client
 * loses with a conflict.
 *
 * On the provider nothing waits: the statement in autocommit commits first, and the transaction
 * fails at its COMMIT.
 *
 * @param work Runs SQL outside of the session that may be blocked.
 * @param sessions The sessions that may block it.
 * @param processId The session that may be blocked.
 * @param marker Conflict for the transactions that lose.
 * @returns A function that ends the watch.
 */
export function watchBlocked(
  work: SystemWork,
  sessions: () => Iterable<Session>,
  processId: number,
  marker: ConflictMarker,
): () => void {
  let isWatching = true;
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function breakBlockers(): Promise<void> {
    const rows = await work((query) => query(`SELECT unnest(pg_blocking_pids(${processId}))`));
    const blockers = new Set(rows.map(([blocker]) => Number(blocker)));
    for (const session of sessions()) {
      if (blockers.has(session.processId) && session.idleInTransactionMs() > 0) {
        await session.surrender(marker);
      }
    }
  }

  function schedule(): void {
    timer = setTimeout(async () => {
      await breakBlockers().catch(() => {});
      if (isWatching) schedule();
    }, BLOCK_CHECK_MS);
  }

  schedule();
  return function stopWatching(): void {
    isWatching = false;
    clearTimeout(timer);
  };
}
