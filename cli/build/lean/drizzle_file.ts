import type { Plugin } from "esbuild";
import { dirname } from "node:path";
import { getPackageName, toBareSpecifier } from "../../analysis/package_specifier.ts";
import { Slicer } from "../../analysis/schema_slice.ts";
import type { Slice, SlicePackage } from "../../analysis/slice.ts";
import type { Build } from "../bundle_batch.ts";
import type { BundledFile } from "../part_use.ts";
import { installedSourcesPlugin } from "../installed_sources.ts";
import { addSourceContents } from "../precompile/source_contents.ts";
import type { CompiledQueries } from "../precompile_queries/compile_queries.ts";
import { DRIZZLE_FILE as OWN } from "../precompile_queries/lean_modules.ts";
import { bundleSecondFiles } from "../second_files.ts";
import { resolveOwnModule } from "../trellis_import.ts";
import { isDrizzleExport } from "./drizzle_imports.ts";
import type { LeanSources } from "./read_lean.ts";
import { DRIZZLE_FILE } from "./specifiers.ts";

/** The content of the file with drizzle of a function. */
export interface DrizzleEntry {
  readonly slice: Slice;
  /** The units of statements by their keys. */
  readonly statements: ReadonlyMap<string, number>;
  /** The units of schemas by their keys. */
  readonly schemas: ReadonlyMap<string, number>;
  /** Modules of `@trellis/fn` with further statements. */
  readonly own: readonly string[];
}

/**
 * Collects the builders of statements and the tables of schemas, from the same code that was evaluated
 * for the bundle.
 *
 * @returns The content, or the reason why the sources cannot be in a second file.
 */
export function createEntry(
  { project, statements, schemas }: LeanSources,
  keys: { readonly statements: readonly string[]; readonly schemas: readonly string[] },
  own: readonly string[],
): DrizzleEntry | { readonly reason: string } {
  const slicer = new Slicer(project, "tables");
  const statementUnits = keys.statements.map((key): [string, number] => {
    const { node, client } = statements.get(key)!;
    return [key, slicer.addFunction(node, client)];
  });
  const schemaUnits = keys.schemas.map((key): [string, number] => {
    return [key, slicer.add(schemas.get(key)!.value).unit];
  });
  const slice = slicer.finish();
  const reason = findReason(slice);
  if (reason !== undefined) return { reason };
  return { slice, statements: new Map(statementUnits), schemas: new Map(schemaUnits), own };
}

/** Finds code that must not be in both files. */
function findReason({ code, guards, packages }: Slice): string | undefined {
  for (const { file, line, message } of guards) return `${file}:${line}: ${message}`;
  for (const [, index, member] of code.matchAll(MEMBER)) {
    const { file, line, specifier } = packages[Number(index)];
    const name = toBareSpecifier(specifier);
    if (!isDrizzleExport(name, JSON.parse(member))) {
      return `${file}:${line}: a table or a statement uses ${getPackageName(name)}`;
    }
  }
  return undefined;
}

/** An access to an export of a package in the code of a slice. */
const MEMBER = /__slice_member\((\d+), ("(?:[^"\\]|\\.)*")\)/g;

const ENTRY = "trellis-drizzle-of:";
const NAMESPACE = ENTRY.slice(0, -1);
const PACKAGE = "trellis-drizzle-package:";

/**
 * Bundles the files with drizzle of functions.
 *
 * @param entries The contents by function.
 * @param plugins Plugins that load modules.
 */
export async function bundleDrizzle(
  entries: ReadonlyMap<string, DrizzleEntry>,
  queries: CompiledQueries,
  build: Build,
  plugins: readonly Plugin[],
): Promise<Map<string, BundledFile>> {
  const files = await bundleSecondFiles(
    build,
    DRIZZLE_FILE,
    new Map([...entries.keys()].map((name) => [name, ENTRY + name])),
    [entriesPlugin(entries, build, queries), ...plugins, installedSourcesPlugin()],
  );
  return new Map([...files].map(([name, { map, ...file }]) => {
    const contents = new Map([[name, renderEntry(entries.get(name)!)]]);
    return [name, { ...file, map: map && addSourceContents(map, ENTRY, contents) }];
  }));
}

function entriesPlugin(
  entries: ReadonlyMap<string, DrizzleEntry>,
  { paths }: Pick<Build, "paths">,
  { trellis, lean }: CompiledQueries,
): Plugin {
  return {
    name: "drizzle files",
    setup(build): void {
      build.onResolve({ filter: new RegExp(`^${ENTRY}`) }, ({ path }) => ({
        path: path.slice(ENTRY.length),
        namespace: NAMESPACE,
      }));
      build.onResolve({ filter: /.*/, namespace: NAMESPACE }, async ({ path, importer, kind }) => {
        if (!path.startsWith(PACKAGE)) {
          return await resolveOwnModule(build, trellis, { paths, module: path, kind });
        }
        const { packages } = entries.get(importer)!.slice;
        const { specifier, from } = findImport(lean, packages[Number(path.slice(PACKAGE.length))]);
        const options = { kind, importer: from, namespace: "file", resolveDir: dirname(from) };
        const found = await build.resolve(specifier, options);
        return found.errors.length > 0
          ? { errors: found.errors }
          : { path: found.path, namespace: found.namespace, sideEffects: found.sideEffects };
      });
      build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path }) => ({
        contents: renderEntry(entries.get(path)!),
        loader: "js",
      }));
    },
  };
}

/** Finds the import of a package, which may be in another file than the code that uses it. */
function findImport(
  { project }: LeanSources,
  { specifier, from }: SlicePackage,
): { readonly specifier: string; readonly from: string } {
  const name = toBareSpecifier(specifier);
  for (const file of [from, ...project.listFiles()]) {
    const found = project.read(file).loads.find(({ text }) => toBareSpecifier(text) === name);
    if (found !== undefined) return { specifier: found.text, from: file };
  }
  return { specifier, from };
}

function renderEntry({ slice, statements, schemas, own }: DrizzleEntry): string {
  const packages = slice.packages.map((_, index) =>
    `import * as __trellis${index} from "${PACKAGE}${index}";`
  );
  const modules = own.map((module, index) =>
    `import { STATEMENTS as __trellisOwn${index} } from ${JSON.stringify(module)};`
  );
  const spread = own.map((_, index) => `...__trellisOwn${index}, `).join("");
  return `${[...packages, ...modules].join("\n")}
export * from ${JSON.stringify(OWN.file)};
const units = (() => {
${writeMembers(slice.code)}
})()(function once(_, make) {
  let isMade = false, value;
  return () => {
    if (!isMade) {
      value = make();
      isMade = true;
    }
    return value;
  };
});
export const statements = { ${spread}${
    renderMembers(statements, (unit) => `(db) => units[${unit}]()(db)`)
  } };
export const schemas = Object.defineProperties({}, { ${
    renderMembers(schemas, (unit) => `{ enumerable: true, get: () => units[${unit}]() }`)
  } });
`;
}

function renderMembers(
  units: ReadonlyMap<string, number>,
  render: (unit: number) => string,
): string {
  return [...units].map(([key, unit]) => `${JSON.stringify(key)}: ${render(unit)}`).join(", ");
}

/** Replaces accesses to packages by their imports, so that only used exports are bundled. */
function writeMembers(code: string): string {
  return code.replace(
    MEMBER,
    (_, index, name) => `__trellis${index}${JSON.parse(name) === "" ? "" : `.${JSON.parse(name)}`}`,
  );
}
