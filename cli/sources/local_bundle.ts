import type { BuildOptions, BuildResult, OnResolveResult, Plugin } from "esbuild";
import { existsSync, statSync } from "node:fs";
import process from "node:process";
import { isAbsolute } from "node:path";
import { pathToFileURL } from "node:url";
import { isInsideFolder } from "../files/inside_folder.ts";
import { DenoImports } from "./deno_imports.ts";
import { isTrellis, toBareSpecifier } from "./package_specifier.ts";
import { besideFilesEditor } from "./beside_files.ts";
import { createSourceReader, editedSourcesPlugin, type SourceEditor } from "./edited_sources.ts";
import { nameEntryPoints } from "./entry_points.ts";
import { loadEsbuild } from "./load_esbuild.ts";
import { createModulePaths } from "./module_paths.ts";
import { toBuildError } from "./build_error.ts";
import { getStamp, type Inputs } from "./file_stamps.ts";
import { resolveOwnModule } from "./own_modules.ts";

/** Options of {@link bundleFunction}. */
export interface BundleOptions {
  /** The function's name, for messages. */
  readonly name: string;
  /** Absolute path of its file. */
  readonly file: string;
  /** Absolute path of the project. */
  readonly root: string;
  /** Absolute path of the bundle; the source map is relative to it. */
  readonly outfile: string;
}

/** A function's sources as one module, with packages as imports. */
export interface Bundle {
  readonly code: string;
}

/** Marks resolutions that this plugin delegates to esbuild. */
const DELEGATED = Symbol("delegated");

const isDeno = process.versions.deno !== undefined;

/** Options of bundles that run on this machine. */
export const LOCAL_BUILD = {
  bundle: true,
  write: false,
  format: "esm",
  platform: "node",
  target: "node20",
  logLevel: "silent",
} as const satisfies BuildOptions;

/**
 * Bundles the sources of a function. Project files, including aliased ones, are bundled, so that a
 * change to any of them yields a new module. Packages stay external, so that they are loaded once.
 *
 * @param inputs Receives the stamp of each source before it is read, even if the build fails.
 * @throws {BuildError} If a source is invalid or an import cannot be resolved.
 * @throws {ConfigurationError} If esbuild is not installed.
 */
export async function bundleFunction(options: BundleOptions, inputs: Inputs): Promise<Bundle> {
  const { name, file, root, outfile } = options;
  const { entryPoints, plugin } = nameEntryPoints([file]);
  const { build } = await loadEsbuild("trellis dev");
  let result: BuildResult<{ write: false }>;
  try {
    result = await build({
      entryPoints: Object.values(entryPoints),
      outfile,
      absWorkingDir: root,
      ...LOCAL_BUILD,
      // operations are named after functions
      keepNames: true,
      sourcemap: "inline",
      sourcesContent: false,
      plugins: [plugin, localResolver(root, inputs)],
    });
  } catch (error) {
    throw toBuildError(name, error);
  }
  return { code: result.outputFiles[0].text };
}

/** Creates the editor for code that reads files beside itself: it finds them where the sources are. */
function localFilesEditor(root: string, inputs: Inputs): SourceEditor {
  return besideFilesEditor(createModulePaths(root), {
    add(path) {
      const stamp = getStamp(path);
      inputs.set(path, stamp);
      // the function is loaded again when the file has changed
      const version = statSync(path).isFile() ? `?${encodeURIComponent(stamp)}` : "";
      return pathToFileURL(path).href + version;
    },
  });
}

/**
 * Creates the plugin that resolves imports of a project. Packages stay external. Code that reads files
 * beside itself finds them where the sources are.
 *
 * @param inputs Receives the stamps of the sources.
 * @param editors Other changes of the project's modules.
 * @param usesInstalled True to load packages of a Deno project from its node_modules, too.
 */
export function localResolver(
  root: string,
  inputs: Inputs,
  editors: readonly SourceEditor[] = [],
  usesInstalled = false,
): Plugin {
  // created for each build, because import maps may have changed
  const imports = new DenoImports();
  return {
    name: "trellis",
    setup(build): void {
      build.onLoad({ filter: /.*/, namespace: "file" }, ({ path }) => {
        // before it is read, so that a later change is seen
        inputs.set(path, getStamp(path));
        return undefined;
      });
      const reader = createSourceReader(build.esbuild, root);
      editedSourcesPlugin(reader, [localFilesEditor(root, inputs), ...editors]).setup(build);
      // esbuild resolves relative paths itself
      build.onResolve({ filter: /^[^.]/ }, async (args): Promise<OnResolveResult | undefined> => {
        const { path, kind, importer, resolveDir, pluginData } = args;
        if (
          kind === "entry-point" || pluginData === DELEGATED || /^(?:node|data):/.test(path)
        ) return undefined;
        // esbuild would read a part of the name as a query
        if (isAbsolute(path)) return existsSync(path) ? { path } : undefined;
        const target = imports.find(path, resolveDir) ?? path;
        const name = toBareSpecifier(target);
        if (isTrellis(name)) {
          const own = resolveOwnModule(name);
          return own === undefined
            ? { errors: [{ text: `Unknown entry point ${name}` }] }
            : { path: own, external: true };
        }
        if (isDeno && /^(?:npm|jsr|https?):/.test(target)) return { path: target, external: true };
        const found = await build.resolve(name, {
          kind,
          resolveDir,
          importer,
          pluginData: DELEGATED,
        });
        if (found.errors.length > 0) {
          // a package that is missing is an error when it is imported
          return /^[#/]/.test(name) ? undefined : { path: name, external: true };
        }
        const isInstalled = /[\\/]node_modules[\\/]/.test(found.path);
        if (found.external || !isInstalled) return { path: found.path, external: found.external };
        // packages of a linked package cannot be resolved from the bundle's folder
        const isReachable = isDeno ? !usesInstalled : isInsideFolder(root, importer);
        return { path: isReachable ? name : pathToFileURL(found.path).href, external: true };
      });
    },
  };
}
