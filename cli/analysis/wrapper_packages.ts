import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { getPackageName } from "./import_aliases.ts";
import { TRELLIS } from "./resolve_module.ts";

/**
 * Makes a check for packages that depend on this one. Packages are not read, so that what such a
 * package does with sessions and tables does not show in the sources.
 *
 * @param root Absolute path of the project's folder.
 * @returns The check; it takes the specifier of an import.
 */
export function createWrapperCheck(root: string): (specifier: string) => boolean {
  const known = new Map<string, boolean>();
  let locked: ReadonlySet<string> | undefined;
  return function wrapsTrellis(specifier: string): boolean {
    const name = getPackageName(specifier);
    let wraps = known.get(name);
    if (wraps === undefined) {
      locked ??= readLock(root);
      known.set(name, wraps = locked.has(name) || dependsOnTrellis(readInstalled(root, name)));
    }
    return wraps;
  };
}

type Json = Record<string, unknown>;

function dependsOnTrellis(manifest: Json | undefined): boolean {
  const kinds = ["dependencies", "peerDependencies", "optionalDependencies"];
  return kinds.some((kind) => Object.hasOwn((manifest?.[kind] ?? {}) as Json, TRELLIS));
}

/** Reads the manifest of a package from the nearest node_modules. */
function readInstalled(root: string, name: string): Json | undefined {
  for (let folder = root;; folder = dirname(folder)) {
    const manifest = readJson(join(folder, "node_modules", name, "package.json"));
    if (manifest !== undefined || folder === dirname(folder)) return manifest;
  }
}

/** Lists the packages that depend on this one by Deno's lock file. */
function readLock(root: string): Set<string> {
  const lock = readJson(join(root, "deno.lock")) ?? {};
  const found = new Set<string>();
  for (const registry of ["npm", "jsr"]) {
    for (const [key, entry] of Object.entries((lock[registry] ?? {}) as Record<string, Json>)) {
      const dependencies = [entry.dependencies ?? []].flat().map(String);
      const uses = (text: string) =>
        withoutVersion(getPackageName(text.replace(/^(?:npm|jsr):/, ""))) === TRELLIS;
      if (dependencies.some(uses)) found.add(withoutVersion(key));
    }
  }
  return found;
}

/** `@acme/session@1.0.0` is `@acme/session`. */
function withoutVersion(text: string): string {
  const at = text.indexOf("@", 1);
  return at < 0 ? text : text.slice(0, at);
}

function readJson(path: string): Json | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Json;
  } catch {
    return undefined; // missing, or not JSON
  }
}
