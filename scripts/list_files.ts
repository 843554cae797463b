import { readdirSync } from "node:fs";
import { join, relative } from "node:path";

/** Lists the files of a folder and its subfolders, relative to it and sorted. */
export function listFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}
