import type { Metafile } from "esbuild";
import { resolve } from "node:path";
import type { ModulePaths } from "../sources/module_paths.ts";
import { REMOTE_NAMESPACE } from "./deno_graph.ts";

/** A module's share of a bundle. */
export interface ModuleSize {
  /** The path reported by esbuild. */
  readonly path: string;
  /** Its package; omitted for project files. */
  readonly package?: string;
  readonly bytes: number;
}

/** A package's share of a bundle. */
export interface PackageSize {
  readonly name: string;
  readonly bytes: number;
}

/** The label of project files in the list of packages. */
const OWN_CODE = "(own code)";

/**
 * Lists the modules in a bundle.
 *
 * @param output The metadata of the bundle.
 * @returns Modules with at least one byte in the bundle, largest first.
 */
export function getSizes(
  output: Metafile["outputs"][string],
  root: string,
  paths: ModulePaths,
): ModuleSize[] {
  return listIncluded(output)
    .map((path) => ({
      path,
      package: paths.getPackage(toLocation(path, root)),
      bytes: output.inputs[path].bytesInOutput,
    }))
    .sort(compareSizes);
}

/** Lists the modules with code in a bundle. */
export function listIncluded({ inputs }: Metafile["outputs"][string]): string[] {
  return Object.keys(inputs).filter((path) => inputs[path].bytesInOutput > 0);
}

/** Compares modules: the largest first. */
function compareSizes(a: ModuleSize, b: ModuleSize): number {
  return b.bytes - a.bytes || (a.path < b.path ? -1 : 1);
}

/** Returns the absolute path or the URL of a module that esbuild reports. */
function toLocation(path: string, root: string): string {
  return path.startsWith(`${REMOTE_NAMESPACE}:`)
    ? path.slice(REMOTE_NAMESPACE.length + 1)
    : resolve(root, path);
}

/**
 * Sums up modules by package.
 *
 * @returns Packages, largest first.
 */
export function sumByPackage(modules: readonly ModuleSize[]): PackageSize[] {
  const totals = new Map<string, number>();
  for (const { package: name = OWN_CODE, bytes } of modules) {
    totals.set(name, (totals.get(name) ?? 0) + bytes);
  }
  return [...totals].map(([name, bytes]) => ({ name, bytes }))
    .sort((a, b) => b.bytes - a.bytes || (a.name < b.name ? -1 : 1));
}
