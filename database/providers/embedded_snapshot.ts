// Apart from the provider, so that setting a snapshot does not load it, and with it a driver.

/** Gives the files of a database to begin with, as `PGlite.dumpDataDir` wrote them. */
export type EmbeddedSnapshot = () => Promise<Blob | undefined>;

let snapshot: EmbeddedSnapshot | undefined;

/**
 * Sets where new databases in memory begin, since making one from nothing takes seconds of CPU. For tests.
 *
 * @param load Gives the snapshot, or `undefined` to begin from nothing.
 */
export function setEmbeddedSnapshot(load: EmbeddedSnapshot | undefined): void {
  snapshot = load;
}

/** The files that a new database in memory begins with, when they were set. */
export async function loadEmbeddedSnapshot(): Promise<Blob | undefined> {
  return await snapshot?.();
}
