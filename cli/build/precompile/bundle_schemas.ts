import type { BuildFailure, Plugin } from "esbuild";
import { join, resolve } from "node:path";
import type { FunctionFile } from "../../discovery/function_files.ts";
import {
  type BatchResult,
  type Build,
  bundleBatch,
  type BundleMetadata,
  type SchemaUse,
} from "../bundle_batch.ts";
import type { SourceEditor } from "../../sources/edited_sources.ts";
import type { ModulePaths } from "../../sources/module_paths.ts";
import { listIncluded } from "../sizes.ts";
import { resolveOwnModule } from "../../sources/trellis_import.ts";
import { compiledSchemasEditor, compiledSchemasPlugin } from "./compiled_schemas_plugin.ts";
import { type CompiledSchemas, ORIGINALS, originalsPlugin } from "./compile_schemas.ts";
import { COMPILED, SCHEMA_FILE } from "./specifiers.ts";
import { loadGenerated } from "../generated_modules.ts";

/**
 * Bundles functions with compiled schemas, and as usual where zod is needed: either a bundle is without
 * zod, which is in a second file, or nothing of it is compiled.
 *
 * @param createPlugins Creates the plugins of the build with these editors.
 */
export async function bundleWithSchemas(
  build: Build,
  schemas: CompiledSchemas | Error | undefined,
  batch: readonly FunctionFile[],
  createPlugins: (editors: readonly SourceEditor[]) => Plugin[],
): Promise<BatchResult> {
  if (schemas === undefined) return await bundleBatch(build, batch, createPlugins([]));
  const results: BatchResult = [];
  const reasons = new Map<string, string>();
  let left = batch;
  let failure = "";
  try {
    if (schemas instanceof Error) throw schemas;
    for (const { name } of batch) {
      const use = schemas.functions.get(name);
      if (use !== undefined && "reason" in use) reasons.set(name, use.reason);
    }
    const chosen = batch.filter(({ name }) => {
      const use = schemas.functions.get(name);
      return use !== undefined && "keys" in use;
    });
    const keys = new Map<string, readonly string[]>();
    const plugins = [
      compiledSchemasPlugin(schemas, build.paths),
      ...createPlugins([compiledSchemasEditor(schemas)]),
    ];
    const bundles = chosen.length === 0
      ? []
      : await bundleBatch(build, chosen, plugins, (fn, metadata) => {
        const importer = findZod(metadata, build);
        if (importer === undefined) keys.set(fn.name, listKeys(metadata));
        else reasons.set(fn.name, `${importer} imports zod`);
      });
    const files = await bundleSchemaFiles(keys, schemas, build);
    left = batch.filter(({ name }) => !files.has(name));
    for (const [at, bundle] of bundles.entries()) {
      const schemas = files.get(chosen[at].name);
      if (schemas !== undefined) {
        results.push("message" in bundle ? bundle : { ...bundle, schemas });
      }
    }
  } catch (error) {
    // bundled as usual it throws again for an error in the sources, with its position in them
    const [first] = (error as Partial<BuildFailure>).errors ?? [];
    const [message] = (first?.text ?? (error as Error).message).split("\n");
    failure = `it cannot be compiled ahead of time: ${message}`;
  }
  if (left.length === 0) return results;
  for (const bundle of await bundleBatch(build, left, createPlugins([]))) {
    if ("message" in bundle) {
      results.push(bundle);
      continue;
    }
    const hasZod = bundle.modules.some((each) => each.package === "zod");
    const reason = hasZod && (reasons.get(bundle.name) ?? failure);
    results.push(reason ? { ...bundle, schemas: { reason } } : bundle);
  }
  return results;
}

/** Returns the module that brings zod into a bundle; `undefined` if it is without zod. */
function findZod(
  { metafile: { inputs }, output }: BundleMetadata,
  { root, paths }: { readonly root: string; readonly paths: ModulePaths },
): string | undefined {
  const included = listIncluded(output);
  const isZod = (path: string) => paths.getPackage(resolve(root, path)) === "zod";
  const hasZod = included.some(isZod) ||
    output.imports.some(({ path }) => /^zod(?:\/|$)/.test(path));
  if (!hasZod) return undefined;
  return included.find((path) =>
    !isZod(path) && inputs[path].imports.some((each) => isZod(each.path))
  ) ?? "a module";
}

function listKeys({ output }: BundleMetadata): readonly string[] {
  return listIncluded(output).filter((path) => path.startsWith(COMPILED))
    .map((path) => path.slice(COMPILED.length));
}

const ENTRY = "trellis-schemas-of:";
const NAMESPACE = ENTRY.slice(0, -1);

/** Bundles zod and the schemas of functions into CommonJS modules: their keys by function. */
async function bundleSchemaFiles(
  keys: ReadonlyMap<string, readonly string[]>,
  schemas: CompiledSchemas,
  { esbuild, common, paths, createResolvers }: Build,
): Promise<ReadonlyMap<string, SchemaUse>> {
  if (keys.size === 0) return new Map();
  const name = SCHEMA_FILE.replace(".cjs", "");
  const { outputFiles } = await esbuild.build({
    ...common,
    entryPoints: Object.fromEntries([...keys.keys()].map((fn) => [`${fn}/${name}`, ENTRY + fn])),
    outExtension: { ".js": ".cjs" },
    format: "cjs",
    plugins: [
      entriesPlugin(schemas, paths),
      originalsPlugin(schemas.functions, schemas.imports),
      ...createResolvers(),
    ],
  }) as { outputFiles: { path: string; text: string }[] };
  const texts = new Map(outputFiles.map(({ path, text }) => [path, text]));
  return new Map([...keys].map(([fn, used]) => {
    const path = join(common.outdir, fn, SCHEMA_FILE);
    return [fn, { keys: used, code: texts.get(path)!, map: texts.get(`${path}.map`) }];
  }));
}

function entriesPlugin(
  { trellis }: CompiledSchemas,
  paths: ModulePaths,
): Plugin {
  return {
    name: "schema files",
    setup(build): void {
      build.onResolve({ filter: new RegExp(`^${ENTRY}`) }, ({ path }) => ({
        path: path.slice(ENTRY.length),
        namespace: NAMESPACE,
      }));
      build.onResolve({ filter: /^validation$/, namespace: NAMESPACE }, ({ kind }) => {
        return resolveOwnModule(build, trellis, { paths, module: "validation/schema", kind });
      });
      loadGenerated(
        build,
        NAMESPACE,
        (path) =>
          `export { schemas } from ${JSON.stringify(ORIGINALS + path)};
export { createFallbackValidator, createValidator, getListKeys, validateSchema, validateSchemaAsync } from "validation";
`,
      );
    },
  };
}
