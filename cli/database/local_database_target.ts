import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { takeInstanceLock } from "../files/instance_lock.ts";
import { findDatabase, requireDatabase, type TargetSources } from "./database_target.ts";
import type { DatabaseTarget } from "./to_database_target.ts";

/** A database, and the lock of `trellis dev` if it is the local one. */
export interface LockedDatabase {
  readonly target: DatabaseTarget;
  /** Allows `trellis dev` to start. Call it when the database is closed. */
  release(): void;
}

/**
 * Finds the database in options, environment and settings; without one, that of `trellis dev`.
 *
 * @param sources The sources.
 * @param instead What to do while `trellis dev` is running: `see its terminal, or stop it first`.
 * @throws {ConfigurationError} If there is no database, or `trellis dev` is running and uses it.
 */
export function findDatabaseOrLocal(sources: TargetSources, instead: string): LockedDatabase {
  const configured = findDatabase(sources);
  const dataDir = join(sources.root, ".trellis", "dev");
  const connectionString = join(dataDir, "pg");
  if (configured !== undefined || !existsSync(connectionString)) {
    return { target: configured ?? requireDatabase(sources), release() {} };
  }
  const release = takeInstanceLock(
    join(dataDir, "lock"),
    (pid) =>
      `The local database is open in trellis dev (process ${pid}), and only one process can open it. ` +
      `${instead}. For another database use --url-env or --endpoint`,
  );
  const config = { provider: "embedded-pg", connectionString, instrument: false } as const;
  const label = `embedded-pg ${
    relative(sources.root, connectionString)
  }, the database of trellis dev`;
  return { target: { config, label }, release };
}
