import { AsyncLocalStorage } from "node:async_hooks";

const sharedReads = new AsyncLocalStorage<Map<string, unknown>>();

/**
 * Runs work whose parts read the same sources, such as the steps of a deployment. Each source is read once, so that all
 * parts see the same: the configuration, the bundles of functions, and what readers found in them.
 */
export async function shareReads<T>(work: () => Promise<T>): Promise<T> {
  return await sharedReads.run(new Map(), work);
}

/**
 * Returns what an earlier part of the work has read. Outside of {@link shareReads} everything is read again.
 *
 * @param key Names what is read.
 */
export function readOnce<T>(key: string, read: () => T): T {
  const known = sharedReads.getStore();
  if (known === undefined) return read();
  if (!known.has(key)) known.set(key, read());
  return known.get(key) as T;
}
