import { mkdir, readdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";

/** Folder of a process: of a run of the tests, or of a server that a test has started. */
const OWNED = /^trellis-(?:tests|postgres)-(\d+)(?:-\w+)?$/;
/** Folders that every run uses again, because what they contain takes seconds to make. */
const KEPT = ["trellis-testing"];

/**
 * Creates the temporary folder of one run of the tests, which is removed after it: tests that are
 * killed leave folders behind.
 *
 * @param parent The temporary folder of the system.
 */
export async function createRunFolder(parent: string): Promise<string> {
  const folder = join(parent, `trellis-tests-${process.pid}`);
  await mkdir(folder, { recursive: true });
  for (const name of KEPT) {
    await mkdir(join(parent, name), { recursive: true });
    await symlink(join(parent, name), join(folder, name), "dir");
  }
  return folder;
}

/**
 * Removes what processes have left behind that do not run any more.
 *
 * @param parent The folder that contains their folders.
 * @returns The names of the removed folders.
 */
export async function removeAbandoned(parent: string): Promise<string[]> {
  const names = await readdir(parent).catch(() => []);
  const abandoned = names.filter((name) => {
    const pid = OWNED.exec(name)?.[1];
    return pid !== undefined && !isRunning(Number(pid));
  });
  for (const name of abandoned) await rm(join(parent, name), { recursive: true, force: true });
  return abandoned;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // it belongs to another account
    return (error as { code?: string }).code === "EPERM";
  }
}
