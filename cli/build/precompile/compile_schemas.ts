import type { BuildOptions, Plugin } from "esbuild";
import type { $ZodType } from "zod/v4/core";
import type { loadEsbuild } from "../load_esbuild.ts";
import type { ModulePaths } from "../module_paths.ts";
import { findTrellisImport, type TrellisImport } from "../trellis_import.ts";
import { type ExpressionIndex, originalSchemasPlugin } from "./original_schemas_plugin.ts";
import { NotPure, type PureExpression } from "./pure_expression.ts";
import { readSchemaSources, type SchemaSources } from "./read_schemas.ts";
import { ORIGINAL } from "./schema_code.ts";
import {
  getSchemaKey,
  type SchemaModuleSource,
  type SourceSchema,
  type ZodUse,
} from "./schema_module.ts";
import { LOADER, RUNTIME } from "./specifiers.ts";
import { writeSchemaModule } from "./source_program.ts";

/** The schemas of a project that are compiled ahead of time. */
export interface CompiledSchemas extends ExpressionIndex {
  readonly sources: SchemaSources;
  /** Code of modules by the key of their schema. */
  readonly modules: ReadonlyMap<string, string>;
  /** Reasons why schemas are left to zod, by key. */
  readonly reasons: ReadonlyMap<string, string>;
  readonly trellis: TrellisImport;
}

/** Options of {@link compileSchemas}. */
export interface CompileOptions {
  readonly esbuild: Awaited<ReturnType<typeof loadEsbuild>>;
  readonly root: string;
  readonly files: readonly string[];
  readonly paths: ModulePaths;
  /** Options of the build. */
  readonly common: BuildOptions;
  readonly createResolvers: () => Plugin[];
}

/**
 * Compiles the schemas of functions. Only expressions that call nothing but zod are evaluated.
 *
 * @returns The schemas; `undefined` if there are none.
 */
export async function compileSchemas(
  options: CompileOptions,
): Promise<CompiledSchemas | undefined> {
  const sources = readSchemaSources(options.root, options.files, options.paths);
  const trellis = findTrellisImport(
    sources.project,
    [...sources.modules.values()].map(({ module }) => module),
  );
  const schemas = [...sources.modules.values()].flatMap((module) => module.schemas);
  if (trellis === undefined || schemas.length === 0) return undefined;

  const { find, getKey } = indexExpressions(sources, schemas);
  const values = await evaluate(schemas, { ...options, find, getKey });
  const modules = new Map<string, string>();
  const reasons = new Map<string, string>();
  for (const { key } of schemas) {
    const written = writeModule(values[key], key);
    if ("reason" in written) {
      reasons.set(key, written.reason);
    } else {
      const formatted = await options.esbuild.transform(written.code, { charset: "utf8" });
      modules.set(key, formatted.code);
    }
  }
  return { sources, modules, reasons, trellis, find, getKey };
}

function writeModule(value: unknown, key: string): ReturnType<typeof writeSchemaModule> {
  const isSchema = typeof value === "object" && value !== null && "_zod" in value;
  return isSchema
    ? writeSchemaModule(value as $ZodType, key, { runtime: RUNTIME, loader: LOADER })
    : { reason: "it is not a schema" };
}

function indexExpressions(
  { project, expressions }: SchemaSources,
  schemas: readonly SourceSchema[],
): ExpressionIndex {
  const index = new Map<string, Pick<PureExpression, "node" | "references">>(
    schemas.map((schema) => [schema.key, schema]),
  );
  return {
    find: (key) => index.get(key),
    getKey(node) {
      const key = getSchemaKey(project, node);
      const value = expressions.readDeclaration(node);
      if (!(value instanceof NotPure)) index.set(key, value);
      return key;
    },
  };
}

/** Evaluates schemas: bundles them with zod, and runs the bundle. */
async function evaluate(
  schemas: readonly SourceSchema[],
  { esbuild, common, root, createResolvers, find, getKey }: CompileOptions & ExpressionIndex,
): Promise<Readonly<Record<string, unknown>>> {
  const imports = schemas.map(({ key }, index) =>
    `import { value as v${index} } from ${JSON.stringify(ORIGINAL + key)};`
  );
  const members = schemas.map(({ key }, index) => `${JSON.stringify(key)}: v${index}`);
  const { outputFiles = [] } = await esbuild.build({
    ...common,
    stdin: {
      contents: `${imports.join("\n")}\nexport const values = { ${members.join(", ")} };`,
      resolveDir: root,
    },
    outdir: undefined,
    outExtension: undefined,
    format: "cjs",
    banner: {},
    minify: false,
    sourcemap: false,
    metafile: false,
    write: false,
    plugins: [originalSchemasPlugin({ find, getKey }), ...createResolvers()],
  });
  const module = { exports: { values: {} } };
  new Function("module", outputFiles[0].text)(module);
  return module.exports.values;
}

/**
 * Lists the uses of zod in modules, with their positions.
 *
 * @param isOmitted True if zod is not in the bundle, so that only uses of compiled schemas are left.
 */
export function listUses(
  { sources: { project }, reasons }: CompiledSchemas,
  modules: readonly SchemaModuleSource[],
  isOmitted: boolean,
): string[] {
  const found = modules.flatMap(({ uses, schemas }): ZodUse[] => {
    if (isOmitted) return uses.filter(({ isValue }) => isValue);
    const left = schemas.filter(({ key }) => reasons.has(key));
    return [...uses, ...left.map(({ key, node }) => ({ node, message: reasons.get(key)! }))];
  });
  return found.map(({ node, message }) =>
    `${project.getPath(node)}:${project.getLine(node)}: ${message}`
  );
}
