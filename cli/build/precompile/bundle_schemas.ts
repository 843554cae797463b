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
import type { ModulePaths } from "../module_paths.ts";
import { listIncluded } from "../sizes.ts";
import { resolveOwnModule } from "../trellis_import.ts";
import { compiledSchemasPlugin, OWN_NAMESPACE } from "./compiled_schemas_plugin.ts";
import { type CompiledSchemas, listUses } from "./compile_schemas.ts";
import { originalSchemasPlugin } from "./original_schemas_plugin.ts";
import { COMPILED, ORIGINAL } from "./schema_code.ts";
import { SCHEMA_FILE, USED } from "./specifiers.ts";

/**
 * Bundles functions with compiled schemas, and as usual where zod is needed: either a bundle is without
 * zod, which is in a second file, or nothing of it is compiled.
 *
 * @param plugins The plugins of the build.
 * @param omitsAuth True if imports of the auth library are omitted.
 */
export async function bundleWithSchemas(
  build: Build,
  batch: readonly FunctionFile[],
  plugins: Plugin[],
  omitsAuth: boolean,
): Promise<BatchResult> {
  const { schemas, paths } = build;
  if (schemas === undefined) return await bundleBatch(build, batch, plugins);
  const results: BatchResult = [];
  const reasons = new Map<string, string>();
  let left = batch;
  let failure = "";
  try {
    if (schemas instanceof Error) throw schemas;
    const keys = new Map<string, readonly string[]>();
    const plugin = compiledSchemasPlugin(schemas, { paths, omitsAuth });
    const bundles = await bundleBatch(build, batch, [plugin, ...plugins], (fn, metadata) => {
      const use = readSchemaUse(schemas, fn.file, metadata, build);
      if (use === undefined) return;
      if ("reason" in use) reasons.set(fn.name, use.reason);
      else keys.set(fn.name, use.keys);
    });
    const files = await bundleSchemaFiles(keys, schemas, build);
    left = batch.filter(({ name }) => !files.has(name));
    for (const [at, bundle] of bundles.entries()) {
      const schemas = files.get(batch[at].name);
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
  for (const bundle of await bundleBatch(build, left, plugins)) {
    if ("message" in bundle) {
      results.push(bundle);
      continue;
    }
    const hasZod = bundle.modules.some((each) => each.package === "zod");
    const reason = reasons.get(bundle.name) ?? (hasZod && failure);
    results.push(reason ? { ...bundle, schemas: { reason } } : bundle);
  }
  return results;
}

const MAX_REASONS = 3;

/** Returns true for entry points of zod whose messages depend on a setting of the others. */
const isMini = (specifier: string): boolean => /mini$/.test(specifier);

/**
 * Checks whether the bundle of a function needs zod.
 *
 * @returns The keys of its compiled schemas, or the reason why it needs zod; `undefined` if it has no
 * schemas.
 */
function readSchemaUse(
  schemas: CompiledSchemas,
  file: string,
  { metafile: { inputs }, output }: BundleMetadata,
  { root, paths }: { readonly root: string; readonly paths: ModulePaths },
): { readonly keys: readonly string[] } | { readonly reason: string } | undefined {
  const included = listIncluded(output);
  const isZod = (path: string) => paths.getPackage(resolve(root, path)) === "zod";
  const modules = schemas.sources.listModules(file);
  const ownPaths = new Set(included.map((path) => resolve(root, path)));
  const own = modules.filter(({ module }) => ownPaths.has(module.path));
  const needsZod = included.includes(`${OWN_NAMESPACE}:${USED}`) || included.some(isZod) ||
    output.imports.some(({ path }) => /^zod(?:\/|$)/.test(path));
  if (needsZod) {
    const importer = included.find((path) =>
      !isZod(path) && inputs[path].imports.some((each) => isZod(each.path))
    );
    const uses = listUses(schemas, own, false);
    return {
      reason: uses.length > 0
        ? uses.slice(0, MAX_REASONS).join("; ")
        : `${importer ?? "a module"} imports zod`,
    };
  }
  const keys = included.filter((path) => path.startsWith(COMPILED)).map((path) => {
    return path.slice(COMPILED.length);
  });
  if (keys.length === 0) return undefined;
  const [use] = listUses(schemas, own, true);
  if (use !== undefined) return { reason: use };
  const specifiers = modules.flatMap((module) => module.schemas).flatMap(({ references }) =>
    [...references.values()].flatMap((each) => each.kind === "zod" ? [each.specifier] : [])
  );
  if (specifiers.some(isMini) && !specifiers.every(isMini)) {
    return { reason: "zod and zod/mini are both used, and their messages depend on each other" };
  }
  return { keys };
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
      entriesPlugin(keys, schemas, paths),
      originalSchemasPlugin(schemas),
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
  keys: ReadonlyMap<string, readonly string[]>,
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
      build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path }) => ({
        contents: renderEntry(keys.get(path)!),
        loader: "js",
      }));
    },
  };
}

function renderEntry(keys: readonly string[]): string {
  const imports = keys.map((key, index) =>
    `import { value as v${index} } from ${JSON.stringify(ORIGINAL + key)};`
  );
  const members = keys.map((key, index) => `${JSON.stringify(key)}: v${index}`);
  return `${imports.join("\n")}
export const schemas = { ${members.join(", ")} };
export { createFallbackValidator, createValidator, getListKeys, validateSchema, validateSchemaAsync } from "validation";
`;
}
