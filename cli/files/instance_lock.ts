import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import { ConfigurationError } from "../../errors/http_errors.ts";

/**
 * Takes a lock, so that only one `trellis dev` uses the data: only one process can open an embedded
 * database.
 *
 * @param file Absolute path of the lock file.
 * @param explain Returns the message if the process with this id holds the lock.
 * @returns Releases the lock.
 * @throws {ConfigurationError} If a running process holds the lock.
 */
export function takeInstanceLock(
  file: string,
  explain: (pid: number) => string = (pid) =>
    `trellis dev is already running for this project (process ${pid})`,
): () => void {
  mkdirSync(dirname(file), { recursive: true });
  for (;;) {
    try {
      writeFileSync(file, String(process.pid), { flag: "wx" });
      return () => rmSync(file, { force: true });
    } catch (error) {
      if ((error as { code?: string }).code !== "EEXIST") throw error;
    }
    const pid = Number(readFileSync(file, "utf8"));
    if (pid !== process.pid && isAlive(pid)) {
      throw new ConfigurationError(`${explain(pid)}. If it is not running, delete ${file}`);
    }
    rmSync(file, { force: true });
  }
}

/**
 * Checks whether a running process holds a lock of {@link takeInstanceLock}.
 *
 * @param file Absolute path of the lock file.
 */
export function isLocked(file: string): boolean {
  return existsSync(file) && isAlive(Number(readFileSync(file, "utf8")));
}

/** Checks whether a process is running. */
export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid < 1) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process belongs to another user
    return (error as { code?: string }).code === "EPERM";
  }
}
