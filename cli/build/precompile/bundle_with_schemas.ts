import type { Plugin } from "esbuild";
import type { FunctionFile } from "../../discovery/function_files.ts";
import { type BatchResult, type Build, bundleBatch } from "../bundle_batch.ts";
import { bundleSchemas, readSchemaUse, type SchemaFile, type SchemaUse } from "./bundle_schemas.ts";
import { compiledSchemasPlugin } from "./compiled_schemas_plugin.ts";
import type { Parts } from "../optional_parts.ts";
import type { CompiledSchemas } from "./compile_schemas.ts";
import { getQueryChanges } from "../precompile_queries/compiled_queries_plugin.ts";

/**
 * Bundles functions with compiled schemas, and as usual where zod is needed.
 *
 * @param parts The optional parts in the bundles.
 */
export async function bundleWithSchemas(
  build: Build,
  batch: readonly FunctionFile[],
  plugins: Plugin[],
  parts: Parts,
): Promise<BatchResult> {
  const { schemas } = build;
  try {
    if (schemas === undefined) return await bundleBatch(build, batch, plugins);
    if (schemas instanceof Error) throw schemas;
    return await tryWithSchemas(build, schemas, batch, plugins, parts);
  } catch (error) {
    // throws again for an error in the sources, with its position in them
    const bundles = await bundleBatch(build, batch, plugins);
    const [line] = (error as Error).message.split("\n");
    const schemaUse = { reason: `the schemas cannot be compiled: ${line}` };
    return bundles.map((bundle) => {
      const hasZod = "modules" in bundle && bundle.modules.some((each) => each.package === "zod");
      return hasZod ? { ...bundle, schemaUse } : bundle;
    });
  }
}

async function tryWithSchemas(
  build: Build,
  schemas: CompiledSchemas,
  batch: readonly FunctionFile[],
  plugins: Plugin[],
  { betterAuth }: Parts,
): Promise<BatchResult> {
  const { paths, queries } = build;
  const plugin = compiledSchemasPlugin(schemas, {
    paths,
    omitsAuth: !betterAuth,
    getChanges: (path) => queries && getQueryChanges(queries, path),
  });
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
  const files: ReadonlyMap<string, SchemaFile> = keys.size === 0
    ? new Map()
    : await bundleSchemas(keys, { ...build, schemas });
  const others = batch.filter(({ name }) => !keys.has(name));
  const ordinary = others.length === 0 ? [] : await bundleBatch(build, others, plugins);
  return [
    ...compiled.filter((each) => "name" in each && keys.has(each.name)),
    ...ordinary,
  ].map((bundle) => {
    if ("message" in bundle) return bundle;
    const { name } = bundle;
    return {
      ...bundle,
      schemaUse: uses.get(name),
      schemas: files.get(name),
    };
  });
}
