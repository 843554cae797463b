import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { SOURCE } from "../discovery/source_files.ts";
import { toPortablePath } from "../files/inside_folder.ts";

/** Folders without sources of functions. */
const SKIPPED = /^(?:[._].*|node_modules|dist|dist\.maps|npm|tests?|coverage)$/;
/**
 * Finds the modules beside and in the functions' folder whose text has a match.
 *
 * @returns Paths relative to the project, sorted.
 */
export function findModules(root: string, functionsDir: string, pattern: RegExp): string[] {
  return findSources(root, resolve(root, functionsDir, ".."), pattern);
}

/**
 * Finds the modules in a folder of a project whose text has a match. Tests and dependencies are
 * skipped.
 *
 * @returns Paths relative to the project, sorted.
 */
export function findSources(root: string, start: string, pattern: RegExp): string[] {
  const found: string[] = [];
  function visit(folder: string): void {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory() && !SKIPPED.test(entry.name)) visit(path);
      else if (
        entry.isFile() && SOURCE.test(entry.name) &&
        !/[._](?:test|spec|d)\.[a-z]+$/.test(entry.name) &&
        pattern.test(readFileSync(path, "utf8"))
      ) {
        found.push(toPortablePath(root, path));
      }
    }
  }
  if (existsSync(start)) visit(start);
  return found.sort();
}
