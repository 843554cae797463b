import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

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

/** Returns the stamps of a folder and the folders in it. They change with a file that is added or removed. */
export function stampFolders(folder: string): Inputs {
  const found: Inputs = new Map([[folder, getStamp(folder)]]);
  if (!existsSync(folder)) return found;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    const path = join(entry.parentPath, entry.name);
    found.set(path, getStamp(path));
  }
  return found;
}
