import type { BuildFailure, Plugin } from "esbuild";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { BundledProject } from "../../database/migrations/function/bundled_project.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import {
  type Build,
  type Bundle,
  type BundleSettings,
  getEntryPoints,
  getOutputPath,
} from "./bundle_batch.ts";
import { type SourceError, toSourceError } from "../sources/build_error.ts";
import { BesideFiles, besideFilesEditor } from "../sources/beside_files.ts";
import { bundledProjectPlugin } from "./bundled_project.ts";
import { findDenoConfig, loadDenoGraph } from "./deno_graph.ts";
import { denoPlugin } from "./deno_plugin.ts";
import { lazyBuiltinsPlugin } from "./lazy_builtins.ts";
import { loadEsbuild } from "../sources/load_esbuild.ts";
import { createModulePaths } from "../sources/module_paths.ts";
import type { SourcePosition } from "../sources/source_positions.ts";
import { type Needs, readNeeds } from "./needs.ts";
import {
  createExternalCheck,
  optionalPartsPlugin,
  type Parts,
  selectParts,
} from "./optional_parts.ts";
import { providerModulesPlugin } from "./provider_modules.ts";
import { authConfigEditor } from "./auth_config_parts.ts";
import {
  createSourceReader,
  editedSourcesPlugin,
  type SourceEditor,
} from "../sources/edited_sources.ts";
import { linkOwnCode, type OwnCode, type PackageImports } from "../sources/own_code.ts";
import { bundleWithSchemas } from "./precompile/bundle_schemas.ts";
import { type CompiledSchemas, compileSchemas } from "./precompile/compile_schemas.ts";
import { SchemaLabels } from "./precompile/label_schemas.ts";

/** The first line of a generated bundle. */
export const FIRST_LINE =
  "// Built by trellis build. Do not edit. Without this line the file is not overwritten.";
/** The beginning of the first line, which is the same in all versions. */
export const MARKER = "// Built by trellis build.";

/** Options of {@link bundleFunctions}. */
export interface BundleOptions {
  /** The project folder, without symbolic links. */
  readonly root: string;
  readonly functions: readonly FunctionFile[];
  readonly settings: BundleSettings;
  /** Names of the functions whose configuration has a container image. */
  readonly withImage: ReadonlySet<string>;
  /** Reads the migrations and grants for migration functions. */
  readonly readProject: () => BundledProject;
  /** Called with each finished bundle, in no particular order. */
  readonly onBundle: (bundle: Bundle) => void;
  /** Called with the number of finished bundles. */
  readonly onProgress: (done: number, total: number) => void;
}

/**
 * Number of functions per esbuild call. Shared modules are read once per call, but the outputs of a
 * call are in memory at the same time.
 */
const BATCH = 16;

/**
 * Bundles functions, one ES module each.
 *
 * @returns The errors; empty if all functions are bundled.
 * @throws {ConfigurationError} If esbuild or Deno is missing.
 */
export async function bundleFunctions(options: BundleOptions): Promise<SourceError[]> {
  if (options.functions.length === 0) return [];
  const esbuild = await loadEsbuild("trellis build");
  try {
    return await bundleAll(await createBuild(esbuild, options), options);
  } catch (error) {
    const { errors } = error as BuildFailure;
    if (!Array.isArray(errors)) throw error;
    return errors.map(toSourceError);
  }
}

/** Functions with the same optional parts, which share a call of esbuild. */
interface BundleGroup {
  readonly functions: FunctionFile[];
  readonly parts: Parts;
  /** Providers whose packages must be installed. */
  readonly required: Needs["providers"];
}

async function createBuild(
  esbuild: Build["esbuild"],
  options: BundleOptions,
): Promise<Build> {
  const { root, functions, settings, readProject } = options;
  const paths = createModulePaths(root);
  const denoConfig = findDenoConfig(root);
  const graph = denoConfig === undefined
    ? undefined
    : await loadDenoGraph(denoConfig, functions.map(({ file }) => pathToFileURL(file).href));
  const common = getBuildOptions(root, settings);
  const createResolvers = () => graph === undefined ? [] : [denoPlugin(graph, paths)];
  const isDeno = denoConfig !== undefined;
  const sources = createSourceReader(esbuild, root);
  const shared = { esbuild, root, settings, common, paths, isDeno, createResolvers };
  return { ...shared, sources, besideFiles: new BesideFiles(), readProject };
}

const SOURCE_MAPS = { beside: "linked", apart: "external", none: false } as const;

function getBuildOptions(root: string, settings: BundleSettings): Build["common"] {
  return {
    absWorkingDir: root,
    outdir: resolve(root, settings.dir),
    outExtension: { ".js": ".mjs" },
    bundle: true,
    minify: true,
    keepNames: settings.keepNames,
    format: "esm",
    platform: "node",
    target: settings.target,
    // prefers ES modules to CommonJS: only they can be tree-shaken
    mainFields: ["module", "main"],
    // V8 keeps a source in one byte for each character, or in two if one is not of Latin-1
    charset: "ascii",
    legalComments: "none",
    sourcemap: SOURCE_MAPS[settings.sourceMaps],
    sourcesContent: false,
    metafile: true,
    write: false,
    logLevel: "silent",
    banner: { js: FIRST_LINE },
  };
}

