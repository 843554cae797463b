import type { BuildOptions, Plugin } from "esbuild";
import type { $ZodType } from "zod/v4/core";
import { isTrellis } from "../../sources/package_specifier.ts";
import type { FunctionFile } from "../../discovery/function_files.ts";
import type { loadEsbuild } from "../../sources/load_esbuild.ts";
import type { OwnCode, PackageImport, PackageImports } from "../../sources/own_code.ts";
import { LABEL, type SchemaLabels } from "./label_schemas.ts";
import { readSchemas, type ZodUse } from "./read_schemas.ts";
import { LOADER, RUNTIME } from "./specifiers.ts";
import { getListKeys } from "../../../validation/list_keys.ts";
import { writeParser } from "./kinds.ts";
import { Program, Unsupported } from "./program.ts";
import { loadGenerated } from "../generated_modules.ts";

/** The zod whose parsers were read: another one may mean something else by the same definition. */
const KNOWN_VERSION = { major: 4, minor: 6 };

/**
 * Writes the module of a compiled schema.
 *
 * @param schema The schema. It contains no functions of the application.
 * @param runtime Specifier of `validation/precompiled_schema.ts`.
 * @param loader Specifier of the module that loads the schemas with zod.
 * @returns The code, or the reason why the schema is left to zod.
 */
export function writeSchemaModule(
  schema: $ZodType,
  key: string,
  { runtime, loader }: { readonly runtime: string; readonly loader: string },
): { readonly code: string } | { readonly reason: string } {
  const parser = writeSchemaParser(schema);
  if ("reason" in parser) return parser;
  const listKeys = [...getListKeys(schema)];
  return {
    code: `import { ASK_ZOD, countCodePoints as COUNT, definePrecompiledSchema } from ${
      JSON.stringify(runtime)
    };
import { loadSchemas } from ${JSON.stringify(loader)};
${parser.code}
export const schema = /* @__PURE__ */ definePrecompiledSchema({ parse: ${parser.name}, listKeys: ${
      JSON.stringify(listKeys)
    }, load: () => loadSchemas().schemas[${JSON.stringify(key)}] });
`,
  };
}

/**
 * Writes straight-line code for a schema's valid path: what zod gives for a value that fits. It knows the kinds that requests are
 * made of, and only those that run no code of the application; of every other schema, and of every value that does not fit, zod
 * alone decides. Asynchrony cannot arise here.
 *
 * @param schema The schema.
 * @returns The code, which uses `ASK_ZOD` and `COUNT`, and the name of its parser; or the reason why the schema is left to zod.
 */
export function writeSchemaParser(
  schema: $ZodType,
): { readonly code: string; readonly name: string } | { readonly reason: string } {
  const { version, bag } = schema._zod;
  const isKnown = version.major === KNOWN_VERSION.major &&
    (version.minor as number) === KNOWN_VERSION.minor;
  if (!isKnown) return { reason: "its version of zod is not supported" };
  if (bag.validator !== undefined) return { reason: "zod has compiled it itself" };
  const program = new Program();
  try {
    const name = program.define(schema, writeParser);
    return { code: program.code, name };
  } catch (error) {
    if (!(error instanceof Unsupported)) throw error;
    return { reason: `it has ${error.part}, which only zod can parse` };
  }
}

/** The schemas of functions that are compiled ahead of time. */
export interface CompiledSchemas {
  readonly labels: SchemaLabels;
  /** Code of compiled modules by key. */
  readonly modules: ReadonlyMap<string, string>;
  /** Labels of code that can be omitted if its value is not used. */
  readonly omittable: ReadonlySet<number>;
  /** What becomes of the schemas of each function with schemas, by name. */
  readonly functions: ReadonlyMap<string, FunctionUse>;
  /** Resolves the imports of generated modules. */
  readonly imports: PackageImports;
  /** An import of this package. */
  readonly trellis: PackageImport;
}

/** The schemas of a function, or the reason why it needs zod. */
export type FunctionUse =
  | { readonly keys: readonly string[]; readonly originals: string }
  | { readonly reason: string };

/** Options of {@link compileSchemas}. */
export interface CompileOptions {
  readonly esbuild: Awaited<ReturnType<typeof loadEsbuild>>;
  /** Options of the build. */
  readonly common: BuildOptions;
  readonly functions: ReadonlyMap<FunctionFile, OwnCode>;
  readonly labels: SchemaLabels;
  readonly imports: PackageImports;
  readonly createResolvers: () => Plugin[];
}

const MAX_REASONS = 3;

/**
 * Compiles the schemas of functions.
 *
 * @returns The schemas; `undefined` if there are none.
 */
