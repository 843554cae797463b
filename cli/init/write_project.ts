import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { createFileError } from "../files/file_error.ts";

/** Entries that an empty folder may contain. */
const IGNORED: readonly string[] = [".git"];

/**
 * Lists the files in the folder of a new project.
 *
 * @param folder Absolute path of the folder, which may be missing.
 * @returns The sorted names.
 * @throws {ConfigurationError} If it is not a folder or cannot be read.
 */
export function listExistingFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  try {
    return readdirSync(folder).filter((name) => !IGNORED.includes(name)).sort();
  } catch (cause) {
    throw createFileError(folder, "read", cause);
  }
}

/**
 * Writes a project to a folder. The files are written to a temporary folder and moved
 * synchronously, so that the project is complete or absent.
 *
 * @param folder Absolute path of the folder, which is created.
 * @param files Contents by path.
 * @throws {ConfigurationError} If a file cannot be written.
 */
export function writeProject(folder: string, files: ReadonlyMap<string, string>): void {
  const isNew = !existsSync(folder);
  const aside = join(folder, `.trellis-init-${process.pid}`);
  try {
    for (const [path, text] of files) {
      mkdirSync(dirname(join(aside, path)), { recursive: true });
      writeFileSync(join(aside, path), text);
    }
    for (const name of readdirSync(aside)) renameSync(join(aside, name), join(folder, name));
    rmdirSync(aside);
  } catch (cause) {
    rmSync(aside, { recursive: true, force: true });
    if (isNew && existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
    throw createFileError(folder, "written", cause);
  }
}
