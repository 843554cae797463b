import type { BuildResult, Plugin } from "esbuild";
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DenoImports } from "../sources/deno_imports.ts";
import { isTrellis, toBareSpecifier } from "../sources/package_specifier.ts";
import type { SourceEditor } from "../sources/edited_sources.ts";
import { loadEsbuild } from "../sources/load_esbuild.ts";
import { BuildError, toBuildError } from "../sources/build_error.ts";
import { LOCAL_BUILD, localResolver } from "../sources/local_bundle.ts";
import { nameEntryPoints } from "../sources/entry_points.ts";
import { OUT } from "./load_protocol.ts";
import { markDefinitions, type Runs } from "./mark_definitions.ts";

/** A function to load. */
export interface FunctionSource {
  readonly name: string;
  /** Absolute path. */
  readonly file: string;
  /** The code that is kept. Default: what the function runs. */
  readonly runs?: Runs;
  /** Absolute path of a module that exports nothing if the file does not exist. */
  readonly optionalFile?: string;
}

/** A function's sources as one module, without the definitions that it does not use. */
export interface FunctionBundle extends FunctionSource {
  readonly code: string;
  /** The code that is kept. */
  readonly runs: Runs;
  /** Source map of the code (JSON). */
  readonly map: string;
  /** Absolute paths of the sources. */
  readonly inputs: readonly string[];
}

/**
 * Bundles each function as a separate module, with the modules that it imports on demand. Definitions that it
 * does not use are dropped. Packages stay external.
 *
 * @param root Absolute path of the project.
 * @param runs The code that the functions run: see `markDefinitions`.
 * @throws {BuildError} If a source is invalid or an import cannot be resolved.
 */
export async function bundleFunctions(
  root: string,
  functions: readonly FunctionSource[],
  runs: Runs,
): Promise<FunctionBundle[]> {
  return await bundle(root, functions, runs, definitionsEditor(runs));
}

/**
 * Finds out why a function cannot be bundled.
 *
 * @returns The error, whose places are lines and columns of the sources.
 */
export async function findBundleError(
  root: string,
  fn: FunctionSource,
): Promise<BuildError | undefined> {
  try {
    await bundle(root, [fn], { jobs: true, routes: true });
    return undefined;
  } catch (error) {
    if (error instanceof BuildError) return error;
    throw error;
  }
}

async function bundle(
  root: string,
  functions: readonly FunctionSource[],
  runs: Runs,
  ...editors: SourceEditor[]
): Promise<FunctionBundle[]> {
  const { build } = await loadEsbuild("trellis generate");
  const outdir = join(root, OUT);
  const { entryPoints, plugin } = nameEntryPoints(functions.map(({ file }) => file));
  let result: BuildResult<{ write: false; metafile: true }>;
  try {
    result = await build({
      ...LOCAL_BUILD,
      entryPoints,
      outdir,
      absWorkingDir: root,
      // queries are named after functions
      keepNames: true,
      metafile: true,
      sourcemap: "external",
      sourcesContent: false,
      plugins: [
        plugin,
        environmentPlugin,
        optionalModule(functions[0].optionalFile),
        localResolver(root, new Map(), editors, true),
      ],
      define: { "process.env": "__trellisEnvironment" },
    });
  } catch (error) {
    throw toBuildError(functions.map(({ name }) => name).join(", "), error);
  }
  const texts = new Map(result.outputFiles.map(({ path, text }) => [path, text]));
  return functions.map((fn, at) => {
    const { inputs } = result.metafile.outputs[`${OUT}/f${at}.js`];
    return {
      ...fn,
      runs,
      code: texts.get(join(outdir, `f${at}.js`))!,
      map: texts.get(join(outdir, `f${at}.js.map`))!,
      inputs: Object.keys(inputs).map((path) => join(root, path)),
    };
  });
}

/** Creates the editor that marks the definitions of the project's sources. */
function definitionsEditor(runs: Runs): SourceEditor {
  const imports = new DenoImports();
  return {
    wants: (path, text) =>
      !/[\\/]node_modules[\\/]/.test(path) && /\b(?:define|create|configure|secret)/.test(text),
    edit: ({ path, program }) => {
      const isOwn = (specifier: string) =>
        isTrellis(toBareSpecifier(imports.find(specifier, dirname(path)) ?? specifier));
      return { edits: markDefinitions(program, { isOwn, runs }) };
    },
  };
}

const ENVIRONMENT = "trellis-environment";

/** Gives the project its own `process.env`, so that what it reads is seen; the package reads the real one. */
const environmentPlugin: Plugin = {
  name: ENVIRONMENT,
  setup({ onResolve, onLoad }): void {
    onResolve({ filter: /^(?:node:)?process$/ }, ({ namespace, kind }) => {
      if (namespace === ENVIRONMENT || kind === "require-call") return undefined;
      return { path: "process", namespace: ENVIRONMENT };
    });
    onLoad({ filter: /.*/, namespace: ENVIRONMENT }, () => ({
      contents: `import real from "node:process";
        export * from "node:process";
        export const env = /* @__PURE__ */ (() => __trellisEnvironment)();
        export default /* @__PURE__ */ (() => Object.create(real, { env: { value: __trellisEnvironment } }))();`,
      loader: "js",
    }));
  },
};

const OPTIONAL = "trellis-optional";

/** Resolves imports of a file that does not exist to a module without exports. */
export function optionalModule(file: string | undefined): Plugin {
  return {
    name: OPTIONAL,
    setup({ onResolve, onLoad }): void {
      if (file === undefined || existsSync(file)) return;
      onResolve(
        { filter: /^\./ },
        ({ path, resolveDir }) =>
          resolve(resolveDir, path) === file ? { path: "missing", namespace: OPTIONAL } : undefined,
      );
      onLoad({ filter: /.*/, namespace: OPTIONAL }, () => ({ contents: "module.exports = {};" }));
    },
  };
}
