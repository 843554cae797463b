import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { ImportAliases } from "../analysis/import_aliases.ts";
import { listParentFolders } from "../parent_folders.ts";
import { getPackageName, toBareSpecifier } from "../analysis/package_specifier.ts";
import { TRELLIS } from "../analysis/resolve_module.ts";
import { isTrellis } from "../analysis/values.ts";

/** Exports of a package by name. */
export type PackageExports = Readonly<Record<string, unknown>>;

/** Loads a package like an import in the given file. */
export type PackageLoader = (specifier: string, from: string) => Promise<PackageExports>;

/**
 * Modules of this package that schemas may use. The running version is used instead of the
 * project's; modules that read the environment are omitted.
 */
const OWN: Readonly<Record<string, () => Promise<object>>> = {
  "": async () => ({
    ...await import("../../errors/mod.ts"),
    ...await import("../../core/mod.ts"),
    ...await import("../../validation/mod.ts"),
  }),
  "/auth/schema": () => import("../../auth/schema.ts"),
  "/core": () => import("../../core/mod.ts"),
  "/database/orm": () => import("../../database/orm.ts"),
  "/errors": () => import("../../errors/mod.ts"),
  "/validation": () => import("../../validation/mod.ts"),
};

/**
 * Creates the loader for packages that schemas use. It writes no files: Node.js resolves from the
 * importing file, Deno with the project's import map and package.json.
 *
 * @returns The loader. It rejects if a package is not installed.
 */
export function createPackageLoader(): PackageLoader {
  // dnt-shim-ignore
  const load = "Deno" in globalThis ? createDenoLoader() : loadOnNode;

  return async function loadPackage(specifier, from): Promise<PackageExports> {
    const name = toBareSpecifier(specifier);
    if (isTrellis(name)) {
      const own = OWN[name.slice(TRELLIS.length)];
      if (own === undefined) {
        throw new Error(
          `schemas must not use it, because it reads the environment or accesses other systems`,
        );
      }
      return await own() as PackageExports;
    }
    return await load(specifier, from);
  };
}

interface VmModule {
  readonly Script: new (code: string, options: object) => { runInThisContext(): unknown };
  readonly constants: { readonly USE_MAIN_CONTEXT_DEFAULT_LOADER: symbol };
}

type Importer = (specifier: string) => Promise<PackageExports>;

const importers: Map<string, Importer> = new Map();

/** Imports a module as if the `import()` were in a file of that folder. */
async function loadOnNode(specifier: string, from: string): Promise<PackageExports> {
  const { Script, constants } = await import("node:vm") as unknown as VmModule;
  const folder = dirname(from);
  const { emitWarning } = process;
  // Node.js warns once that this option is experimental
  process.emitWarning = () => {};
  try {
    let importer = importers.get(folder);
    if (importer === undefined) {
      const script = new Script("(specifier) => import(specifier)", {
        filename: join(folder, "schemas.mjs"),
        importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
      });
      importers.set(folder, importer = script.runInThisContext() as Importer);
    }
    return importer(toBareSpecifier(specifier));
  } finally {
    process.emitWarning = emitWarning;
  }
}

function createDenoLoader(): PackageLoader {
  const aliases = new ImportAliases();

  /**
   * Resolves a specifier with the project's import map, which may differ from that of the CLI
   * process.
   */
  function resolve(specifier: string, folder: string): string {
    if (/^[a-z][a-z0-9+.-]+:/i.test(specifier)) return specifier;
    const [target] = aliases.find(specifier, folder).candidates;
    if (target !== undefined) return toUrl(target);
    const name = getPackageName(specifier);
    const [whole] = aliases.find(name, folder).candidates;
    // "zod": "npm:zod@4" also applies to zod/mini
    if (whole !== undefined && /^(?:npm|jsr):/.test(whole)) {
      return whole + specifier.slice(name.length);
    }
    const version = getDependency(name, folder);
    return version === undefined
      ? specifier
      : `npm:${name}@${version}${specifier.slice(name.length)}`;
  }

  return async (specifier, from) => await importUrl(resolve(specifier, dirname(from)));
}

/**
 * Imports by scheme. Each specifier starts with a literal, so that registries do not take it for a
 * dependency of this package.
 */
const IMPORTERS: Readonly<Record<string, Importer>> = {
  "file://": (rest) => import(`file://${rest}`),
  "http://": (rest) => import(`http://${rest}`),
  "https://": (rest) => import(`https://${rest}`),
  "jsr:": (rest) => import(`jsr:/${withoutSlash(rest)}`),
  "node:": (rest) => Promise.resolve({ ...process.getBuiltinModule(rest) }),
  "npm:": (rest) => import(`npm:/${withoutSlash(rest)}`),
};

async function importUrl(specifier: string): Promise<PackageExports> {
  const { resolve } = import.meta;
  // a bare specifier is resolved with the import map of this process
  const url = /^[a-z][a-z0-9+.-]+:/i.test(specifier) ? specifier : resolve(specifier);
  const scheme = Object.keys(IMPORTERS).find((start) => url.startsWith(start));
  if (scheme === undefined) {
    throw new TypeError(`Cannot import ${url}: its scheme is not supported`);
  }
  return await IMPORTERS[scheme](url.slice(scheme.length));
}

/** `npm:/zod@4` and `npm:zod@4` are the same package. */
function withoutSlash(rest: string): string {
  return rest.replace(/^\//, "");
}

function toUrl(target: string): string {
  return /^(?:[A-Za-z]:)?[/\\]/.test(target) ? pathToFileURL(target).href : target;
}

/** Returns the version range in package.json; `undefined` for protocols of package managers. */
function getDependency(name: string, folder: string): string | undefined {
  for (const at of listParentFolders(folder)) {
    const file = join(at, "package.json");
    if (existsSync(file)) {
      const { dependencies, devDependencies, peerDependencies } = JSON.parse(
        readFileSync(file, "utf8"),
      );
      const version = { ...peerDependencies, ...devDependencies, ...dependencies }[name];
      if (version !== undefined) {
        return /^[\^~<>=*|\s\d.-]/.test(version) && /^[\^~<>=*|\s\w.+-]+$/.test(version)
          ? version
          : undefined;
      }
    }
  }
  return undefined;
}
