import { lstatSync } from "node:fs";
import { join, resolve } from "node:path";

/** File names of the configuration, in lookup order. */
export const CONFIG_NAMES: readonly [string, ...string[]] = [
  "trellis.config.ts",
  "trellis.config.mts",
  "trellis.config.js",
  "trellis.config.mjs",
];

/**
 * Finds the configuration file of a project.
 *
 * @param file The file given with `--config`, relative to the root.
 * @returns The file's absolute path, or `undefined` if the project has none.
 */
export function findConfigFile(root: string, file?: string): string | undefined {
  if (file !== undefined) return resolve(root, file);
  // lstat: a broken link must be reported later, not treated as a missing configuration
  return CONFIG_NAMES.map((name) => join(root, name))
    .find((path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined);
}
