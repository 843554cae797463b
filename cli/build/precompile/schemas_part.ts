import type { Build } from "../bundle_batch.ts";
import type { CompiledPart } from "../compiled_part.ts";
import type { Parts } from "../optional_parts.ts";
import { bundleSchemas, readSchemaUse } from "./bundle_schemas.ts";
import { compiledSchemasPlugin } from "./compiled_schemas_plugin.ts";
import { SCHEMA_FILE } from "./specifiers.ts";

/**
 * Creates the part of functions that replaces zod by compiled schemas.
 *
 * @param parts The optional parts in the bundles.
 * @returns The part; `undefined` if there are no schemas.
 */
export function createSchemasPart(
  build: Build,
  { betterAuth }: Parts,
): CompiledPart | undefined {
  const { schemas, paths, root } = build;
  if (schemas === undefined) return undefined;
  const description = { package: "zod", file: SCHEMA_FILE } as const;
  if (schemas instanceof Error) {
    const fail = () => {
      throw schemas;
    };
    return { ...description, error: schemas, createPlugin: fail, read: fail, bundle: fail };
  }
  return {
    ...description,
    createPlugin: () => compiledSchemasPlugin(schemas, { paths, omitsAuth: !betterAuth }),
    read: ({ file }, { metafile: { inputs }, output }) =>
      readSchemaUse(schemas, file, output, { inputs, root, paths }),
    bundle: (keys) => bundleSchemas(keys, schemas, build),
  };
}
