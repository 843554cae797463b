import type { BuildFailure, BuildOptions, Metafile, Plugin } from "esbuild";
import { join, relative, resolve, sep } from "node:path";
import type { BuildSettings } from "../config/build.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { type BundleError, toBundleError } from "./bundle_error.ts";
import { findDenoConfig, loadDenoGraph } from "./deno_graph.ts";
import { denoPlugin } from "./deno_plugin.ts";
import { lazyBuiltinsPlugin } from "./lazy_builtins.ts";
import { loadEsbuild } from "./load_esbuild.ts";
import { createModulePaths, type ModulePaths } from "./module_paths.ts";
import type { Needs } from "./needs.ts";
import {
  createExternalCheck,
  optionalPartsPlugin,
  type Parts,
  selectParts,
} from "./optional_parts.ts";
import type { SourcePosition } from "./provider_location.ts";
import { providerModulesPlugin } from "./provider_modules.ts";
import { type ScannedNeeds, scanNeeds } from "./scan_needs.ts";
import { authConfigPlugin } from "./auth_config_parts.ts";
import { authLocalesPlugin } from "./auth_locales.ts";
import {
  bundleSchemas,
  readSchemaUse,
  type SchemaFile,
  type SchemaUse,
} from "./precompile/bundle_schemas.ts";
import { type CompiledSchemas, compileSchemas } from "./precompile/compile_schemas.ts";
import { compiledSchemasPlugin } from "./precompile/compiled_schemas_plugin.ts";
import { addSourceContents } from "./precompile/source_contents.ts";
import { getSizes, type ModuleSize } from "./sizes.ts";

/** The first line of a generated bundle. */
export const FIRST_LINE =
  "// Built by trellis build. Do not edit. Without this line the file is not overwritten.";
/** The beginning of the first line, which is the same in all versions. */
export const MARKER = "// Built by trellis build.";

/** The bundle of a function. */
export interface Bundle {
  readonly name: string;
  /** The source, relative to the project. */
  readonly source: string;
  readonly code: string;
  readonly map?: string;
  /** The bundled modules, largest first. */
  readonly modules: readonly ModuleSize[];
  /** The optional parts of the package in the bundle. */
  readonly parts: Parts;
  /** The position of a provider that cannot be determined; the bundle then has all drivers. */
  readonly unreadProvider?: SourcePosition;
  /** The schemas that were compiled, or why they were not; set with `build.precompile`. */
  readonly schemaUse?: SchemaUse;
  /** The file with zod and these schemas. */
  readonly schemas?: SchemaFile;
}

