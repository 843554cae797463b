import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

let count = 0;

/**
 * Runs work with a new folder in `.trellis` of a project, where code finds the project's packages. The folder is removed
 * in the end, and so is `.trellis` if nothing else is in it.
 *
 * @param name Beginning of the folder's name.
 */
export async function withTemporaryFolder<T>(
  root: string,
  name: string,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const parent = join(root, ".trellis");
  const isNewParent = !existsSync(parent);
  const folder = join(parent, `${name}-${process.pid}-${Date.now().toString(36)}-${++count}`);
  try {
    mkdirSync(folder, { recursive: true });
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    if (isNewParent && existsSync(parent) && readdirSync(parent).length === 0) rmdirSync(parent);
  }
}
