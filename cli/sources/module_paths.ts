import { existsSync, readFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { TRELLIS } from "./package_specifier.ts";
import { createWrapperCheck } from "./wrapper_packages.ts";

/** Maps modules to packages. A path is absolute, or the URL of a remote module. */
export interface ModulePaths {
  /** Returns the root of `@trellis/fn` if the module belongs to it. */
  trellisRoot(path: string): string | undefined;
  /** Returns the package of a module: `zod`; `undefined` for project files. */
  getPackage(path: string): string | undefined;
  /** Returns the folder of the package of a module; `undefined` for project files and remote modules. */
  getPackageFolder(path: string): string | undefined;
  /**
   * Checks whether a package depends on `@trellis/fn`, directly or through others, so that it may
   * open a database or use the auth library.
   *
   * @param path A module of the package.
   */
  usesTrellis(path: string): boolean;
}

const INSTALLED = /^(.*[/\\]node_modules[/\\])((?:@[^/\\]+[/\\])?[^/\\]+)/;
/** Matches `…/npm/<registry>/<name>/<version>/` in Deno's cache. */
const CACHED = /^(.*[/\\]npm[/\\][^/\\]+[/\\])((?:@[^/\\]+[/\\])?[^/\\]+)([/\\]\d[^/\\]*)/;
const REMOTE = /^https?:\/\/[^/]+\/(@[^/]+\/[^/]+)\/[^/]+\//;

interface Manifest {
  readonly name?: string;
}

/**
 * Creates the mapping; results are cached by folder.
 *
 * @param project Absolute path of the project: files in it belong to the project, except in
 * node_modules.
 */
export function createModulePaths(project: string): ModulePaths {
  const roots = new Map<string, string | undefined>();
  const wrapsTrellis = createWrapperCheck(project);

  function trellisRoot(path: string): string | undefined {
    const remote = REMOTE.exec(path);
    if (remote !== null) return remote[1] === TRELLIS ? remote[0] : undefined;
    // an example project may be inside the checkout of the package
    const isOwn = path.startsWith(project + sep) && !INSTALLED.test(path.slice(project.length));
    return isOwn ? undefined : getRoot(dirname(path));
  }

  function getRoot(folder: string): string | undefined {
    if (!roots.has(folder)) {
      const file = ["package.json", "deno.json"].map((name) => join(folder, name)).find((each) =>
        existsSync(each)
      );
      const parent = dirname(folder);
      const root = file === undefined && parent !== folder
        ? getRoot(parent)
        : file !== undefined && readManifest(file).name === TRELLIS
        ? folder
        : undefined;
      roots.set(folder, root);
    }
    return roots.get(folder);
  }

  function getPackage(path: string): string | undefined {
    const name = REMOTE.exec(path)?.[1] ??
      (CACHED.exec(path) ?? INSTALLED.exec(path))?.[2].replaceAll("\\", "/");
    return trellisRoot(path) === undefined ? name : TRELLIS;
  }

  function getPackageFolder(path: string): string | undefined {
    return (CACHED.exec(path) ?? INSTALLED.exec(path))?.[0];
  }

  function usesTrellis(path: string): boolean {
    const found = CACHED.exec(path) ?? INSTALLED.exec(path);
    return found === null || wrapsTrellis(found[2].replaceAll("\\", "/"), found[0]);
  }

  return { trellisRoot, getPackage, getPackageFolder, usesTrellis };
}

function readManifest(file: string): Manifest {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    // a deno.json with comments is not ours
    return {};
  }
}
