import { type Clock, monotonicNow } from "../../core/async/clock.ts";
import { remainingMs } from "../../core/request_context.ts";
import type { DedicatedSession } from "../providers/provider.ts";
import type { SqlSession } from "../../sql/session.ts";
import { isOccError } from "../../sql/sqlstate.ts";
import { createTables, type HistoryTables } from "./history.ts";
import { MigrationError, MigrationLockedError } from "./migration_error.ts";
import { sha256 } from "./files.ts";
import { quoteLiteral } from "../../sql/quote.ts";
import { isConnectionLost, retryIdempotent } from "../../sql/retry_idempotent.ts";
import { openShared } from "../providers/client.ts";
import { type DatabaseSettings, getConnectionKey } from "../config/config.ts";

/** Lock that allows one run at a time to migrate a database. */
export interface MigrationLock {
  /** Owner of the lock. */
  readonly owner: string;
  /**
   * Statement that returns a row while the lock is held, for transactions that must not commit
   * without it; `undefined` if losing the lock also ends the transaction.
   */
  readonly fence: string | undefined;
  /**
   * Checks that the lock is still held.
   *
   * @throws {MigrationError} If it is not.
   */
  check(): Promise<void>;
  /** Releases the lock. */
  release(): Promise<void>;
}

/** Options for acquiring the lock. */
export interface LockOptions {
  /** Maximum time to wait for another run, in milliseconds. */
  timeoutMs: number;
  /** Lease duration in milliseconds: a run that does not renew its lease in this time loses it. */
  ttlMs: number;
  /** Called while another run holds the lock. */
  logger: (message: string) => void;
  /** Clock that waits and reads the time. */
  clock: Clock;
  /** Opens another session, to renew the lease while a statement runs. */
  openSession: () => Promise<DedicatedSession>;
}

const NO_LOCK: Omit<MigrationLock, "owner"> = {
  fence: undefined,
  check: () => Promise.resolve(),
  release: () => Promise.resolve(),
};

const POLL_MS = 250;

/**
 * Polls for the lock. A session that waits inside the server would block CREATE INDEX CONCURRENTLY
 * forever.
 */
async function waitFor(
  take: () => Promise<boolean>,
  { timeoutMs, logger, clock }: LockOptions,
): Promise<void> {
  const dueMs = monotonicNow(clock) + timeoutMs;
  for (let waited = false;; waited = true) {
    if (await take()) return;
    if (!waited) logger("waiting: another run is migrating this database");
    if (monotonicNow(clock) >= dueMs || remainingMs(clock) < 2 * POLL_MS) {
      throw new MigrationLockedError(
        "Another run is migrating this database and did not finish within " +
          `${Math.round(timeoutMs / 1000)} s: try again later, or raise ` +
          "lockTimeoutSeconds",
      );
    }
    // with jitter, so that runs that started together do not poll together
    await clock.sleep(POLL_MS * (0.5 + Math.random()));
  }
}

/** Locks within this process, for embedded databases. */
const held: Set<string> = new Set();

/** Acquires a lock within this process, for an embedded database. */
export async function takeProcessLock(key: string, options: LockOptions): Promise<MigrationLock> {
  await waitFor(
    () => Promise.resolve(!held.has(key) && held.add(key) !== undefined),
    options,
  );
  return {
    ...NO_LOCK,
    owner: newOwner(),
    release: () => Promise.resolve(void held.delete(key)),
  };
}

/**
 * Acquires an advisory lock on a dedicated server session. It ends with the session, also if the
 * process dies.
 */
export async function takeAdvisoryLock(
  session: DedicatedSession,
  tables: HistoryTables,
  options: LockOptions,
): Promise<MigrationLock> {
  const key = sha256(`trellis migrations ${tables.migrations}`).readBigInt64BE(0);
  await waitFor(async () => {
    const [row] = await session.query(`SELECT pg_try_advisory_lock(${key}) AS taken`);
    return row.taken === true;
  }, options);
  return {
    ...NO_LOCK,
    owner: newOwner(),
    async release(): Promise<void> {
      await session.query(`SELECT pg_advisory_unlock(${key})`);
    },
  };
}

/**
 * Acquires a lease, for servers where a lock cannot outlive a statement: a row with an expiry,
 * which the run renews. Each acquisition increments the fence, so that an earlier owner can no
 * longer write.
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
  const insert = `INSERT INTO ${lease} (id, owner, fence, expires_at) ` +
    `VALUES (1, '', 0, now() - interval '1 second') ` +
    "ON CONFLICT (id) DO NOTHING";
  await retryIdempotent(() => session.query(insert), options.clock);
  await waitFor(async () => {
    try {
      const [row] = await session.query(
        `UPDATE ${lease} SET owner = ${quoteLiteral(owner)}, ` +
          `fence = fence + 1, expires_at = now() + ${ttl} ` +
          // the owner is this run if its first attempt was applied without an answer
          `WHERE id = 1 AND (expires_at < now() OR owner = ${quoteLiteral(owner)}) ` +
          "RETURNING fence::text AS fence",
      );
      if (row !== undefined) fence = String(row.fence);
      return row !== undefined;
    } catch (error) {
      if (!isOccError(error) && !isConnectionLost(error)) throw error;
      return false;
    }
  }, options);
  const mine = `id = 1 AND owner = ${quoteLiteral(owner)} AND fence = ${fence}`;
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
    fence: `SELECT id FROM ${lease} WHERE ${mine} FOR UPDATE`,
    async check(): Promise<void> {
      await retryIdempotent(() => renew(session), options.clock);
      if (isLost) {
        throw new MigrationError(
          "Another run took over the migrations of this database, so this run stops",
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

/** Renews the lease in a separate session, because a long statement blocks the run's session. */
function beat(options: LockOptions, renew: (on: SqlSession) => Promise<void>): () => Promise<void> {
  let session: DedicatedSession | undefined;
  let beating: Promise<void> | undefined;
  async function beatOnce(): Promise<void> {
    try {
      session ??= await options.openSession();
      await renew(session);
    } catch {
      // the next renewal or check finds out whether the lease is lost
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

/** Settings of the lock of a run. */
export interface LockSettings {
  tables: HistoryTables;
  logger: (message: string) => void;
  clock: Clock;
  lockTimeoutMs: number;
  lockTtlMs: number;
}

/**
 * Takes the lock that suits the database: of this process, of the session, or a lease.
 *
 * @param config The database, and whether runs lock.
 * @param settings The settings of the lock.
 * @param session The session of the run.
 * @throws {MigrationError} If another run takes too long.
 */
export async function takeRunLock(
  config: { readonly database: DatabaseSettings; readonly useLock?: boolean },
  settings: LockSettings,
  session: DedicatedSession,
): Promise<MigrationLock> {
  if (config.useLock === false) return { ...NO_LOCK, owner: newOwner() };
  const options = {
    timeoutMs: settings.lockTimeoutMs,
    ttlMs: settings.lockTtlMs,
    logger: settings.logger,
    clock: settings.clock,
    openSession: async () => (await openShared(config.database, { check: false })).openSession(),
  };
  if (config.database.provider === "embedded-pg") {
    return await takeProcessLock(
      `${getConnectionKey(config.database)} ${settings.tables.migrations}`,
      options,
    );
  }
  return await (session.keepsSession ? takeAdvisoryLock : takeLease)(
    session,
    settings.tables,
    options,
  );
}