/** Options of {@link bundleFunctions}. */
export interface BundleOptions {
  /** The project folder, without symbolic links. */
  readonly root: string;
  readonly functions: readonly FunctionFile[];
  readonly settings:
    & Omit<BuildSettings, "budgets">
    & Required<Omit<BuildSettings, "budgets" | "databaseProviders">>;
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
 * @param options Functions and settings.
 * @returns The errors; empty if all functions are bundled.
 * @throws {ConfigurationError} If esbuild or Deno is missing.
 */
export async function bundleFunctions(options: BundleOptions): Promise<BundleError[]> {
  if (options.functions.length === 0) return [];
  const esbuild = await loadEsbuild("trellis build");
  try {
    return await bundleAll(await createBuild(esbuild, options), options);
  } catch (error) {
    const { errors } = error as BuildFailure;
    if (!Array.isArray(errors)) throw error;
    return errors.map(toBundleError);
  } finally {
    await esbuild.stop();
  }
}

/** The state of a build that all functions share. */
interface Build {
  readonly esbuild: Awaited<ReturnType<typeof loadEsbuild>>;
  readonly root: string;
  readonly settings: BundleOptions["settings"];
  readonly common: BuildOptions & { readonly outdir: string };
  readonly paths: ModulePaths;
  readonly isDeno: boolean;
  readonly isExternal: (name: string) => boolean;
  readonly createResolvers: () => Plugin[];
  /** Set with `build.precompile`, if there are schemas. */
  readonly schemas?: CompiledSchemas;
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
  { root, functions, settings }: BundleOptions,
): Promise<Build> {
  const paths = createModulePaths(root);
  const denoConfig = findDenoConfig(root);
  const graph = denoConfig === undefined
    ? undefined
    : await loadDenoGraph(denoConfig, functions.map(({ file }) => file));
  const common = getBuildOptions(root, settings);
  const createResolvers = () => graph === undefined ? [] : [denoPlugin(graph, paths)];
  const isExternal = createExternalCheck([
    ...settings.external,
    ...settings.awsSdk === "runtime" ? ["@aws-sdk/*"] : [],
  ]);
  const files = functions.map(({ file }) => file);
  const schemas = settings.precompile && !isExternal("zod")
    ? await compileSchemas({ esbuild, root, files, paths, common, createResolvers })
    : undefined;
  const isDeno = denoConfig !== undefined;
  return { esbuild, root, settings, common, paths, isDeno, isExternal, createResolvers, schemas };
}

const SOURCE_MAPS = { beside: "linked", apart: "external", none: false } as const;

function getBuildOptions(root: string, settings: BundleOptions["settings"]): Build["common"] {
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
    charset: "utf8",
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
  { functions, settings, onBundle, onProgress }: BundleOptions,
): Promise<BundleError[]> {
  const needs = await readAllNeeds(build, functions);
  const errors: BundleError[] = [];
  let done = 0;
  for (const { functions: group, parts, required } of groupByParts(functions, needs, settings)) {
    const plugins = createPlugins(build, parts, required);
    for (const batch of batches(group)) {
      const bundles = build.schemas === undefined
        ? await bundleBatch(build, batch, plugins)
        : await bundleWithSchemas(build, build.schemas, batch, plugins, parts);
      for (const bundle of bundles) {
        if ("message" in bundle) errors.push(bundle);
        else {
          const unreadProvider = settings.databaseProviders === undefined
            ? needs.get(bundle.name)!.unreadPosition
            : undefined;
          onBundle({ ...bundle, parts, unreadProvider });
        }
      }
      onProgress(done += batch.length, functions.length);
    }
  }
  return errors;
}

/** Reads the needs of all functions, by name. */
async function readAllNeeds(
  { esbuild, common, paths, createResolvers }: Build,
  functions: readonly FunctionFile[],
): Promise<Map<string, ScannedNeeds>> {
  const all = new Map<string, ScannedNeeds>();
  for (const batch of batches(functions)) {
    const plugins = createResolvers();
    const options = { ...common, entryPoints: getEntryPoints(batch), plugins };
    const needs = await scanNeeds(esbuild, options, paths);
    for (const fn of batch) all.set(fn.name, needs.get(getOutputPath(common.outdir, fn))!);
  }
  return all;
}

function groupByParts(
  functions: readonly FunctionFile[],
  needs: ReadonlyMap<string, ScannedNeeds>,
  settings: BundleOptions["settings"],
): BundleGroup[] {
  const groups = new Map<string, BundleGroup>();
  for (const fn of functions) {
    const own = needs.get(fn.name)!;
    const parts = selectParts(fn.name, own, settings);
    const required = settings.databaseProviders ?? (own.anyProvider ? [] : own.providers);
    const key = JSON.stringify([parts, required]);
    const group: BundleGroup = groups.get(key) ?? { functions: [], parts, required };
    group.functions.push(fn);
    groups.set(key, group);
  }
  return [...groups.values()];
}

function createPlugins(
  { paths, settings: { awsCredentials }, isDeno, isExternal, createResolvers }: Build,
  parts: Parts,
  required: BundleGroup["required"],
): Plugin[] {
  const { providers, betterAuth } = parts;
  return [
    optionalPartsPlugin({ betterAuth, paths, isExternal }),
    ...betterAuth ? [] : [authConfigPlugin(paths)],
    // Deno downloads packages
    providerModulesPlugin({
      providers,
      required: isDeno ? [] : required,
      awsCredentials,
      paths,
      isExternal,
    }),
    lazyBuiltinsPlugin(),
    authLocalesPlugin(paths),
    ...createResolvers(),
  ];
}

type BatchResult = (Omit<Bundle, "parts"> | BundleError)[];

/** Bundles functions with compiled schemas, and again without where zod is needed. */
async function bundleWithSchemas(
  build: Build,
  schemas: CompiledSchemas,
  batch: readonly FunctionFile[],
  plugins: Plugin[],
  parts: Parts,
): Promise<BatchResult> {
  try {
    return await tryWithSchemas(build, schemas, batch, plugins, parts);
  } catch {
    // an error of the sources is reported with their own code
    return await bundleBatch(build, batch, plugins);
  }
}

async function tryWithSchemas(
  build: Build,
  schemas: CompiledSchemas,
  batch: readonly FunctionFile[],
  plugins: Plugin[],
  { betterAuth }: Parts,
): Promise<BatchResult> {
  const { paths } = build;
  const plugin = compiledSchemasPlugin(schemas, { paths, omitsAuth: !betterAuth });
  const uses = new Map<string, SchemaUse>();
  const compiled = await bundleBatch(
    build,
    batch,
    [plugin, ...plugins],
    (fn, { metafile, output }) => {
      const { root } = build;
      uses.set(
        fn.name,
        readSchemaUse(schemas, fn.file, output, { inputs: metafile.inputs, root, paths }),
      );
    },
  );
  const keys = new Map<string, readonly string[]>();
  for (const [name, use] of uses) if (use !== undefined && "keys" in use) keys.set(name, use.keys);
  const files = keys.size === 0 ? keys : await bundleSchemas(keys, { ...build, schemas });
  const others = batch.filter(({ name }) => !keys.has(name));
  const ordinary = others.length === 0 ? [] : await bundleBatch(build, others, plugins);
  return [
    ...compiled.filter((each) => "name" in each && keys.has(each.name)),
    ...ordinary,
  ].map((bundle) => {
    if ("message" in bundle) return bundle;
    const { name, map } = bundle;
    return {
      ...bundle,
      map: map && addSourceContents(map, schemas.modules),
      schemaUse: uses.get(name),
      schemas: files.get(name) as SchemaFile | undefined,
    };
  });
}

/** The metadata of a bundle. */
interface BundleMetadata {
  readonly metafile: Metafile;
  readonly output: Metafile["outputs"][string];
}

async function bundleBatch(
  { esbuild, root, common, paths }: Build,
  batch: readonly FunctionFile[],
  plugins: Plugin[],
  onMetadata?: (fn: FunctionFile, metadata: BundleMetadata) => void,
): Promise<BatchResult> {
  const { metafile, outputFiles } = await esbuild.build({
    ...common,
    entryPoints: getEntryPoints(batch),
    plugins,
  }) as { metafile: Metafile; outputFiles: { path: string; text: string }[] };
  const texts = new Map(outputFiles.map(({ path, text }) => [path, text]));
  return batch.map((fn) => {
    const path = getOutputPath(common.outdir, fn);
    const output = metafile.outputs[toPosix(relative(root, path))];
    onMetadata?.(fn, { metafile, output });
    const source = toPosix(relative(root, fn.file));
    if (!output.exports.includes("handler")) {
      return { file: source, line: 1, column: 1, message: "does not export a handler" };
    }
    const { code, map } = addCommonJsGlobals(texts.get(path)!, texts.get(`${path}.map`));
    return { name: fn.name, source, code, map, modules: getSizes(output, root, paths) };
  });
}

function getEntryPoints(batch: readonly FunctionFile[]): Record<string, string> {
  return Object.fromEntries(batch.map(({ name, file }) => [`${name}/index`, file]));
}

function getOutputPath(outdir: string, { name }: FunctionFile): string {
  return join(outdir, name, "index.mjs");
}

function* batches(functions: readonly FunctionFile[]): Generator<readonly FunctionFile[]> {
  for (let at = 0; at < functions.length; at += BATCH) yield functions.slice(at, at + BATCH);
}

/**
 * Adds `require`, `__dirname` and `__filename`, which CommonJS packages use and ES modules lack, if
 * they are needed.
 */
function addCommonJsGlobals(code: string, map: string | undefined): { code: string; map?: string } {
  const lines: string[] = [];
  if (code.includes("Dynamic require of")) {
    lines.push(
      `import{createRequire as __createRequire}from"node:module";const require=__createRequire(import.meta.url);`,
    );
  }
  if (/\b__(?:dirname|filename)\b/.test(code)) {
    lines.push("const{dirname:__dirname,filename:__filename}=import.meta;");
  }
  if (lines.length === 0) return { code, map };
  const at = code.indexOf("\n") + 1;
  return {
    code: `${code.slice(0, at)}${lines.join("")}\n${code.slice(at)}`,
    // skips the added line in the source map
    map: map?.replace('"mappings": "', '"mappings": ";'),
  };
}

function toPosix(path: string): string {
  return path.split(sep).join("/");
}
