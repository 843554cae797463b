import type { BuildOptions, BuildResult, OnResolveArgs, OnResolveResult, Plugin } from "esbuild";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { isInsideFolder } from "../files/inside_folder.ts";
import { ImportAliases } from "./import_aliases.ts";
import { getPackageName } from "./package_specifier.ts";
import { resolveModule, TRELLIS } from "./resolve_module.ts";
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
  inputs.set(file, getStamp(file));
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
  // created for each build, because the files that define aliases may have changed
  const aliases = new ImportAliases();
  return {
    name: "trellis",
    setup(build): void {
      const reader = createSourceReader(build.esbuild, root);
      editedSourcesPlugin(reader, [localFilesEditor(root, inputs), ...editors]).setup(build);
      build.onResolve({ filter: /.*/ }, async (args): Promise<OnResolveResult | undefined> => {
        if (
          args.kind === "entry-point" || args.path.startsWith("node:") ||
          args.pluginData === DELEGATED
        ) return undefined;
        const found = resolveModule(args.path, args.importer, aliases);
        if (found.kind === "file") {
          inputs.set(found.path, getStamp(found.path));
          return { path: found.path };
        }
        if (found.kind === "data" && args.path.startsWith(".")) {
          const path = resolve(args.resolveDir, args.path);
          inputs.set(path, getStamp(path));
        }
        if (found.kind !== "package") return undefined;
        if (getPackageName(found.name) === TRELLIS) {
          const own = resolveOwnModule(found.name);
          return own === undefined
            ? { errors: [{ text: `Unknown entry point ${found.name}` }] }
            : { path: own, external: true };
        }
        const specifier = isDeno ? denoSpecifier(args, aliases) : undefined;
        const isRegistered = /^(?:npm|jsr|https?):/.test(specifier ?? "");
        if (specifier !== undefined && (isRegistered || !usesInstalled)) {
          return { path: specifier, external: true };
        }
        if (specifier === undefined && isInsideFolder(root, args.importer)) {
          return { path: found.name, external: true };
        }
        // packages of a linked package cannot be resolved from the bundle's folder
        const { path } = await build.resolve(found.name, {
          kind: args.kind,
          resolveDir: args.resolveDir,
          importer: args.importer,
          pluginData: DELEGATED,
        });
        return {
          path: /^[/\\]|^[A-Za-z]:/.test(path) ? pathToFileURL(path).href : found.name,
          external: true,
        };
      });
    },
  };
}

/**
 * Resolves a specifier with the project's import map, which may differ from that of the CLI
 * process.
 */
function denoSpecifier({ path, resolveDir }: OnResolveArgs, aliases: ImportAliases): string {
  if (/^(?:npm|jsr|https?):/.test(path)) return path;
  const [whole] = aliases.find(path, resolveDir).candidates;
  if (whole !== undefined && /^(?:npm|jsr):/.test(whole)) return whole;
  const name = getPackageName(path);
  const [target] = aliases.find(name, resolveDir).candidates;
  return target !== undefined && /^(?:npm|jsr):/.test(target)
    ? `${target}${path.slice(name.length)}`
    : path;
}
