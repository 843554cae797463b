import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { SingleFlight } from "../core/async/single_flight.ts";
import { closeDrizzleClient, getDrizzleClient } from "../database/client.ts";
import type { DatabaseConfig } from "../database/config.ts";
import { runMigrations } from "../database/migrations/run.ts";
import { setEmbeddedSnapshot } from "../database/providers/embedded_snapshot.ts";
import type { TestDatabase, TestDatabaseOptions } from "./database.ts";
import { dumpDatabase, loadEmptySnapshot, loadPglite } from "./embedded_snapshot.ts";

const snapshots: SingleFlight<string, Blob> = new SingleFlight();
const CALLER = "createTestDatabase()";
let created = 0;

/**
 * Opens a database in memory from a snapshot. Imported by `createTestDatabase()` on its first call.
 */
export async function openTestDatabase<TSchema extends Record<string, unknown>>(
  { migrationsFolder, schema }: TestDatabaseOptions<TSchema>,
): Promise<TestDatabase<TSchema>> {
  const snapshot =
    await (migrationsFolder === undefined
      ? loadEmptySnapshot(CALLER)
      : snapshots.get(migrationsFolder, () => makeMigratedSnapshot(migrationsFolder)));
  const config = {
    provider: "embedded-pg",
    connectionString: nextAddress(),
    instrument: false,
    schema,
  } as const;
  const db = await openFrom(snapshot, () => getDrizzleClient<TSchema>(config));
  return { config, db, close: () => closeDrizzleClient(config) };
}

function nextAddress(): string {
  return `memory://test-${process.pid}-${++created}`;
}

/** Serializes opening, because the snapshot is a module-wide setting. */
let opening: Promise<unknown> = Promise.resolve();

function openFrom<T>(snapshot: Blob, open: () => Promise<T>): Promise<T> {
  const opened = opening.then(async () => {
    const previous = setEmbeddedSnapshot(() => Promise.resolve(snapshot));
    try {
      return await open();
    } finally {
      setEmbeddedSnapshot(previous);
    }
  });
  opening = opened.catch(() => {});
  return opened;
}

async function makeMigratedSnapshot(migrationsFolder: string): Promise<Blob> {
  const empty = await loadEmptySnapshot(CALLER);
  const { PGlite } = await loadPglite(CALLER);
  // runMigrations() opens its own client, so the database must be a folder that can be dumped
  // afterwards
  const folder = join(tmpdir(), `trellis-migrated-${process.pid}-${++created}`);
  await (await PGlite.create(folder, { loadDataDir: empty })).close();
  try {
    const database: DatabaseConfig = {
      provider: "embedded-pg",
      connectionString: folder,
      instrument: false,
    };
    await runMigrations({ migrationsFolder, database });
    await closeDrizzleClient(database);
    const pglite = await PGlite.create(folder);
    const snapshot = await dumpDatabase(pglite);
    await pglite.close();
    return snapshot;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
