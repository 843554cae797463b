import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
  const takeover = `${file}.takeover`;
  while (!create(file)) {
    if (!isLeft(file, explain)) continue;
    // of those that find it at once, one removes it, after another look
    if (create(takeover)) {
      try {
        if (isLeft(file, explain)) rmSync(file, { force: true });
      } finally {
        rmSync(takeover, { force: true });
      }
    } else if (isLeft(takeover, explain)) {
      throw new ConfigurationError(`A process was killed while it took a lock: delete ${takeover}`);
    }
  }
  return () => rmSync(file, { force: true });
}

/** Creates a file with the id of this process. Returns false if it exists. */
function create(file: string): boolean {
  try {
    writeFileSync(file, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw error;
    return false;
  }
}

/**
 * Checks whether a lock was left by a process that has ended. Returns false if there is none any more.
 *
 * @throws {ConfigurationError} If a running process holds it.
 */
function isLeft(file: string, explain: (pid: number) => string): boolean {
  const pid = readPid(file);
  if (pid !== undefined && pid !== process.pid && isAlive(pid)) {
    throw new ConfigurationError(`${explain(pid)}. If it is not running, delete ${file}`);
  }
  return pid !== undefined;
}

/** Reads the process of a lock; `undefined` without a lock. */
function readPid(file: string): number | undefined {
  for (let attempt = 1;; attempt++) {
    try {
      const text = readFileSync(file, "utf8");
      // it is created first, and written then
      if (text !== "" || attempt === 10) return Number(text);
    } catch (error) {
      if ((error as { code?: string }).code !== "ENOENT") throw error;
      return undefined;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
  }
}

/**
 * Checks whether a running process holds a lock of {@link takeInstanceLock}.
 *
 * @param file Absolute path of the lock file.
 */
export function isLocked(file: string): boolean {
  const pid = readPid(file);
  return pid !== undefined && isAlive(pid);
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
