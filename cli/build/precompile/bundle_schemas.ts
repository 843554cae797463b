import type { Metafile, Plugin } from "esbuild";
import { resolve } from "node:path";
import type { Build } from "../bundle_batch.ts";
import type { BundledFile, PartUse } from "../part_use.ts";
import type { ModulePaths } from "../module_paths.ts";
import { bundleSecondFiles } from "../second_files.ts";
import { listIncluded } from "../sizes.ts";
import { resolveOwnModule } from "../trellis_import.ts";
import { OWN_NAMESPACE } from "./compiled_schemas_plugin.ts";
import { type CompiledSchemas, listUses } from "./compile_schemas.ts";
import { originalSchemasPlugin } from "./original_schemas_plugin.ts";
import { COMPILED, ORIGINAL } from "./schema_code.ts";
import { SCHEMA_FILE, USED } from "./specifiers.ts";

const MAX_REASONS = 3;

/** Returns true for entry points of zod whose messages depend on a setting of the others. */
const isMini = (specifier: string): boolean => /mini$/.test(specifier);

/**
 * Checks whether the bundle of a function needs zod.
 *
 * @param output The metadata of the bundle with compiled schemas.
 * @param build The metadata of all modules, the project folder, and how modules belong to packages.
 */
export function readSchemaUse(
  schemas: CompiledSchemas,
  file: string,
  output: Metafile["outputs"][string],
  build: {
    readonly inputs: Metafile["inputs"];
    readonly root: string;
    readonly paths: ModulePaths;
  },
): PartUse {
  const { inputs, root, paths } = build;
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

/**
 * Bundles zod and the schemas of functions.
 *
 * @param keys The keys of the schemas by function.
 * @returns Files by function.
 */
export function bundleSchemas(
  keys: ReadonlyMap<string, readonly string[]>,
  schemas: CompiledSchemas,
  build: Build,
): Promise<Map<string, BundledFile>> {
  const entries = new Map([...keys.keys()].map((name) => [name, ENTRY + name]));
  return bundleSecondFiles(build, SCHEMA_FILE, entries, [
    entriesPlugin(keys, schemas, build.paths),
    originalSchemasPlugin(schemas),
  ]);
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