export async function compileSchemas(
  options: CompileOptions,
): Promise<CompiledSchemas | undefined> {
  const { esbuild, functions, labels, imports } = options;
  const [trellis] = [...imports].find(([name]) => isTrellis(name))?.[1] ?? [];
  if (trellis === undefined) return undefined;
  const omittable = new Set<number>();
  const uses = new Map<string, FunctionUse>();
  const getKey = (label: number) => labels.getKey(label);
  const found = [...functions].map(([fn, code]) => ({ fn, code, schemas: readSchemas(code) }));
  for (const { fn, code, schemas } of found) {
    for (const label of schemas.omittable) omittable.add(label);
    const reason = describeUses(schemas.uses, code) ?? findOtherReason(schemas.specifiers, imports);
    if (reason !== undefined) uses.set(fn.name, { reason });
    else if (schemas.used.size > 0) {
      const keys = [...schemas.used.keys()].map(getKey);
      uses.set(fn.name, { keys, originals: schemas.renderSchemas(getKey) });
    }
  }
  const values = await evaluateSound(uses, options, (label) => {
    const places = found.flatMap(({ code, schemas }) => {
      const node = schemas.used.get(label)?.node;
      return node === undefined ? [] : code.findPosition(node.start) ?? [];
    });
    return places.length === 0 ? getKey(label) : `${places[0].file}:${places[0].line}`;
  });
  const modules = new Map<string, string>();
  const reasons = new Map<string, string>();
  for (const [key, value] of Object.entries(values)) {
    const written = writeModule(value, key);
    if ("reason" in written) reasons.set(key, written.reason);
    else {
      const formatted = await esbuild.transform(written.code, { charset: "utf8" });
      modules.set(key, formatted.code);
    }
  }
  for (const { fn, code, schemas } of found) {
    const left = [...schemas.used].filter(([label]) => reasons.has(getKey(label)));
    const reason = describeUses(
      left.map(([label, { node }]) => ({ node, message: reasons.get(getKey(label))! })),
      code,
    );
    if (reason !== undefined && !("reason" in uses.get(fn.name)!)) uses.set(fn.name, { reason });
  }
  return { labels, modules, omittable, functions: uses, imports, trellis };
}

function describeUses(uses: readonly ZodUse[], code: OwnCode): string | undefined {
  const texts = uses.map(({ node, message }) => {
    const { file, line } = code.findPosition(node.start) ?? {};
    return file === undefined ? message : `${file}:${line}: ${message}`;
  });
  return texts.length === 0 ? undefined : [...new Set(texts)].slice(0, MAX_REASONS).join("; ");
}

/** Returns true for entry points of zod whose messages depend on a setting of the others. */
const isMini = (specifier: string): boolean => /mini$/.test(specifier);

function findOtherReason(
  specifiers: ReadonlySet<string>,
  imports: PackageImports,
): string | undefined {
  const all = [...specifiers];
  if (all.some(isMini) && !all.every(isMini)) {
    return "zod and zod/mini are both used, and their messages depend on each other";
  }
  return all.some((name) => (imports.get(name) ?? []).length > 1)
    ? "two versions of zod are used"
    : undefined;
}

function writeModule(value: unknown, key: string): ReturnType<typeof writeSchemaModule> {
  const isSchema = typeof value === "object" && value !== null && "_zod" in value;
  if (!isSchema) return { reason: "it is not a schema" };
  try {
    return writeSchemaModule(value as $ZodType, key, { runtime: RUNTIME, loader: LOADER });
  } catch (error) {
    // zod reads shapes late
    return { reason: (error as Error).message };
  }
}

/** Evaluates the schemas of all functions except those with a schema that throws, which get the reason. */
async function evaluateSound(
  uses: Map<string, FunctionUse>,
  options: CompileOptions,
  getPlace: (label: number) => string,
): Promise<Readonly<Record<string, unknown>>> {
  for (;;) {
    try {
      return await evaluate(uses, options);
    } catch (error) {
      const { label, message } = error as Error & { readonly label?: number };
      const failed = [...uses].filter(([, use]) =>
        label !== undefined && "originals" in use && use.originals.includes(`${LABEL}(${label},`)
      );
      if (label === undefined || failed.length === 0) throw error;
      const reason = `${getPlace(label)}: ${message}`;
      for (const [name] of failed) uses.set(name, { reason });
    }
  }
}

/** Evaluates schemas: bundles them with zod, and runs the bundle. */
async function evaluate(
  functions: ReadonlyMap<string, FunctionUse>,
  { esbuild, common, imports, createResolvers }: CompileOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const names = [...functions].flatMap(([name, use]) => "keys" in use ? [name] : []);
  const contents = names.map((name, index) =>
    `import { schemas as s${index} } from ${JSON.stringify(ORIGINALS + name)};`
  ).join("\n");
  const { outputFiles = [] } = await esbuild.build({
    ...common,
    stdin: {
      contents: `${contents}\nexport const values = { ${names.map((_, at) => `...s${at}`)} };`,
      resolveDir: common.absWorkingDir,
    },
    outdir: undefined,
    outExtension: undefined,
    format: "cjs",
    banner: {},
    minify: false,
    sourcemap: false,
    metafile: false,
    write: false,
    plugins: [originalsPlugin(functions, imports), ...createResolvers()],
  });
  const module = { exports: { values: {} } };
  new Function("module", outputFiles[0].text)(module);
  return module.exports.values;
}

/** The prefix of specifiers of modules with the schemas of a function, as in the sources. */
export const ORIGINALS = "trellis-originals:";

/** Creates a plugin that resolves `trellis-originals:<Function>` to its schemas, without its other code. */
export function originalsPlugin(
  functions: ReadonlyMap<string, FunctionUse>,
  imports: PackageImports,
): Plugin {
  const namespace = ORIGINALS.slice(0, -1);
  return {
    name: "original schemas",
    setup(build): void {
      build.onResolve({ filter: new RegExp(`^${ORIGINALS}`) }, ({ path }) => ({
        path: path.slice(ORIGINALS.length),
        namespace,
        sideEffects: false,
      }));
      // zod is resolved as in the sources
      build.onResolve({ filter: /.*/, namespace }, ({ path, kind }) => {
        const [{ specifier, importer, resolveDir }] = imports.get(path)!;
        return build.resolve(specifier, { kind, importer, namespace: "file", resolveDir });
      });
      loadGenerated(
        build,
        namespace,
        (path) => (functions.get(path) as { originals: string }).originals,
      );
    },
  };
}
