import { statSync } from "node:fs";

/** File stamps by absolute path, taken before the files were read. */
export type Inputs = Map<string, string>;

/**
 * Returns a stamp of a file or folder that changes when it is modified.
 *
 * @param path Absolute path.
 */
export function getStamp(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? "missing" : `${stats.mtimeMs} ${stats.size}`;
}

/**
 * Checks whether any file has changed. Polling works on every file system and costs a few
 * microseconds per file.
 */
export function isChanged(inputs: Inputs): boolean {
  for (const [path, stamp] of inputs) if (getStamp(path) !== stamp) return true;
  return false;
}
