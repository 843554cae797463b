import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { importFile } from "./import_file.ts";

/** Number of imported bundles: each is written to a separate file, because several can be imported at once. */
let imports = 0;

/**
 * Imports bundled code from a temporary file in the folder `.trellis` of a project, so that its
 * packages are found.
 *
 * @param name Beginning of the file's name.
 */
export async function importBundle<Module>(
  root: string,
  name: string,
  code: string,
): Promise<Module> {
  const folder = join(root, ".trellis");
  const isNewFolder = !existsSync(folder);
  const file = join(
    folder,
    `${name}-${process.pid}-${Date.now().toString(36)}-${++imports}.mjs`,
  );
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, code);
    return await importFile<Module>(file);
  } finally {
    rmSync(file, { force: true });
    if (isNewFolder && existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
  }
}
