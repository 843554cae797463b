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
import type { DrizzleClient } from "../database/providers/provider.ts";

/** Options of {@link createTestDatabase}. */
export interface TestDatabaseOptions<TSchema extends Record<string, unknown>> {
  /** Migrations that the database begins with: run once for a process, then kept as a snapshot. */
  migrationsFolder?: string;
  /** The tables and relations that `db.query` knows. */
  schema?: TSchema;
}

/** A database of a test's own. */
export interface TestDatabase<TSchema extends Record<string, unknown>> {
  /** What `getDrizzleClient` and `createQueryFactory` reach it with. */
  readonly config: DatabaseConfig & { schema?: TSchema };
  /** A client. */
  readonly db: DrizzleClient<TSchema>;
  /** Closes it; what it held is gone. */
  close(): Promise<void>;
}

const snapshots: SingleFlight<string, Blob> = new SingleFlight();
let made = 0;

/**
 * A fresh embedded PostgreSQL in memory. Making one from nothing takes seconds of CPU; this begins from a snapshot that
 * is made once for a machine and kept in its temporary folder.
 *
 * @param options Migrations and schema.
 * @returns The database; close it at the end of the test, since an open one keeps the process alive.
 *
 * @example
 * ```ts
 * import { createTestDatabase } from "@trellis/fn/testing";
 * import { sql } from "@trellis/fn/database/orm";
 *
 * const database = await createTestDatabase();
 * await database.db.execute(sql`create table notes (id int)`);
 * await database.close();
 * ```
 */
export async function createTestDatabase<
  TSchema extends Record<string, unknown> = Record<string, unknown>,
>(
  options: TestDatabaseOptions<TSchema> = {},
): Promise<TestDatabase<TSchema>> {
  const { migrationsFolder, schema } = options;
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
  return `memory://test-${process.pid}-${++made}`;
}

/** Databases open one after the other while the snapshot is set. */
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
  // migrations run through the package's own client, on files that can be dumped afterwards
  const folder = join(tmpdir(), `trellis-migrated-${process.pid}-${++made}`);
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
  // the files belong to one version of PGlite; its code tells which, also where no address does
  const key = createHash("sha256").update(String(PGlite)).digest("hex").slice(0, 16);
  const folder = join(tmpdir(), "trellis-testing");
  const file = join(folder, `pglite-${key}.tar`);
  try {
    return new Blob([new Uint8Array(await readFile(file))]);
  } catch {
    // not made yet on this machine
  }
  const pglite = await PGlite.create();
  const snapshot = await pglite.dumpDataDir("none");
  await pglite.close();
  await mkdir(folder, { recursive: true });
  // several processes may do this at once: each writes its own file, and the last whole one stays
  const own = `${file}.${process.pid}`;
  await writeFile(own, new Uint8Array(await snapshot.arrayBuffer()));
  await rename(own, file);
  return snapshot;
}
