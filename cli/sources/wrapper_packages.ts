import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { listParentFolders } from "../files/parent_folders.ts";
import { getPackageName, TRELLIS, withoutVersion } from "./package_specifier.ts";

/**
 * Checks whether a package depends on this one, directly or through others.
 *
 * @param specifier The specifier of an import, or the package's name.
 * @param folder The package's folder, if it is known; else it is searched in node_modules.
 */
export type WrapperCheck = (specifier: string, folder?: string) => boolean;

/**
 * Creates a check for packages that depend on this one. Packages are not analyzed, so their use of
 * sessions and tables is unknown.
 */
export function createWrapperCheck(root: string): WrapperCheck {
  const known = new Map<string, boolean>();
  let locked: ReadonlySet<string> | undefined;
  return function wrapsTrellis(specifier, folder): boolean {
    const name = getPackageName(specifier);
    const key = folder ?? name;
    let wraps = known.get(key);
    if (wraps === undefined) {
      locked ??= readLock(root);
      const installed = folder ?? findInstalled(root, name);
      known.set(key, wraps = locked.has(name) || isInstalledWrapper(installed));
    }
    return wraps;
  };
}

type Json = Record<string, unknown>;

const KINDS = ["dependencies", "peerDependencies", "optionalDependencies"];

/** Follows dependencies in node_modules like Node.js: from the real path of the importing package. */
function isInstalledWrapper(first: string | undefined): boolean {
  const seen = new Set(first === undefined ? [] : [first]);
  for (const folder of seen) {
    const manifest = readJson(join(folder, "package.json")) ?? {};
    for (const [key, version] of KINDS.flatMap((kind) => Object.entries(manifest[kind] ?? {}))) {
      if (isTrellis(key) || isTrellis(version)) return true;
      const found = findInstalled(folder, key);
      if (found !== undefined) seen.add(found);
    }
  }
  return false;
}

function findInstalled(from: string, name: string): string | undefined {
  for (const folder of listParentFolders(from)) {
    const found = join(folder, "node_modules", name);
    if (existsSync(join(found, "package.json"))) return realpathSync(found);
  }
  return undefined;
}

/** Checks for this package, also under an alias: `npm:@trellis/fn@1`, `npm:@jsr/trellis__fn@1`. */
function isTrellis(text: unknown): boolean {
  const name = toLockName(text);
  return name === TRELLIS || name === `@jsr/${TRELLIS.slice(1).replace("/", "__")}`;
}

/** Lists the packages that depend on this one by Deno's lock file. */
function readLock(root: string): Set<string> {
  const lock = readJson(join(root, "deno.lock")) ?? {};
  const dependents = new Map<string, string[]>();
  for (const registry of ["npm", "jsr"]) {
    for (const [key, entry] of Object.entries((lock[registry] ?? {}) as Record<string, Json>)) {
      const { dependencies = [], optionalDependencies = [], optionalPeers = [] } = entry;
      for (const dependency of [dependencies, optionalDependencies, optionalPeers].flat()) {
        const name = toLockName(dependency);
        dependents.set(name, [...dependents.get(name) ?? [], withoutVersion(key)]);
      }
    }
  }
  const found = new Set<string>();
  const open = [...dependents.keys()].filter(isTrellis);
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const more = (dependents.get(name) ?? []).filter((each) =>
      !found.has(each) && !isTrellis(each)
    );
    for (const each of more) found.add(each);
    open.push(...more);
  }
  return found;
}

function toLockName(dependency: unknown): string {
  return withoutVersion(getPackageName(String(dependency).replace(/^(?:npm|jsr):/, "")));
}

function readJson(path: string): Json | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Json;
  } catch {
    return undefined; // missing, or not JSON
  }
}
