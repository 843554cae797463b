import type { Metafile } from "esbuild";
import { resolve } from "node:path";
import type { ModulePaths } from "./module_paths.ts";
import { REMOTE_NAMESPACE } from "./remote_namespace.ts";

/** A module's share of a bundle. */
export interface ModuleSize {
  /** The module as the bundler names it. */
  readonly path: string;
  /** Its package; nothing for the project's own. */
  readonly package?: string;
  readonly bytes: number;
}

/** A package's share of a bundle. */
export interface PackageSize {
  readonly name: string;
  readonly bytes: number;
}

/** What the project's own code is called among the packages. */
export const OWN_CODE = "(own code)";

/**
 * What a bundle is made of.
 *
 * @param output The bundler's account of it.
 * @param root The project's folder.
 * @param paths Where modules belong.
 * @returns Modules that left something in it, the largest first.
 */
export function getSizes(
  output: Metafile["outputs"][string],
  root: string,
  paths: ModulePaths,
): ModuleSize[] {
  return Object.entries(output.inputs)
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path, { bytesInOutput }]) => {
      const place = path.startsWith(`${REMOTE_NAMESPACE}:`)
        ? path.slice(REMOTE_NAMESPACE.length + 1)
        : resolve(root, path);
      return { path, package: paths.getPackage(place), bytes: bytesInOutput };
    })
    .sort((a, b) => b.bytes - a.bytes || (a.path < b.path ? -1 : 1));
}

/**
 * Adds modules up by package.
 *
 * @param modules The modules.
 * @returns Packages, the largest first.
 */
export function byPackage(modules: readonly ModuleSize[]): PackageSize[] {
  const totals = new Map<string, number>();
  for (const { package: name = OWN_CODE, bytes } of modules) {
    totals.set(name, (totals.get(name) ?? 0) + bytes);
  }
  return [...totals].map(([name, bytes]) => ({ name, bytes }))
    .sort((a, b) => b.bytes - a.bytes || (a.name < b.name ? -1 : 1));
}
