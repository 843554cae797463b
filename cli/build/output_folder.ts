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
import { createFileError } from "../files/file_error.ts";
import { isAlive } from "../files/instance_lock.ts";
import { FILES_FOLDER } from "../sources/beside_files.ts";
import { MARKER } from "./bundle.ts";
import { SCHEMA_FILE } from "./precompile/specifiers.ts";

/** The change of a function's bundle. */
export type BundleChange = "created" | "updated" | "unchanged";

/** Writes bundles: first to a temporary folder, then all at once to the output folder. */
export interface OutputFolder {
  /** Lists functions whose `index.mjs` was not generated. */
  unmanagedFiles(names: readonly string[]): string[];
  /**
   * Writes a bundle to the temporary folder.
   *
   * @param code The content of `index.mjs`.
   * @param map The content of `index.mjs.map`, if there is one.
   * @param schemas The content of `schemas.cjs` and of its map, if the schemas are compiled.
   * @param besides The files in the folder `files`, by their path in it.
   * @returns The change that {@link OutputFolder.commit} will make.
   */
  stage(
    name: string,
    code: string,
    map?: string,
    schemas?: { readonly code: string; readonly map?: string },
    besides?: ReadonlyMap<string, Uint8Array>,
  ): BundleChange;
  /**
   * Moves the bundles to the output folder and removes bundles of deleted functions. Synchronous,
   * so that signals cannot interrupt it.
   *
   * @returns The removed folders.
   */
  commit(names: readonly string[]): string[];
  /** Deletes the temporary folder. */
  discard(): void;
}

const CODE = "index.mjs";
const SOURCES = [CODE, SCHEMA_FILE];
const MAPS = SOURCES.map((file) => `${file}.map`);
const FILES = [...SOURCES, ...MAPS];
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
  /** The new files of changed functions; a file without a text is removed. */
  const staged = new Map<string, ReadonlyMap<string, string | undefined>>();
  /** The functions whose folder `files` is replaced. */
  const stagedFiles = new Set<string>();
  const getFolder = (file: string) => MAPS.includes(file) ? mapsDir : dir;
  const discard = () => rmSync(aside, { recursive: true, force: true });
  // a signal may exit the process before the bundles are moved
  process.once("exit", discard);

  return {
    unmanagedFiles(names): string[] {
      return names.filter((name) =>
        SOURCES.some((file) => readIfThere(join(dir, name, file))?.startsWith(MARKER) === false)
      );
    },

    stage(name, code, map, schemas, besides = new Map()): BundleChange {
      if (staged.size + stagedFiles.size === 0) removeLeftovers(dir);
      const files = new Map<string, string | undefined>();
      for (const file of SOURCES) {
        const text = file === CODE ? { code, map } : schemas;
        files.set(file, text?.code).set(`${file}.map`, text?.map);
      }
      const isChanged = (file: string) =>
        readIfThere(join(getFolder(file), name, file)) !== files.get(file);
      if (FILES.some(isChanged)) {
        for (const [file, text] of files) {
          if (text !== undefined) write(join(aside, name, file), text);
        }
        staged.set(name, files);
      }
      if (!hasContents(join(dir, name, FILES_FOLDER), besides)) {
        for (const [file, bytes] of besides) write(join(aside, name, FILES_FOLDER, file), bytes);
        stagedFiles.add(name);
      }
      if (!existsSync(join(dir, name, CODE))) return "created";
      return SOURCES.some(isChanged) || stagedFiles.has(name) ? "updated" : "unchanged";
    },

    commit(names): string[] {
      try {
        for (const [name, files] of staged) {
          for (const [file, text] of files) {
            const folder = join(getFolder(file), name);
            if (text === undefined) rmSync(join(folder, file), { force: true });
            else {
              mkdirSync(folder, { recursive: true });
              renameSync(join(aside, name, file), join(folder, file));
            }
            // removes maps that an earlier setting wrote here
            if (folder !== join(dir, name)) rmSync(join(dir, name, file), { force: true });
          }
        }
        for (const name of stagedFiles) {
          const folder = join(dir, name, FILES_FOLDER);
          const replacement = join(aside, name, FILES_FOLDER);
          rmSync(folder, { recursive: true, force: true });
          if (existsSync(replacement)) renameSync(replacement, folder);
        }
        const kept = new Set(names);
        const stale = listFolders(dir).filter((name) =>
          !kept.has(name) && readIfThere(join(dir, name, CODE))?.startsWith(MARKER)
        );
        for (const name of stale) {
          rmSync(join(dir, name, FILES_FOLDER), { recursive: true, force: true });
          for (const folder of new Set([dir, mapsDir])) {
            for (const file of FILES) rmSync(join(folder, name, file), { force: true });
            removeIfEmpty(join(folder, name));
          }
        }
        return stale;
      } catch (cause) {
        throw createFileError(dir, "written", cause);
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

function write(file: string, text: string | Uint8Array): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  } catch (cause) {
    throw createFileError(file, "written", cause);
  }
}

function readIfThere(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

/** Checks whether a folder has exactly these files. */
function hasContents(folder: string, files: ReadonlyMap<string, Uint8Array>): boolean {
  const present = existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
    : [];
  return present.length === files.size && [...files].every(([name, bytes]) => {
    const file = join(folder, name);
    return existsSync(file) && readFileSync(file).equals(bytes);
  });
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
    if (!isAlive(Number(name.slice(TEMPORARY.length)))) {
      rmSync(join(dir, name), { recursive: true, force: true });
    }
  }
}
