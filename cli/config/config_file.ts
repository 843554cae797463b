import { lstatSync } from "node:fs";
import { join, resolve } from "node:path";

/** The names under which a project's configuration is looked for, in this order. */
export const CONFIG_NAMES: readonly [string, ...string[]] = [
  "trellis.config.ts",
  "trellis.config.mts",
  "trellis.config.js",
  "trellis.config.mjs",
];

/**
 * Finds a project's configuration.
 *
 * @param root Absolute path of the project's folder.
 * @param file A file that was named, relative to it.
 * @returns The file's absolute path, or `undefined` when the project has none.
 */
export function findConfigFile(root: string, file?: string): string | undefined {
  if (file !== undefined) return resolve(root, file);
  // a link that leads nowhere is a fault, not a project without a configuration
  return CONFIG_NAMES.map((name) => join(root, name))
    .find((path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined);
}
