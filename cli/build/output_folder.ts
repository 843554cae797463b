import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { MARKER } from "./bundle.ts";

/** The change of a function's bundle. */
export type BundleChange = "created" | "updated" | "unchanged";

/** Writes bundles: first to a temporary folder, then all at once to the output folder. */
export interface OutputFolder {
  /**
   * Lists functions whose `index.mjs` was not generated.
   *
   * @param names All functions.
   */
  unmanagedFiles(names: readonly string[]): string[];
  /**
   * Writes a bundle to the temporary folder.
   *
   * @param name The function.
   * @param code The content of `index.mjs`.
   * @param map The content of `index.mjs.map`, if there is one.
   * @returns The change that {@link OutputFolder.commit} will make.
   */
  stage(name: string, code: string, map?: string): BundleChange;
  /**
   * Moves the bundles to the output folder and removes bundles of deleted functions. Synchronous,
   * so that signals cannot interrupt it.
   *
   * @param names All functions.
   * @returns The removed folders.
   */
  commit(names: readonly string[]): string[];
  /** Deletes the temporary folder. */
  discard(): void;
}

const CODE = "index.mjs";
const MAP = "index.mjs.map";
const TEMPORARY = ".building-";

/**
 * Opens the output folder of the bundles.
 *
 * @param dir Absolute path of the folder.
 * @param mapsDir Folder of the source maps; may be the same.
 * @returns The folder; nothing is written yet.
 */
export function openOutputFolder(dir: string, mapsDir: string): OutputFolder {
  const aside = join(dir, `${TEMPORARY}${process.pid}`);
  const staged = new Map<string, { change: BundleChange; hasMap: boolean }>();
  const discard = () => rmSync(aside, { recursive: true, force: true });
  // a signal may exit the process before the bundles are moved
  process.once("exit", discard);

  return {
    unmanagedFiles(names): string[] {
      return names.filter((name) =>
        readIfThere(join(dir, name, CODE))?.startsWith(MARKER) === false
      );
    },

    stage(name, code, map): BundleChange {
      if (staged.size === 0) removeLeftovers(dir);
      const present = readIfThere(join(dir, name, CODE));
      const change = present === undefined ? "created" : present === code ? "unchanged" : "updated";
      if (change !== "unchanged" || readIfThere(join(mapsDir, name, MAP)) !== map) {
        write(join(aside, name, CODE), code);
        if (map !== undefined) write(join(aside, name, MAP), map);
        staged.set(name, { change, hasMap: map !== undefined });
      }
      return change;
    },

    commit(names): string[] {
      try {
        for (const [name, { hasMap }] of staged) {
          mkdirSync(join(dir, name), { recursive: true });
          if (hasMap) {
            mkdirSync(join(mapsDir, name), { recursive: true });
            renameSync(join(aside, name, MAP), join(mapsDir, name, MAP));
          }
          renameSync(join(aside, name, CODE), join(dir, name, CODE));
          // removes maps that an earlier setting wrote here
          if (!hasMap || mapsDir !== dir) rmSync(join(dir, name, MAP), { force: true });
        }
        const kept = new Set(names);
        const stale = listFolders(dir).filter((name) =>
          !kept.has(name) && readIfThere(join(dir, name, CODE))?.startsWith(MARKER)
        );
        for (const name of stale) {
          for (const folder of new Set([dir, mapsDir])) {
            for (const file of [CODE, MAP]) rmSync(join(folder, name, file), { force: true });
            removeIfEmpty(join(folder, name));
          }
        }
        return stale;
      } catch (cause) {
        throw new ConfigurationError(`${dir} cannot be written: ${(cause as Error).message}`, {
          cause,
        });
      } finally {
        discard();
      }
    },

    discard(): void {
      process.removeListener("exit", discard);
      discard();
    },
  };
}

function write(file: string, text: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  } catch (cause) {
    throw new ConfigurationError(`${file} cannot be written: ${(cause as Error).message}`, {
      cause,
    });
  }
}

function readIfThere(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

function listFolders(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
    .map((entry) => entry.name)
    .sort();
}

function removeIfEmpty(folder: string): void {
  if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
}

/** Removes temporary folders of killed processes. */
function removeLeftovers(dir: string): void {
  if (!existsSync(dir)) return;
  for (const name of readdirSync(dir)) {
    if (!name.startsWith(TEMPORARY)) continue;
    if (!isRunning(Number(name.slice(TEMPORARY.length)))) {
      rmSync(join(dir, name), { recursive: true, force: true });
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process belongs to another user
    return (error as { code?: string }).code === "EPERM";
  }
}
