import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { ImportAliases } from "./import_aliases.ts";
import { getPackageName, toBareSpecifier } from "./package_specifier.ts";

/** This package, whose functions the analysis knows. */
export const TRELLIS = "@trellis/fn";

/** Checks whether a specifier is this package or an entry point of it. */
export function isTrellis(module: string): boolean {
  return module === TRELLIS || module.startsWith(`${TRELLIS}/`);
}

const EXTENSIONS = [".ts", ".tsx", ".mts", ".cts", ".js", ".mjs", ".cjs", ".jsx"] as const;
/** TypeScript extensions by the JavaScript extension that imports use for them. */
const WRITTEN_AS: Readonly<Record<string, readonly string[]>> = {
  ".js": [".ts", ".tsx"],
  ".jsx": [".tsx"],
  ".mjs": [".mts"],
  ".cjs": [".cts"],
};

/** The result of resolving a specifier. */
export type ModuleResolution =
  | { readonly kind: "file"; readonly path: string }
  /** A package: `drizzle-orm/pg-core`, without registry and version. */
  | { readonly kind: "package"; readonly name: string }
  /** A file that is not a source file, such as JSON. */
  | { readonly kind: "data" }
  | { readonly kind: "missing" };

/**
 * Resolves a specifier like runtimes and bundlers.
 *
 * @param specifier The specifier of an import.
 * @param from Absolute path of the importing file.
 * @param aliases The project's aliases.
 * @returns The file or package.
 */
export function resolveModule(
  specifier: string,
  from: string,
  aliases: Pick<ImportAliases, "find">,
): ModuleResolution {
  const name = toBareSpecifier(specifier);
  if (name !== specifier) return { kind: "package", name };
  if (specifier.startsWith("file:")) return resolveFile(fileURLToPath(specifier));
  if (/^[a-z][a-z0-9+.-]+:/i.test(specifier)) return { kind: "package", name: specifier };
  if (/^\.{0,2}\/|^\.{1,2}$/.test(specifier)) return resolveFile(resolve(dirname(from), specifier));
  if (getPackageName(specifier) === TRELLIS) return { kind: "package", name: specifier };

  const { candidates, isGuess } = aliases.find(specifier, dirname(from));
  for (const candidate of candidates) {
    const found = /^(?:[A-Za-z]:)?[/\\]/.test(candidate)
      ? resolveFile(candidate)
      // the target of an alias is not an alias itself
      : resolveModule(candidate, from, { find: () => ({ candidates: [], isGuess: true }) });
    if (found.kind !== "missing") return found;
  }
  const isPackage = /^(?:@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~-][\w.~-]*(?:\/.*)?$/i.test(specifier);
  return isGuess && isPackage ? { kind: "package", name: specifier } : { kind: "missing" };
}

function resolveFile(path: string): ModuleResolution {
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
