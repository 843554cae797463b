import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { explainMissing } from "../core/optional_package.ts";
import { SingleFlight } from "../core/async/single_flight.ts";
import { closeDrizzleClient, getDrizzleClient } from "../database/client.ts";
import type { DatabaseConfig } from "../database/config.ts";
import { runMigrations } from "../database/migrations/run.ts";
import { setEmbeddedSnapshot } from "../database/providers/embedded_snapshot.ts";
import type { TestDatabase, TestDatabaseOptions } from "./database.ts";

const snapshots: SingleFlight<string, Blob> = new SingleFlight();
let created = 0;

/**
 * Opens a database in memory from a snapshot. Imported by `createTestDatabase()` on its first call.
 */
export async function openTestDatabase<TSchema extends Record<string, unknown>>(
  { migrationsFolder, schema }: TestDatabaseOptions<TSchema>,
): Promise<TestDatabase<TSchema>> {
  const snapshot =
    await (migrationsFolder === undefined
      ? snapshots.get("", loadEmptySnapshot)
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
    setEmbeddedSnapshot(() => Promise.resolve(snapshot));
    try {
      return await open();
    } finally {
      setEmbeddedSnapshot(undefined);
    }
  });
  opening = opened.catch(() => {});
  return opened;
}

async function makeMigratedSnapshot(migrationsFolder: string): Promise<Blob> {
  const empty = await snapshots.get("", loadEmptySnapshot);
  const { PGlite } = await loadPglite();
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
    const snapshot = await pglite.dumpDataDir("none");
    await pglite.close();
    return snapshot;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function loadPglite(): Promise<typeof import("@electric-sql/pglite")> {
  try {
    return await import("@electric-sql/pglite");
  } catch (error) {
    return explainMissing("@electric-sql/pglite", "createTestDatabase()")(error);
  }
}

async function loadEmptySnapshot(): Promise<Blob> {
  const { PGlite } = await loadPglite();
  // snapshots fit one version of PGlite only; hashing its code identifies the version in every
  // runtime
  const key = createHash("sha256").update(String(PGlite)).digest("hex").slice(0, 16);
  const folder = join(tmpdir(), "trellis-testing");
  const file = join(folder, `pglite-${key}.tar`);
  try {
    return new Blob([new Uint8Array(await readFile(file))]);
  } catch {
    // no snapshot on this machine yet
  }
  const pglite = await PGlite.create();
  const snapshot = await pglite.dumpDataDir("none");
  await pglite.close();
  await mkdir(folder, { recursive: true });
  // concurrent processes each write their own file; the last rename wins
  const own = `${file}.${process.pid}`;
  await writeFile(own, new Uint8Array(await snapshot.arrayBuffer()));
  await rename(own, file);
  return snapshot;
}
