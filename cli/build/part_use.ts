import type { ModuleSize } from "./sizes.ts";

/** The result of compiling a part of a function ahead of time. */
export type PartUse =
  /** The parts that were compiled. The bundle is without the package. */
  | { readonly keys: readonly string[] }
  /** The reason why the bundle has the package. */
  | { readonly reason: string }
  /** The function has nothing to compile. */
  | undefined;

/** A file with its source map. */
export interface BundledFile {
  readonly code: string;
  readonly map?: string;
  /** The bundled modules, largest first. */
  readonly modules: readonly ModuleSize[];
}