async function bundleAll(
  build: Build,
  { functions, settings, withImage, onBundle, onProgress }: BundleOptions,
): Promise<SourceError[]> {
  const { needs, schemas } = await readOwnCode(build, functions);
  const errors: SourceError[] = [];
  let done = 0;
  for (const group of groupByParts(functions, needs, settings, withImage)) {
    const { parts } = group;
    const createWith = (editors: readonly SourceEditor[]) => createPlugins(build, group, editors);
    for (const batch of batches(group.functions)) {
      const bundles = await bundleWithSchemas(build, schemas, batch, createWith);
      for (const bundle of bundles) {
        if ("message" in bundle) {
          errors.push(bundle);
          continue;
        }
        const unreadProvider = settings.databaseProviders === undefined
          ? needs.get(bundle.name)!.unreadPosition
          : undefined;
        onBundle({ ...bundle, parts, unreadProvider });
      }
      onProgress(done += batch.length, functions.length);
    }
  }
  return errors;
}

/** The needs of a function, and the position of a provider that cannot be determined. */
interface PositionedNeeds extends Needs {
  readonly unreadPosition?: SourcePosition;
}

/** What the functions' own code shows. */
interface ReadCode {
  /** The needs of all functions, by name. */
  readonly needs: ReadonlyMap<string, PositionedNeeds>;
  /** Set with `build.precompile`, if there are schemas; the error if they cannot be evaluated. */
  readonly schemas?: CompiledSchemas | Error;
}

async function readOwnCode(
  { esbuild, common, settings, paths, sources, besideFiles, createResolvers }: Build,
  functions: readonly FunctionFile[],
): Promise<ReadCode> {
  const isExternal = createExternalCheck(settings.external);
  const labels = settings.precompile && !isExternal("zod") ? new SchemaLabels(paths) : undefined;
  const imports: PackageImports = new Map();
  const codes = new Map<FunctionFile, OwnCode>();
  for (const batch of batches(functions)) {
    const editors = [
      besideFilesEditor(paths, besideFiles),
      ...labels === undefined ? [] : [labels.createLabelEditor()],
    ];
    const plugins = [editedSourcesPlugin(sources, editors), ...createResolvers()];
    const options = { ...common, entryPoints: getEntryPoints(batch), plugins };
    const linked = await linkOwnCode(esbuild, options, paths, imports);
    for (const fn of batch) codes.set(fn, linked.get(getOutputPath(common.outdir, fn))!);
  }
  const needs = new Map([...codes].map(([{ name }, code]) => {
    const found = readNeeds(code);
    const unreadPosition = found.unreadAt === undefined
      ? undefined
      : code.findPosition(found.unreadAt);
    return [name, { ...found, unreadPosition }];
  }));
  const schemas = labels &&
    await compileSchemas({ esbuild, common, functions: codes, labels, imports, createResolvers })
      .catch((error: Error) => error);
  return { needs, schemas };
}

function groupByParts(
  functions: readonly FunctionFile[],
  needs: ReadonlyMap<string, Needs>,
  settings: BundleSettings,
  withImage: ReadonlySet<string>,
): BundleGroup[] {
  const groups = new Map<string, BundleGroup>();
  for (const fn of functions) {
    const found = needs.get(fn.name)!;
    const own = { ...found, hasImage: found.hasImage || withImage.has(fn.name) };
    const parts = selectParts(fn.name, own, settings);
    const required = settings.databaseProviders ?? (own.anyProvider ? [] : own.providers);
    const key = JSON.stringify([parts, required]);
    const group: BundleGroup = groups.get(key) ??
      { functions: [], parts, required };
    group.functions.push(fn);
    groups.set(key, group);
  }
  return [...groups.values()];
}

function createPlugins(
  build: Build,
  { parts, required }: BundleGroup,
  editors: readonly SourceEditor[],
): Plugin[] {
  const { paths, sources, settings, isDeno, createResolvers, readProject, besideFiles } = build;
  const { providers, awsSdk, ...auth } = parts;
  const isExternal = createExternalCheck(settings.external, awsSdk);
  return [
    optionalPartsPlugin({ ...auth, paths, isExternal }),
    // Deno downloads packages
    providerModulesPlugin({
      providers,
      required: isDeno ? [] : required,
      awsCredentials: settings.awsCredentials,
      paths,
      isExternal,
    }),
    bundledProjectPlugin(paths, readProject),
    editedSourcesPlugin(sources, [
      besideFilesEditor(paths, besideFiles),
      ...auth.betterAuth ? [] : [authConfigEditor(paths)],
      ...editors,
    ]),
    lazyBuiltinsPlugin(),
    ...createResolvers(),
  ];
}

function* batches(functions: readonly FunctionFile[]): Generator<readonly FunctionFile[]> {
  for (let at = 0; at < functions.length; at += BATCH) yield functions.slice(at, at + BATCH);
}
