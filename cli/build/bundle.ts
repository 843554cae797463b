import type { BuildFailure, BuildOptions, Message, Metafile } from "esbuild";
import { join, relative, resolve, sep } from "node:path";
import { getPackageName } from "../analysis/import_aliases.ts";
import type { BuildSettings } from "../config/build.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { findDenoConfig, loadDenoGraph } from "./deno_graph.ts";
import { denoPlugin } from "./deno_plugin.ts";
import { createEagerRewrite, type Rewrite, rewritePlugin } from "./eager_imports.ts";
import { lazyBuiltinsPlugin } from "./lazy_builtins.ts";
import { loadEsbuild } from "./load_esbuild.ts";
import { createModulePaths } from "./module_paths.ts";
import type { Needs } from "./needs.ts";
import {
  createExternalCheck,
  getInstallCommand,
  optionalPartsPlugin,
  type Parts,
  selectParts,
} from "./optional_parts.ts";
import type { SourcePosition } from "./provider_location.ts";
import { scanNeeds } from "./scan_needs.ts";
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
}

/** An error that prevents bundling. */
export interface BundleError {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Options of {@link bundleFunctions}. */
export interface BundleOptions {
  /** The project folder, without symbolic links. */
  readonly root: string;
  readonly functions: readonly FunctionFile[];
  readonly settings:
    & Omit<BuildSettings, "budgets">
    & Required<Omit<BuildSettings, "budgets" | "databaseProviders">>;
  /** Called with each bundle as soon as it is finished, in no particular order. */
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
 * @param options Functions and settings.
 * @returns The errors; empty if all functions are bundled.
 * @throws {ConfigurationError} If esbuild or Deno is missing.
 */
export async function bundleFunctions(options: BundleOptions): Promise<BundleError[]> {
  const { root, functions, settings, onBundle, onProgress } = options;
  if (functions.length === 0) return [];
  const esbuild = await loadEsbuild("trellis build");
  const paths = createModulePaths(root);
  const outdir = resolve(root, settings.dir);
  try {
    const denoConfig = findDenoConfig(root);
    const graph = denoConfig === undefined
      ? undefined
      : await loadDenoGraph(denoConfig, functions.map(({ file }) => file));
    const resolvers = (rewrite?: Rewrite) =>
      graph === undefined ? [] : [denoPlugin(graph, paths, rewrite)];
    const isExternal = createExternalCheck([
      ...settings.external,
      ...settings.awsSdk === "runtime" ? ["@aws-sdk/*"] : [],
    ]);
    const common: BuildOptions = {
      absWorkingDir: root,
      outdir,
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
      sourcemap: settings.sourceMaps === "none"
        ? false
        : settings.sourceMaps === "apart"
        ? "external"
        : "linked",
      sourcesContent: false,
      metafile: true,
      write: false,
      logLevel: "silent",
      banner: { js: FIRST_LINE },
    };
    const entryPoints = (batch: readonly FunctionFile[]) =>
      Object.fromEntries(batch.map(({ name, file }) => [`${name}/index`, file]));
    const getOutput = ({ name }: FunctionFile) => join(outdir, name, "index.mjs");

    const groups = new Map<
      string,
      { functions: FunctionFile[]; parts: Parts; required: Needs["providers"] }
    >();
    const unreadProviders = new Map<string, SourcePosition | undefined>();
    for (const batch of batches(functions)) {
      const needs = await scanNeeds(
        esbuild,
        { ...common, entryPoints: entryPoints(batch), plugins: resolvers() },
        paths,
      );
      for (const fn of batch) {
        const own = needs.get(getOutput(fn))!;
        const parts = selectParts(fn.name, own, settings);
        if (settings.databaseProviders === undefined) {
          unreadProviders.set(fn.name, own.unreadPosition);
        }
        const required = settings.databaseProviders ?? (own.anyProvider ? [] : own.providers);
        const key = JSON.stringify([parts, required]);
        const group = groups.get(key) ?? { functions: [], parts, required };
        group.functions.push(fn);
        groups.set(key, group);
      }
    }

    const errors: BundleError[] = [];
    let done = 0;
    for (const { functions: group, parts, required } of groups.values()) {
      const optionalParts = optionalPartsPlugin({
        ...parts,
        required: denoConfig === undefined ? required : [],
        paths,
        isExternal,
      });
      const [only, ...others] = parts.providers;
      const rewrite = only === undefined || others.length > 0
        ? undefined
        : createEagerRewrite(only, isExternal, paths);
      const plugins = [
        optionalParts,
        lazyBuiltinsPlugin(),
        ...rewrite === undefined ? [] : [rewritePlugin(rewrite)],
        ...resolvers(rewrite),
      ];
      for (const batch of batches(group)) {
        const { metafile, outputFiles } = await esbuild.build({
          ...common,
          entryPoints: entryPoints(batch),
          plugins,
        }) as { metafile: Metafile; outputFiles: { path: string; text: string }[] };
        const texts = new Map(outputFiles.map((file) => [file.path, file]));
        for (const fn of batch) {
          const path = getOutput(fn);
          const output = metafile.outputs[toPosix(relative(root, path))];
          const source = toPosix(relative(root, fn.file));
          if (!output.exports.includes("handler")) {
            errors.push({ file: source, line: 1, column: 1, message: "does not export a handler" });
            continue;
          }
          const { code, map } = addCommonJsGlobals(
            texts.get(path)!.text,
            texts.get(`${path}.map`)?.text,
          );
          onBundle({
            name: fn.name,
            source,
            code,
            map,
            modules: getSizes(output, root, paths),
            parts,
            unreadProvider: unreadProviders.get(fn.name),
          });
        }
        onProgress(done += batch.length, functions.length);
      }
    }
    return errors;
  } catch (error) {
    const { errors } = error as BuildFailure;
    if (!Array.isArray(errors)) throw error;
    return errors.map(toBundleError);
  } finally {
    await esbuild.stop();
  }
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

function toBundleError({ text, location, notes }: Message): BundleError {
  const [, missing = ""] = /^Could not resolve "([^"]+)"/.exec(text) ?? [];
  const install = getInstallCommand(getPackageName(missing));
  const advice = install === undefined
    ? notes.map((each) => each.text)
    : [`Install it: ${install}`];
  const note = advice.length === 0 ? "" : `. ${advice.join(" ")}`;
  return {
    file: location?.file ?? "",
    line: location?.line ?? 1,
    column: (location?.column ?? 0) + 1,
    message: `${text}${note}`,
  };
}

function toPosix(path: string): string {
  return path.split(sep).join("/");
}
