import type { PGlite } from "@electric-sql/pglite";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { SingleFlight } from "../core/async/single_flight.ts";
import { loadPglite } from "../database/providers/load_pglite.ts";

const snapshot: SingleFlight<string, Blob> = new SingleFlight();

/** Files of a database, whose bytes are not copied each time that they are read. */
class SnapshotBlob extends Blob {
  readonly #bytes: Uint8Array<ArrayBuffer>;

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    super();
    this.#bytes = bytes;
  }

  override arrayBuffer(): Promise<ArrayBuffer> {
    return Promise.resolve(this.#bytes.buffer);
  }
}

/** One segment of 1 MB instead of 16 MB, and none kept for later use: less to copy for each database. */
const INITDB_OPTIONS = ["--wal-segsize=1", "--set=min_wal_size=2MB", "--set=wal_recycle=off"];

/** Makes the database quicker to open. */
const PREPARATION = [
  // only the database `postgres` can be opened, and the others are two thirds of the files
  "UPDATE pg_database SET datistemplate = false",
  "DROP DATABASE template0",
  "DROP DATABASE template1",
  // the default is 128 MB, which are initialized each time
  "ALTER SYSTEM SET shared_buffers = '4MB'",
  "CHECKPOINT",
];

/**
 * Returns the files of an empty embedded database, for PGlite's `loadDataDir`. They are created once
 * on a machine and kept in its temporary folder, because `initdb` takes seconds of CPU time.
 *
 * @param caller The function that an error names if PGlite is not installed.
 */
export function loadEmptySnapshot(caller: string): Promise<Blob> {
  return snapshot.get("", () => keepSnapshot(caller, [], () => makeEmptySnapshot(caller)));
}

async function makeEmptySnapshot(caller: string): Promise<Blob> {
  const { PGlite } = await loadPglite(caller);
  const pglite = await PGlite.create({ initDbStartParams: INITDB_OPTIONS });
  for (const statement of PREPARATION) await pglite.exec(statement);
  const snapshot = await dumpDatabase(pglite);
  await pglite.close();
  return snapshot;
}

/** Snapshots that no test has read for this long are removed. */
const UNUSED_MS = 7 * 86_400_000;

/**
 * Reads a snapshot from the temporary folder, or creates it and keeps it there.
 *
 * @param caller The function that an error names if PGlite is not installed.
 * @param contents What was done in the empty database.
 * @param make Creates a database and returns its files.
 */
export async function keepSnapshot(
  caller: string,
  contents: readonly string[],
  make: () => Promise<Blob>,
): Promise<Blob> {
  const { PGlite } = await loadPglite(caller);
  // snapshots fit one version of PGlite only; its code identifies the version in every runtime
  const facts = JSON.stringify([String(PGlite), INITDB_OPTIONS, PREPARATION, contents]);
  const key = createHash("sha256").update(facts).digest("hex").slice(0, 32);
  const folder = join(tmpdir(), "trellis-testing");
  const file = join(folder, `${key}.tar`);
  try {
    const bytes = new Uint8Array(await readFile(file));
    await utimes(file, new Date(), new Date());
    return new SnapshotBlob(bytes);
  } catch {
    // no snapshot on this machine yet
  }
  const snapshot = await make();
  await mkdir(folder, { recursive: true });
  // concurrent processes each write their own file; the last rename wins
  const own = `${file}.${process.pid}`;
  await writeFile(own, new Uint8Array(await snapshot.arrayBuffer()));
  await rename(own, file);
  await removeUnused(folder);
  return snapshot;
}

async function removeUnused(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = join(folder, name);
    // another process may have removed it
    const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Infinity }));
    if (mtimeMs < Date.now() - UNUSED_MS) await rm(file, { force: true });
  }
}

/** Returns the files of a database, for PGlite's `loadDataDir`. */
export async function dumpDatabase(pglite: PGlite): Promise<Blob> {
  const dump = await pglite.dumpDataDir("none");
  return new SnapshotBlob(new Uint8Array(await dump.arrayBuffer()));
}
