import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import { ConfigurationError } from "../../errors/http_errors.ts";

/**
 * Keeps a second `trellis dev` off the same data: an embedded database bears one process only.
 *
 * @param file Absolute path of the lock.
 * @returns Gives it up.
 * @throws {ConfigurationError} When a process that lives holds it.
 */
export function takeInstanceLock(file: string): () => void {
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
      throw new ConfigurationError(
        `trellis dev runs for this project already, as process ${pid}. When that is not so, delete ${file}`,
      );
    }
    rmSync(file, { force: true });
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid < 1) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === "EPERM";
  }
}
