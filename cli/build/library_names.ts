import { resolve } from "node:path";
import { TRELLIS } from "../analysis/resolve_module.ts";
import { toPortablePath } from "../inside_folder.ts";
import type { ImportedNames } from "./imported_names.ts";
import type { BundledFile } from "./part_use.ts";
import { removeNameCalls } from "./remove_name_calls.ts";
import { compareSizes } from "./sizes.ts";

/** Packages that never read the name of one of their own functions. */
const UNNAMED: ReadonlySet<string> = new Set([TRELLIS, "drizzle-orm", "postgres", "zod"]);

/**
 * Functions that this package returns to its callers, who may wrap them in a handler. They keep their
 * names, because metrics, logs and idempotency keys are named after a handler.
 */
const RETURNED: ReadonlySet<string> = new Set([
  "definedQuery",
  "observed",
  "on",
  "route",
  "runMigrationRequest",
]);

/**
 * Checks whether names are removed from bundles: not for versions of Node without static blocks, in
 * which esbuild names classes.
 */
export function removesNames(
  { keepNames, target }: { readonly keepNames: boolean; readonly target: string },
): boolean {
  return keepNames && Number(/^node(\d+)/.exec(target)?.[1]) > 16;
}

/** Options of {@link removeLibraryNames}. */
export interface LibraryNamesOptions {
  readonly root: string;
  /** Absolute path of the bundle's folder. */
  readonly folder: string;
  /** The names that the function's own code imports. They remain. */
  readonly imported: ImportedNames;
}

/**
 * Removes the names of functions of {@link UNNAMED} packages from a bundle: each name is a call when
 * its function is created.
 *
 * @returns The new code, its source map and the new sizes of its modules.
 */
export function removeLibraryNames(
  { code, map, modules }: BundledFile,
  { root, folder, imported }: LibraryNamesOptions,
): BundledFile {
  if (map === undefined) return { code, modules };
  const unnamed = new Set(
    modules.filter(({ package: name = "" }) => isUnnamed(name, imported)).map(({ path }) => path),
  );
  /** Modules of packages without names, by source. */
  const found = new Map<string, string | undefined>();

  function findModule(source: string): string | undefined {
    const file = resolve(folder, decodePath(source));
    return [source, toPortablePath(root, file)].find((path) => unnamed.has(path));
  }
  function isRemoved(source: string, name?: string): boolean {
    if (!found.has(source)) found.set(source, findModule(source));
    if (found.get(source) === undefined) return false;
    return name === undefined || !RETURNED.has(name) && !(imported !== "all" && imported.has(name));
  }

  const { removed, ...result } = removeNameCalls(code, map, isRemoved);
  const saved = new Map([...removed].map(([source, bytes]) => [found.get(source), bytes]));
  const sizes = modules.map((module) => ({
    ...module,
    bytes: module.bytes - (saved.get(module.path) ?? 0),
  }));
  return { ...result, modules: sizes.sort(compareSizes) };
}

function isUnnamed(name: string, imported: ImportedNames): boolean {
  return UNNAMED.has(name) && !(name === TRELLIS && imported === "all");
}

/** Decodes a path in a source map, which some versions of esbuild encode as in a URL. */
function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
