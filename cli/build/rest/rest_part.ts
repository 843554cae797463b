import type { Plugin } from "esbuild";
import { basename, extname, posix } from "node:path";
import type { Build } from "../bundle_batch.ts";
import type { CompiledPart } from "../compiled_part.ts";
import { listIncluded } from "../sizes.ts";
import type { ModulePaths } from "../module_paths.ts";
import type { Parts } from "../optional_parts.ts";
import { bundleSecondFiles } from "../second_files.ts";
import { COPIED_MODULES, REST_MODULES } from "./rest_modules.ts";
import { addModules, type Location, resolveOwn, restPlugin, toModule } from "./rest_plugin.ts";
import { listShared } from "./shared_values.ts";
import { ENTRY, OWN, POSTGRES, POSTGRES_PART, REST, REST_FILE, SHARED } from "./specifiers.ts";

/**
 * Lists the modules of {@link REST_MODULES} that requests to a function usually run.
 *
 * @param code The function's own code as a bundle, with packages as imports.
 */
export function listKept(code: string): string[] {
  return Object.keys(REST_MODULES).filter((module) => REST_MODULES[module].unless?.test(code));
}

/**
 * Creates the part of functions that is loaded when something unusual happens, such as an error: code
 * of this package that a usual request does not run. A module is in one of the files only: what the
 * second file needs of the bundle is passed when it is loaded.
 *
 * @param parts The optional parts in the bundles.
 * @param kept The results of {@link listKept}.
 * @returns The part; `undefined` without `build.precompile`.
 */
export function createRestPart(
  build: Build,
  { betterAuth }: Parts,
  kept: ReadonlySet<string>,
): CompiledPart | undefined {
  // the auth library takes so long to load that nothing is gained
  if (!build.settings.precompile || betterAuth) return undefined;
  const { paths } = build;
  let location: Location = { path: "", namespace: "file" };
  /** Paths of modules of postgres.js by their names. */
  const postgres = new Map<string, string>();
  return {
    package: REST_FILE,
    file: REST_FILE,
    createPlugin: () =>
      restPlugin({
        paths,
        kept,
        onModule: (found) => location = found,
        onPostgres: (path) => postgres.set(basename(path, ".js"), path),
      }),
    read: (_, { output }) => ({
      keys: listIncluded(output).filter((path) => path.startsWith(REST))
        .map((path) => path.slice(REST.length)).sort(),
    }),
    bundle(keys) {
      const used = new Map([...keys].filter(([, functions]) => functions.length > 0));
      const entries = new Map([...used.keys()].map((name) => [name, ENTRY + name]));
      const plugin = restFilePlugin(used, { paths, location, postgres });
      return bundleSecondFiles(build, REST_FILE, entries, [plugin]);
    },
  };
}

/** Creates a plugin that loads the entry points: each exports functions by their keys. */
function restFilePlugin(
  keys: ReadonlyMap<string, readonly string[]>,
  { paths, location, postgres }: {
    readonly paths: ModulePaths;
    readonly location: Location;
    readonly postgres: ReadonlyMap<string, string>;
  },
): Plugin {
  const modules = new Set([...keys.values()].flat().map((key) => key.split("#")[0]));
  modules.delete(POSTGRES);
  const shared = [...listShared([...modules]).values()].flatMap((names) => [...names]);
  return {
    name: "rest files",
    setup(build): void {
      addModules(build, ENTRY, (name) => renderEntry(keys.get(name)!));
      addModules(build, SHARED, () => renderShared(shared));
      resolveOwn(build, paths, () => location);
      build.onResolve({ filter: new RegExp(`^${POSTGRES_PART}`) }, ({ path }) => ({
        path: postgres.get(path.slice(POSTGRES_PART.length)),
      }));
      // modules of the bundle are not copied: their values are passed
      build.onResolve({ filter: /^\.{1,2}\// }, ({ path, importer }) => {
        const root = paths.trellisRoot(importer);
        if (root === undefined) return undefined;
        const target = posix.join(posix.dirname(toModule(root, importer)), path);
        const module = target.slice(0, -extname(target).length);
        if (Object.hasOwn(REST_MODULES, module) || COPIED_MODULES.has(module)) return undefined;
        const [namespace, name] = SHARED.split(":");
        return { path: name, namespace };
      });
    },
  };
}

function renderEntry(keys: readonly string[]): string {
  const functions = keys.map((key) => {
    const [module, name] = key.split("#");
    if (module === POSTGRES) {
      return `export { default as ${name} } from "${POSTGRES_PART}${name}";\n`;
    }
    return `export { ${name} } from "${OWN}${module}";\n`;
  });
  return `export { share } from "${SHARED}";\n${functions.join("")}`;
}

function renderShared(names: readonly string[]): string {
  if (names.length === 0) return "export function share() {}\n";
  return `export let ${names.join(", ")};
export function share(values) {
  ({ ${names.map((name) => `${name} = ${name}`).join(", ")} } = values);
}
`;
}
