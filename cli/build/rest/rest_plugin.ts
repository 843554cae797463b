import type { Plugin, PluginBuild } from "esbuild";
import { extname } from "node:path";
import type { ModulePaths } from "../module_paths.ts";
import { getOwnModule } from "../trellis_import.ts";
import { renderPostgresLink, replacePostgresParts } from "./postgres_parts.ts";
import { REST_MODULES } from "./rest_modules.ts";
import { listShared } from "./shared_values.ts";
import { LINK, LOADER, OWN, POSTGRES, REST, REST_FILE } from "./specifiers.ts";

const LOADER_CODE = `let file;
export function load(values) {
  try {
    file ??= process.getBuiltinModule("node:module")
      .createRequire(import.meta.url)("./${REST_FILE}");
  } catch (error) {
    console.error("${REST_FILE} cannot be loaded: deploy all files of the function's folder.", error);
    throw error;
  }
  file.share(values);
  return file;
}
`;

/** A module of this package, by which the others are found. */
export interface Location {
  readonly path: string;
  readonly namespace: string;
}

/** Options of {@link restPlugin}. */
export interface RestPluginOptions {
  readonly paths: ModulePaths;
  /** Modules of {@link REST_MODULES} that stay in the bundle. */
  readonly kept: ReadonlySet<string>;
  /** Called with each replaced module. */
  readonly onModule: (location: Location) => void;
  /** Called with the path of each replaced module of postgres.js. */
  readonly onPostgres: (path: string) => void;
}

/**
 * Creates a plugin that replaces functions of `@trellis/fn` by calls of the same functions in
 * {@link REST_FILE}.
 *
 * @returns The plugin; it must precede plugins that load modules.
 */
export function restPlugin(
  { paths, kept, onModule, onPostgres }: RestPluginOptions,
): Plugin {
  return {
    name: "rest of functions",
    setup(build): void {
      let location: Location = { path: "", namespace: "file" };
      const modules = Object.keys(REST_MODULES).filter((module) => !kept.has(module));
      build.onLoad({ filter: createModulesPattern(modules) }, ({ path, namespace }) => {
        const root = paths.trellisRoot(path);
        const module = root === undefined ? "" : toModule(root, path);
        if (!modules.includes(module)) return undefined;
        location = { path, namespace };
        onModule(location);
        const exports = REST_MODULES[module].functions.map((name) =>
          `export { ${name} } from "${REST}${module}#${name}";\n`
        );
        return { contents: exports.join(""), loader: "js" };
      });
      replacePostgresParts(build, paths, onPostgres);
      resolveOwn(build, paths, () => location);
      addModules(build, REST, renderFunction);
      addModules(build, LINK, renderLink);
      addModules(build, LOADER, () => LOADER_CODE);
    },
  };
}

function createModulesPattern(modules: readonly string[]): RegExp {
  const paths = modules.map((module) => module.replaceAll("/", "[/\\\\]"));
  return new RegExp(`[/\\\\](?:${paths.join("|")})\\.[jt]s$`);
}

/** Returns the path of a module of this package without its extension: `errors/driver_error`. */
export function toModule(root: string, path: string): string {
  return path.slice(root.length, -extname(path).length).replaceAll("\\", "/").replace(/^\//, "");
}

/** Resolves specifiers of modules of this package. */
export function resolveOwn(
  build: PluginBuild,
  paths: ModulePaths,
  getLocation: () => Location,
): void {
  build.onResolve({ filter: new RegExp(`^${OWN}`) }, ({ path }) => ({
    path: getOwnModule(paths, getLocation().path, path.slice(OWN.length)),
    namespace: getLocation().namespace,
    sideEffects: false,
  }));
}

/** Adds generated modules: their specifiers begin with the prefix, and may continue with a key. */
export function addModules(
  build: PluginBuild,
  prefix: string,
  render: (key: string) => string,
): void {
  const [namespace] = prefix.split(":");
  build.onResolve({ filter: new RegExp(`^${prefix}`) }, ({ path }) => ({
    path: path.slice(namespace.length + 1),
    namespace,
    sideEffects: false,
  }));
  build.onLoad({ filter: /.*/, namespace }, ({ path }) => ({
    contents: render(path),
    loader: "js",
  }));
}

function renderFunction(key: string): string {
  const [module, name] = key.split("#");
  if (module === POSTGRES) return renderPostgresLink();
  return `import { open } from "${LINK}${module}";
export function ${name}(...parameters) { return open().${name}(...parameters); }
`;
}

/** Renders a module that passes the values which a module and its imports share. */
function renderLink(module: string): string {
  const shared = listShared([module]);
  const imports = [...shared].map(([from, names]) =>
    `import { ${[...names].join(", ")} } from "${OWN}${from}";\n`
  );
  const values = [...shared.values()].flatMap((names) => [...names]).join(", ");
  return `import { load } from "${LOADER}";
${imports.join("")}
let file;
export function open() { return file ??= load({ ${values} }); }
`;
}
