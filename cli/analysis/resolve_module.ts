import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { getPackageName, type ImportAliases } from "./import_aliases.ts";

/** The package whose functions the analysis knows. */
export const TRELLIS = "@trellis/fn";

const EXTENSIONS = [".ts", ".tsx", ".mts", ".cts", ".js", ".mjs", ".cjs", ".jsx"] as const;
/** What stands in an import for a file that is written in TypeScript. */
const WRITTEN_AS: Readonly<Record<string, readonly string[]>> = {
  ".js": [".ts", ".tsx"],
  ".jsx": [".tsx"],
  ".mjs": [".mts"],
  ".cjs": [".cts"],
};

/** What a specifier leads to. */
export type Resolution =
  | { readonly kind: "file"; readonly path: string }
  /** A package: `drizzle-orm/pg-core`, without registry and version. */
  | { readonly kind: "package"; readonly name: string }
  /** A file that is no program, such as JSON. */
  | { readonly kind: "data" }
  | { readonly kind: "missing" };

/**
 * Resolves a specifier as the runtimes and bundlers do.
 *
 * @param specifier The specifier of an import.
 * @param from Absolute path of the importing file.
 * @param aliases The project's aliases.
 * @returns What it leads to.
 */
export function resolveModule(specifier: string, from: string, aliases: ImportAliases): Resolution {
  const remote = /^(?:npm|jsr):\/?((?:@[^/]+\/)?[^/@]+)(?:@[^/]*)?(\/.*)?$/.exec(specifier);
  if (remote !== null) return { kind: "package", name: remote[1] + (remote[2] ?? "") };
  if (specifier.startsWith("file:")) return resolveFile(fileURLToPath(specifier));
  if (/^[a-z][a-z0-9+.-]+:/i.test(specifier)) return { kind: "package", name: specifier };
  if (/^\.{0,2}\/|^\.{1,2}$/.test(specifier)) return resolveFile(resolve(dirname(from), specifier));
  if (getPackageName(specifier) === TRELLIS) return { kind: "package", name: specifier };

  const { places, isGuess } = aliases.find(specifier, dirname(from));
  for (const place of places) {
    const found = /^(?:[A-Za-z]:)?[/\\]/.test(place)
      ? resolveFile(place)
      // what an alias leads to is no alias again
      : resolveModule(place, from, { find: () => ({ places: [], isGuess: true }) });
    if (found.kind !== "missing") return found;
  }
  const isPackage = /^(?:@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~-][\w.~-]*(?:\/.*)?$/i.test(specifier);
  return isGuess && isPackage ? { kind: "package", name: specifier } : { kind: "missing" };
}

function resolveFile(path: string): Resolution {
  if (/\.d\.[cm]?ts$/.test(path)) return { kind: "data" };
  const extension = /\.[^./\\]+$/.exec(path)?.[0] ?? "";
  const isSource = (EXTENSIONS as readonly string[]).includes(extension);
  if (isFile(path)) return isSource ? { kind: "file", path } : { kind: "data" };
  const stem = path.slice(0, path.length - extension.length);
  const candidates = [
    ...(WRITTEN_AS[extension] ?? []).map((written) => stem + written),
    ...EXTENSIONS.map((other) => path + other),
    ...EXTENSIONS.map((other) => `${path.replace(/[/\\]$/, "")}/index${other}`),
  ];
  const found = candidates.find(isFile);
  return found === undefined ? { kind: "missing" } : { kind: "file", path: found };
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
