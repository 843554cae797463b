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

/** What happened to a function's bundle. */
export type BundleChange = "created" | "updated" | "unchanged";

/** Where bundles are written: aside at first, then all at once. */
export interface OutputFolder {
  /**
   * Functions whose `index.mjs` somebody else wrote.
   *
   * @param names All functions.
   */
  strangers(names: readonly string[]): string[];
  /**
   * Writes a bundle aside.
   *
   * @param name The function.
   * @param code `index.mjs`.
   * @param map `index.mjs.map`, if there is one.
   * @returns What moving it will do.
   */
  stage(name: string, code: string, map?: string): BundleChange;
  /**
   * Moves what was written aside to its place and removes bundles of functions that are gone. One step for signals.
   *
   * @param names All functions.
   * @returns Folders that were removed.
   */
  commit(names: readonly string[]): string[];
  /** Forgets what was written aside and not moved. */
  discard(): void;
}

const CODE = "index.mjs";
const MAP = "index.mjs.map";
const ASIDE = ".building-";

/**
 * Opens the folder of the bundles.
 *
 * @param dir Absolute path of the folder.
 * @param mapsDir Where source maps go: the same folder, or one of their own.
 * @returns The folder; nothing is written yet.
 */
export function openOutputFolder(dir: string, mapsDir: string): OutputFolder {
  const aside = join(dir, `${ASIDE}${process.pid}`);
  const staged = new Map<string, { change: BundleChange; hasMap: boolean }>();
  const discard = () => rmSync(aside, { recursive: true, force: true });
  // a signal ends the process between two steps
  process.once("exit", discard);

  return {
    strangers(names): string[] {
      return names.filter((name) =>
        readIfThere(join(dir, name, CODE))?.startsWith(MARKER) === false
      );
    },

    stage(name, code, map): BundleChange {
      if (staged.size === 0) removeAbandoned(dir);
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
          // maps that the settings now put elsewhere
          if (!hasMap || mapsDir !== dir) rmSync(join(dir, name, MAP), { force: true });
        }
        const kept = new Set(names);
        const stale = foldersIn(dir).filter((name) =>
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
        throw new ConfigurationError(`${dir} could not be written: ${(cause as Error).message}`, {
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
    throw new ConfigurationError(`${file} could not be written: ${(cause as Error).message}`, {
      cause,
    });
  }
}

function readIfThere(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

function foldersIn(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
    .map((entry) => entry.name)
    .sort();
}

function removeIfEmpty(folder: string): void {
  if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
}

/** What builds left behind that were killed. */
function removeAbandoned(dir: string): void {
  if (!existsSync(dir)) return;
  for (const name of readdirSync(dir)) {
    if (!name.startsWith(ASIDE)) continue;
    if (!isRunning(Number(name.slice(ASIDE.length)))) {
      rmSync(join(dir, name), { recursive: true, force: true });
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: somebody else's process
    return (error as { code?: string }).code === "EPERM";
  }
}
