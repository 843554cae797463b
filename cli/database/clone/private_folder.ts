import { chmodSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";

/**
 * Makes a folder that its owner alone can enter, or closes one that exists.
 *
 * @param path The folder.
 */
export function openPrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  chmodSync(path, 0o700);
}

/**
 * Takes everything in a folder away from all but its owner: the embedded database sets the modes of
 * its files itself.
 *
 * @param path The folder; nothing happens when it does not exist.
 */
export function makePrivate(path: string): void {
  if (!existsSync(path)) return;
  chmodSync(path, 0o700);
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) makePrivate(join(path, entry.name));
    else if (entry.isFile()) chmodSync(join(path, entry.name), 0o600);
  }
}
