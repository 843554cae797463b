import { type Clock, monotonicNow } from "../../core/async/clock.ts";
import { remainingMs } from "../../core/request_context.ts";
import type { DedicatedSession, SqlSession } from "../providers/provider.ts";
import { isOccError } from "../sqlstate.ts";
import { isConnectionLost, retryIdempotent } from "./retry_idempotent.ts";
import { createTables, type HistoryTables, literal } from "./history.ts";
import { MigrationError } from "./migration_error.ts";
import { sha256 } from "./sha256.ts";

/** The right to migrate a database, which one runner has at a time. */
export interface MigrationLock {
  /** Who has it. */
  readonly owner: string;
  /** Whether another runner had it when this one came. */
  readonly waited: boolean;
  /**
   * A statement that gives a row while the lock is held, for a transaction that must not commit without it;
   * `undefined` where losing the lock ends the transaction anyway.
   */
  readonly fence: string | undefined;
  /**
   * Makes sure that the lock is still held.
   *
   * @throws {MigrationError} When it is not.
   */
  check(): Promise<void>;
  /** Gives the lock up. */
  release(): Promise<void>;
}

/** How to wait for the lock. */
export interface LockOptions {
  /** Milliseconds to wait for another runner. */
  timeoutMs: number;
  /** Milliseconds after which a runner that shows no sign of life loses a lease. */
  ttlMs: number;
  /** Told that another runner is waited for. */
  logger: (message: string) => void;
  /** Waits. */
  clock: Clock;
  /** Opens another session, for the sign of life while a statement runs. */
  openSession: () => Promise<DedicatedSession>;
}

const POLL_MS = 250;

/** Asks again and again: a session that waits inside the server would hold up CREATE INDEX CONCURRENTLY for ever. */
async function waitFor(
  take: () => Promise<boolean>,
  { timeoutMs, logger, clock }: LockOptions,
): Promise<boolean> {
  const dueMs = monotonicNow(clock) + timeoutMs;
  for (let waited = false;; waited = true) {
    if (await take()) return waited;
    if (!waited) logger("waiting: another run migrates this database");
    if (monotonicNow(clock) >= dueMs || remainingMs(clock) < 2 * POLL_MS) {
      throw new MigrationError(
        `Another run migrates this database, and ${
          Math.round(timeoutMs / 1000)
        } s were not enough to wait for it: ` +
          "try again when it is done, or raise lockTimeout",
      );
    }
    // apart from each other, so that runners that came together do not ask together
    await clock.sleep(POLL_MS * (0.5 + Math.random()));
  }
}

/** Locks in this process, for databases that live in it. */
const held: Set<string> = new Set();

/** For a database in this process. */
export async function takeProcessLock(key: string, options: LockOptions): Promise<MigrationLock> {
  const waited = await waitFor(
    () => Promise.resolve(!held.has(key) && held.add(key) !== undefined),
    options,
  );
  return {
    owner: newOwner(),
    waited,
    fence: undefined,
    check: () => Promise.resolve(),
    release: () => Promise.resolve(void held.delete(key)),
  };
}

/** For a server session that is ours alone: it ends with the session, also when the process dies. */
export async function takeAdvisoryLock(
  session: DedicatedSession,
  tables: HistoryTables,
  options: LockOptions,
): Promise<MigrationLock> {
  const key = sha256(`trellis migrations ${tables.migrations}`).readBigInt64BE(0);
  const waited = await waitFor(async () => {
    const [row] = await session.query(`SELECT pg_try_advisory_lock(${key}) AS taken`);
    return row.taken === true;
  }, options);
  return {
    owner: newOwner(),
    waited,
    fence: undefined,
    check: () => Promise.resolve(),
    async release(): Promise<void> {
      await session.query(`SELECT pg_advisory_unlock(${key})`);
    },
  };
}

/**
 * Where a lock cannot outlive a statement: a row with an end, put off while the runner lives. Each taking raises the
 * fence, so that a runner which was thought dead cannot write any more.
 */
export async function takeLease(
  session: DedicatedSession,
  tables: HistoryTables,
  options: LockOptions,
): Promise<MigrationLock> {
  const { lease } = tables;
  const owner = newOwner();
  const ttl = `interval '${options.ttlMs} milliseconds'`;
  let fence = "0";
  await createTables(session, tables);
  const insert =
    `INSERT INTO ${lease} (id, owner, fence, expires_at) VALUES (1, '', 0, now() - interval '1 second') ` +
    "ON CONFLICT (id) DO NOTHING";
  await retryIdempotent(() => session.query(insert), options.clock);
  const waited = await waitFor(async () => {
    try {
      const [row] = await session.query(
        `UPDATE ${lease} SET owner = ${
          literal(owner)
        }, fence = fence + 1, expires_at = now() + ${ttl} ` +
          // the owner is this very run when its first try had no answer
          `WHERE id = 1 AND (expires_at < now() OR owner = ${
            literal(owner)
          }) RETURNING fence::text AS fence`,
      );
      if (row !== undefined) fence = String(row.fence);
      return row !== undefined;
    } catch (error) {
      if (!isOccError(error) && !isConnectionLost(error)) throw error;
      return false;
    }
  }, options);
  const mine = `id = 1 AND owner = ${literal(owner)} AND fence = ${fence}`;
  let isLost = false;

  async function renew(on: SqlSession): Promise<void> {
    const rows = await on.query(
      `UPDATE ${lease} SET expires_at = now() + ${ttl} WHERE ${mine} RETURNING id`,
    );
    if (rows.length === 0) isLost = true;
  }
  const stop = beat(options, renew);
  return {
    owner,
    waited,
    fence: `SELECT id FROM ${lease} WHERE ${mine} FOR UPDATE`,
    async check(): Promise<void> {
      await retryIdempotent(() => renew(session), options.clock);
      if (isLost) {
        throw new MigrationError(
          "Another run took over this database's migrations: this one stops",
        );
      }
    },
    async release(): Promise<void> {
      await stop();
      if (isLost) return;
      const end =
        `UPDATE ${lease} SET owner = '', expires_at = now() - interval '1 second' WHERE ${mine}`;
      await retryIdempotent(() => session.query(end), options.clock);
    },
  };
}

/** Signs of life on a session of their own, since a long statement keeps the runner's session busy. */
function beat(options: LockOptions, renew: (on: SqlSession) => Promise<void>): () => Promise<void> {
  let session: DedicatedSession | undefined;
  let beating: Promise<void> | undefined;
  async function beatOnce(): Promise<void> {
    try {
      session ??= await options.openSession();
      await renew(session);
    } catch {
      // the next beat or the next check tells whether the lease is lost
    }
  }
  const timer = setInterval(() => {
    beating ??= beatOnce().finally(() => beating = undefined);
  }, options.ttlMs / 3);
  return async function stop(): Promise<void> {
    clearInterval(timer);
    await beating;
    await session?.close();
  };
}

function newOwner(): string {
  return crypto.randomUUID();
}
