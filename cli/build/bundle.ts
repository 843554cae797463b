import type { BuildFailure, BuildOptions, Message, Metafile } from "esbuild";
import { join, relative, resolve, sep } from "node:path";
import { getPackageName } from "../analysis/import_aliases.ts";
import type { BuildSettings } from "../config/build.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { findDenoConfig, loadDenoGraph } from "./deno_graph.ts";
import { denoPlugin } from "./deno_plugin.ts";
import { eagerImports, type Rewrite, rewritePlugin } from "./eager_imports.ts";
import { lazyBuiltinsPlugin } from "./lazy_builtins.ts";
import { loadEsbuild } from "./load_esbuild.ts";
import { createModulePaths } from "./module_paths.ts";
import type { Needs } from "./needs.ts";
import {
  externals,
  getInstallCommand,
  getParts,
  optionalPartsPlugin,
  type Parts,
} from "./optional_parts.ts";
import type { SourcePlace } from "./provider_place.ts";
import { scanNeeds } from "./scan_needs.ts";
import { getSizes, type ModuleSize } from "./sizes.ts";

/** The first line of a bundle of ours. */
export const MARKER =
  "// Built by trellis build. Changes are overwritten; without this line the file is left alone.";

/** A function's bundle. */
export interface Bundle {
  readonly name: string;
  /** The source, relative to the project. */
  readonly source: string;
  readonly code: string;
  readonly map?: string;
  /** What is in it, the largest first. */
  readonly modules: readonly ModuleSize[];
  /** What of the package's optional parts is in it. */
  readonly parts: Parts;
  /** Where its provider could not be read, so that the drivers of all are in it. */
  readonly unreadProvider?: SourcePlace;
}

/** Why a function cannot be bundled. */
export interface BundleFault {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Options of {@link bundleFunctions}. */
export interface BundleOptions {
  /** The project's folder, without symbolic links. */
  readonly root: string;
  readonly functions: readonly FunctionFile[];
  readonly settings:
    & Omit<BuildSettings, "budgets">
    & Required<Omit<BuildSettings, "budgets" | "databaseProviders">>;
  /** Takes each bundle as soon as it is made; they come in no order. */
  readonly onBundle: (bundle: Bundle) => void;
  /** How many are done. */
  readonly onProgress: (done: number, total: number) => void;
}

/** So many functions are bundled at once: what they share is read once, and all that they are is in memory together. */
const BATCH = 16;

/**
 * Bundles functions, one ES module each.
 *
 * @param options Functions and settings.
 * @returns What keeps functions from being bundled; nothing when all is well.
 * @throws {ConfigurationError} When esbuild or Deno is missing.
 */
export async function bundleFunctions(options: BundleOptions): Promise<BundleFault[]> {
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
    const isExternal = externals([
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
      // ES modules before CommonJS: only they can be tree-shaken
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
      banner: { js: MARKER },
    };
    const entryPoints = (batch: readonly FunctionFile[]) =>
      Object.fromEntries(batch.map(({ name, file }) => [`${name}/index`, file]));
    const getOutput = ({ name }: FunctionFile) => join(outdir, name, "index.mjs");

    const groups = new Map<
      string,
      { functions: FunctionFile[]; parts: Parts; required: Needs["providers"] }
    >();
    const places = new Map<string, SourcePlace | undefined>();
    for (const batch of batches(functions)) {
      const needs = await scanNeeds(
        esbuild,
        { ...common, entryPoints: entryPoints(batch), plugins: resolvers() },
        paths,
      );
      for (const fn of batch) {
        const own = needs.get(getOutput(fn))!;
        const parts = getParts(fn.name, own, settings);
        if (settings.databaseProviders === undefined) places.set(fn.name, own.unreadPlace);
        const required = settings.databaseProviders ?? (own.anyProvider ? [] : own.providers);
        const key = JSON.stringify([parts, required]);
        const group = groups.get(key) ?? { functions: [], parts, required };
        group.functions.push(fn);
        groups.set(key, group);
      }
    }

    const faults: BundleFault[] = [];
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
        : eagerImports(only, isExternal, paths);
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
            faults.push({ file: source, line: 1, column: 1, message: "exports no handler" });
            continue;
          }
          const { code, map } = withRequire(texts.get(path)!.text, texts.get(`${path}.map`)?.text);
          onBundle({
            name: fn.name,
            source,
            code,
            map,
            modules: getSizes(output, root, paths),
            parts,
            unreadProvider: places.get(fn.name),
          });
        }
        onProgress(done += batch.length, functions.length);
      }
    }
    return faults;
  } catch (error) {
    const { errors } = error as BuildFailure;
    if (!Array.isArray(errors)) throw error;
    return errors.map(toFault);
  } finally {
    await esbuild.stop();
  }
}

function* batches(functions: readonly FunctionFile[]): Generator<readonly FunctionFile[]> {
  for (let at = 0; at < functions.length; at += BATCH) yield functions.slice(at, at + BATCH);
}

/** CommonJS packages call `require` and look for their folder, which an ES module lacks; the others need no such line. */
function withRequire(code: string, map: string | undefined): { code: string; map?: string } {
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
    // one more line without mappings
    map: map?.replace('"mappings": "', '"mappings": ";'),
  };
}

function toFault({ text, location, notes }: Message): BundleFault {
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
