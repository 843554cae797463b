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
import { ConfigurationError } from "../../errors/http_errors.ts";

/** What a folder may hold that is still empty for us: a repository that was just made. */
const IGNORED: readonly string[] = [".git"];

/**
 * What is in the way of a new project.
 *
 * @param folder Absolute path of the folder, which need not exist.
 * @returns Names, sorted.
 * @throws {ConfigurationError} When it is no folder or cannot be read.
 */
export function filesInTheWay(folder: string): string[] {
  if (!existsSync(folder)) return [];
  try {
    return readdirSync(folder).filter((name) => !IGNORED.includes(name)).sort();
  } catch (cause) {
    throw new ConfigurationError(`${folder} cannot be read: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/**
 * Writes a project into a folder that holds none of it. The files are written aside and moved in one step for signals, so
 * that the folder has all of them or none.
 *
 * @param folder Absolute path of the folder; it is made.
 * @param files Texts by path.
 * @throws {ConfigurationError} When a file cannot be written.
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
    throw new ConfigurationError(`${folder} could not be written: ${(cause as Error).message}`, {
      cause,
    });
  }
}
