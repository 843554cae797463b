import { chmodSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Creates a folder that only its owner can access, or restricts an existing one. */
export function openPrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  chmodSync(path, 0o700);
}

/**
 * Restricts all files in a folder to their owner. Needed because the embedded database sets the
 * modes of its files itself.
 *
 * @param path The folder; a missing folder is ignored.
 */
export function makePrivate(path: string): void {
  if (!existsSync(path)) return;
  chmodSync(path, 0o700);
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) makePrivate(join(path, entry.name));
    else if (entry.isFile()) chmodSync(join(path, entry.name), 0o600);
  }
}
