import type { PGlite } from "@electric-sql/pglite";
import process from "node:process";
import { SingleFlight } from "../core/async/single_flight.ts";
import { closeDrizzleClient, getDrizzleClient } from "../database/providers/client.ts";
import type { DatabaseConfig } from "../database/config/config.ts";
import { readMigrationFiles } from "../database/migrations/folder.ts";
import { runMigrations } from "../database/migrations/run.ts";
import { setEmbeddedSnapshot } from "../database/providers/embedded_snapshot.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import type { TestDatabase, TestDatabaseOptions } from "./database.ts";
import { startRecording } from "./record_queries.ts";
import { dumpDatabase, keepSnapshot, loadEmptySnapshot } from "./embedded_snapshot.ts";

/** Databases after their migrations, by the contents of the migrations. */
const snapshots: SingleFlight<string, Blob> = new SingleFlight();
const CALLER = "createTestDatabase()";
/** Addresses of open databases. */
const open: Set<string> = new Set();
let created = 0;

/**
 * Opens a database in memory from a snapshot. Imported by `createTestDatabase()` on its first call.
 */
export async function openTestDatabase<TSchema extends Record<string, unknown>>(
  { migrationsFolder, connectionString = nextAddress(), schema }: TestDatabaseOptions<TSchema>,
): Promise<TestDatabase<TSchema>> {
  const config = { provider: "embedded-pg", connectionString, instrument: false, schema } as const;
  takeAddress(connectionString);
  startRecording();
  try {
    const snapshot = migrationsFolder === undefined
      ? await loadEmptySnapshot(CALLER)
      : await loadMigrated(migrationsFolder, config);
    // opens nothing if the database was just migrated
    const db = await openFrom(snapshot, () => getDrizzleClient<TSchema>(config));
    const close = async () => {
      await closeDrizzleClient(config);
      open.delete(connectionString);
    };
    return { config, db, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    open.delete(connectionString);
    throw error;
  }
}

function takeAddress(address: string): void {
  if (!address.startsWith("memory://")) {
    throw new ConfigurationError(
      `${CALLER} got a connectionString that is not in memory: it must begin with memory://`,
    );
  }
  if (open.has(address)) {
    throw new ConfigurationError(
      `A test database is open at ${address}: close it first, or leave out connectionString for tests ` +
        "that run at once",
    );
  }
  open.add(address);
}

/** Returns the files of a database after its migrations, which are applied once on a machine. */
async function loadMigrated(migrationsFolder: string, database: DatabaseConfig): Promise<Blob> {
  const files = readMigrationFiles(migrationsFolder).flatMap(({ tag, hash }) => [tag, hash]);
  const contents = [String(runMigrations), ...files];
  return await snapshots.get(
    contents.join(),
    () => keepSnapshot(CALLER, contents, () => migrate(migrationsFolder, database)),
  );
}

/**
 * Applies migrations to the first database that needs them, and keeps its files for the others. The
 * database stays open, because opening it takes a second of CPU time.
 */
async function migrate(migrationsFolder: string, database: DatabaseConfig): Promise<Blob> {
  try {
    const empty = await loadEmptySnapshot(CALLER);
    const client = await openFrom(empty, () => getDrizzleClient(database));
    await runMigrations({ migrationsFolder, database });
    return await dumpDatabase((client as typeof client & { $client: PGlite }).$client);
  } catch (error) {
    await closeDrizzleClient(database);
    throw error;
  }
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
