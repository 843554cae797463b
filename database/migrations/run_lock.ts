import type { Clock } from "../../core/async/clock.ts";
import { openShared } from "../client.ts";
import { type DatabaseSettings, getConnectionKey } from "../config.ts";
import type { DedicatedSession } from "../providers/provider.ts";
import type { HistoryTables } from "./history.ts";
import { type MigrationLock, takeAdvisoryLock, takeLease, takeProcessLock } from "./lock.ts";

/** Settings of the lock of a run. */
export interface LockSettings {
  tables: HistoryTables;
  logger: (message: string) => void;
  clock: Clock;
  lockTimeoutMs: number;
  lockTtlMs: number;
}

const NO_LOCK: Omit<MigrationLock, "owner"> = {
  fence: undefined,
  check: () => Promise.resolve(),
  release: () => Promise.resolve(),
};

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
  if (config.useLock === false) return { ...NO_LOCK, owner: crypto.randomUUID() };
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
