// A separate file, so that setting a snapshot does not load the provider and its driver.

/** Function that returns the files of an initial database, as written by `PGlite.dumpDataDir`. */
export type EmbeddedSnapshot = () => Promise<Blob | undefined>;

let snapshot: EmbeddedSnapshot | undefined;

/**
 * Sets the initial content of new databases. Initializing one without a snapshot takes seconds of
 * CPU time. For tests.
 *
 * @param load Returns the snapshot; `undefined` removes it.
 * @returns The function that was set before.
 */
export function setEmbeddedSnapshot(
  load: EmbeddedSnapshot | undefined,
): EmbeddedSnapshot | undefined {
  const previous = snapshot;
  snapshot = load;
  return previous;
}

/** Returns the files for a new database, if a snapshot was set. */
export async function loadEmbeddedSnapshot(): Promise<Blob | undefined> {
  return await snapshot?.();
}
