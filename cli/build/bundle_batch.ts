import type { BuildOptions, Metafile, Plugin } from "esbuild";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { BundledProject } from "../../database/migrations/function/bundled_project.ts";
import { explainNative, type SourceError } from "../sources/build_error.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import type { BesideFiles } from "../sources/beside_files.ts";
import type { SourceReader } from "../sources/edited_sources.ts";
import type { loadEsbuild } from "../sources/load_esbuild.ts";
import type { ModulePaths } from "../sources/module_paths.ts";
import { isNativePackage, type Parts } from "./optional_parts.ts";
import type { SourcePosition } from "../sources/source_positions.ts";
import type { BuildSettings } from "../config/build.ts";
import { toPortablePath } from "../files/inside_folder.ts";
import { getSizes, listIncluded, type ModuleSize } from "./sizes.ts";

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
  /** The import of the project that brings zod's messages in all languages, and their size. */
  readonly zodMessages?: SourcePosition & { readonly bytes: number };
  /** The files that its code reads, by their path in the folder `files` beside it. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Set with `build.precompile`, if the function has schemas. */
  readonly schemas?: SchemaUse;
}

/** What became of the schemas of a function. */
export type SchemaUse =
  /** The keys of its schemas, and the file with zod and them, which is loaded on demand. */
  | { readonly keys: readonly string[]; readonly code: string; readonly map?: string }
  /** The reason why the bundle has zod. */
  | { readonly reason: string };

/** Settings of a build with their defaults. */
export type BundleSettings =
  & Omit<BuildSettings, "budgets">
  & Required<Omit<BuildSettings, "awsSdk" | "budgets" | "databaseProviders">>;

/** The results of {@link bundleBatch}. */
export type BatchResult = (Omit<Bundle, "parts"> | SourceError)[];

/** The state of a build that all functions share. */
export interface Build {
  readonly esbuild: Awaited<ReturnType<typeof loadEsbuild>>;
  readonly root: string;
  readonly settings: BundleSettings;
  readonly common: BuildOptions & { readonly absWorkingDir: string; readonly outdir: string };
  readonly paths: ModulePaths;
  readonly isDeno: boolean;
  readonly createResolvers: () => Plugin[];
  readonly sources: SourceReader;
  readonly besideFiles: BesideFiles;
  /** Reads the migrations and grants for migration functions. */
  readonly readProject: () => BundledProject;
}

/** The metadata of a bundle. */
export interface BundleMetadata {
  readonly metafile: Metafile;
  readonly output: Metafile["outputs"][string];
}

/**
 * Bundles functions with one call of esbuild.
 *
 * @param onMetadata Called with the metadata of each bundle.
 */
export async function bundleBatch(
  { esbuild, root, common, paths, besideFiles }: Build,
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
    const output = metafile.outputs[toPortablePath(root, path)];
    onMetadata?.(fn, { metafile, output });
    const source = toPortablePath(root, fn.file);
    if (!output.exports.includes("handler")) {
      return { file: source, line: 1, column: 1, message: "does not export a handler" };
    }
    const { code, map } = addCommonJsGlobals(texts.get(path)!, texts.get(`${path}.map`));
    const native = findNativePackage({ metafile, output }, root, paths);
    if (native !== undefined) return native;
    const zodMessages = findZodMessages(output, root, paths);
    const files = besideFiles.listUsed(code);
    const modules = getSizes(output, root, paths);
    return { name: fn.name, source, code, map, files, modules, zodMessages };
  });
}

/** Checks for a file with the messages of zod in a language, which are about half of a small function; all need English. */
function isLocale(path: string): boolean {
  const [name, folder] = path.split(/[/\\]/).toReversed();
  return folder === "locales" && /[/\\]zod[/\\]/.test(path) && !/^(?:en|index)\./.test(name);
}

/**
 * Finds an import of zod as one value, with all of its parts: `import { z } from "zod"`.
 *
 * @returns The offset in the text; -1 if there is none.
 */
function findWholeZod(text: string): number {
  let at = 0;
  // the imports of a text that esbuild has parsed begin at the beginning of a line
  for (const part of text.split(/^(?=import\b|export\b)/m)) {
    const from = part.search(/\bfrom\s*["'](?:npm:)?zod(?:@[^/"']*)?(?:\/v4)?["']/);
    const names = from < 0 ? "" : part.slice(0, from);
    if (
      /^(?:import|export)\s+(?:z\b|\{)/.test(names) && /\bz\b/.test(names) && !/[;"']/.test(names)
    ) {
      return at;
    }
    at += part.length;
  }
  return -1;
}

/** Finds the import of the project that brings zod's messages in all languages. Packages may bring them, too. */
function findZodMessages(
  output: BundleMetadata["output"],
  root: string,
  paths: ModulePaths,
): Bundle["zodMessages"] {
  const bytes = listIncluded(output).filter(isLocale)
    .reduce((sum, path) => sum + output.inputs[path].bytesInOutput, 0);
  if (bytes === 0) return undefined;
  for (const file of Object.keys(output.inputs)) {
    const path = resolve(root, file);
    if (paths.getPackage(path) !== undefined || !existsSync(path)) continue;
    const text = readFileSync(path, "utf8");
    const at = findWholeZod(text);
    if (at >= 0) return { file, line: text.slice(0, at).split("\n").length, column: 1, bytes };
  }
  return undefined;
}

/** Finds a package with native code in a bundle, and the line of the project that imports it. */
function findNativePackage(
  { metafile, output }: BundleMetadata,
  root: string,
  paths: ModulePaths,
): SourceError | undefined {
  const isNative = new Map<string, boolean>();
  const findName = (path: string): string | undefined => {
    const file = resolve(root, path);
    const folder = paths.getPackageFolder(file);
    if (folder === undefined) return undefined;
    if (!isNative.has(folder)) isNative.set(folder, isNativePackage(folder));
    return isNative.get(folder) ? paths.getPackage(file) : undefined;
  };
  const included = listIncluded(output);
  const name = included.map(findName).find((each) => each !== undefined);
  if (name === undefined) return undefined;
  const [importer, specifier] = included.filter((path) => findName(path) === undefined).flatMap((
    path,
  ) => {
    const found = metafile.inputs[path].imports.find((each) => findName(each.path) === name);
    return found === undefined ? [] : [[path, found.original ?? name]];
  })[0] ?? [name, name];
  const file = resolve(root, importer);
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  const line = Math.max(0, lines.findIndex((text) => text.includes(specifier)));
  return {
    file: importer,
    line: line + 1,
    column: 1,
    message: explainNative(name),
  };
}

/** Returns the entry points of functions by output path. */
export function getEntryPoints(batch: readonly FunctionFile[]): Record<string, string> {
  return Object.fromEntries(batch.map(({ name, file }) => [`${name}/index`, file]));
}

/** Returns the path of a bundle. */
export function getOutputPath(outdir: string, { name }: Pick<FunctionFile, "name">): string {
  return join(outdir, name, "index.mjs");
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
