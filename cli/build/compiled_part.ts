import type { Plugin } from "esbuild";
import type { FunctionFile } from "../discovery/function_files.ts";
import type { BundleMetadata } from "./bundle_batch.ts";
import type { BundledFile, PartUse } from "./part_use.ts";

/**
 * A part of functions that is compiled ahead of time, so that a package is only needed in a second
 * file, which is loaded on demand. All or nothing for each function: either the bundle is without the
 * package, or it is bundled as usual.
 */
export interface CompiledPart {
  /** The package: `zod`. */
  readonly package: string;
  /** The name of the second file. */
  readonly file: string;
  /** The reason why nothing can be compiled. */
  readonly error?: Error;
  /** @param packages The packages of all parts that are compiled in the same bundle. */
  createPlugin(packages: ReadonlySet<string>): Plugin;
  /** Checks the bundle of a function. */
  read(fn: FunctionFile, metadata: BundleMetadata): PartUse;
  /** Bundles the second files of functions: their keys by the name of the function. */
  bundle(
    keys: ReadonlyMap<string, readonly string[]>,
  ): Promise<ReadonlyMap<string, BundledFile>>;
}
