// A separate file, so that setting a snapshot does not load the provider and its driver.

/** Function that returns the files of an initial database, as written by `PGlite.dumpDataDir`. */
export type EmbeddedSnapshot = () => Promise<Blob | undefined>;

let snapshot: EmbeddedSnapshot | undefined;

/**
 * Sets the initial content of new databases in memory. Initializing one without a snapshot takes
 * seconds of CPU time. For tests.
 *
 * @param load Returns the snapshot; `undefined` removes it.
 */
export function setEmbeddedSnapshot(load: EmbeddedSnapshot | undefined): void {
  snapshot = load;
}

/** Returns the files for a new database in memory, if a snapshot was set. */
export async function loadEmbeddedSnapshot(): Promise<Blob | undefined> {
  return await snapshot?.();
}
