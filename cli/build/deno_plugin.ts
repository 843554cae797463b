import type { Loader, OnResolveArgs, OnResolveResult, Plugin, PluginBuild } from "esbuild";
import { existsSync, realpathSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { isAbsolute, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { getPackageName, toBareSpecifier } from "../sources/package_specifier.ts";
import {
  type DenoGraph,
  type DenoModule,
  type DenoPackage,
  REMOTE_NAMESPACE,
} from "./deno_graph.ts";
import type { ModulePaths } from "../sources/module_paths.ts";

const LOADERS: Readonly<Record<string, Loader>> = {
  TypeScript: "ts",
  Mts: "ts",
  Tsx: "tsx",
  JavaScript: "js",
  Mjs: "js",
  Jsx: "jsx",
  Json: "json",
};

/** Marks resolutions that are delegated to esbuild. */
const NATIVE = { isNative: true };

/**
 * Imports of files that the plugin resolves. Each call of a plugin costs more time than esbuild needs
 * to resolve the import, so that the filter omits relative imports of packages: a relative import in
 * a Deno module ends with the extension of its source.
 */
const RESOLVED_IN_FILES = /^[^.]|^\.{1,2}\/.*\.(?:[cm]?ts|tsx)$/;

/**
 * Creates a plugin with which esbuild resolves like Deno: import maps, `npm:`, `jsr:` and `https:`
 * modules, packages in Deno's cache.
 */
export function denoPlugin(
  graph: DenoGraph,
  paths: ModulePaths,
): Plugin {
  /** Results by package, subpath and kind of import; the importer makes no difference. */
  const resolved = new Map<string, Promise<OnResolveResult>>();
  const modules = new Map(graph.modules.map((module) => [module.specifier, module]));
  // esbuild reports real paths
  const packagesByFolder = new Map(
    Object.values(graph.npmPackages).map((each) => [findFolder(each), each]),
  );
  return {
    name: "deno",
    setup(build): void {
      const resolve = (args: OnResolveArgs) => resolveImport(build, args);
      build.onResolve({ filter: RESOLVED_IN_FILES, namespace: "file" }, resolve);
      build.onResolve({ filter: /.*/, namespace: REMOTE_NAMESPACE }, resolve);
      build.onLoad({ filter: /.*/, namespace: REMOTE_NAMESPACE }, async ({ path }) => {
        const module = findModule(path);
        if (module?.local === undefined) {
          return { errors: [{ text: `${path} is not in Deno's cache` }] };
        }
        return {
          contents: await readFile(module.local, "utf8"),
          loader: LOADERS[module.mediaType ?? ""] ?? "js",
        };
      });
    },
  };

  /** Finds a module by its specifier. */
  function findModule(specifier: string): DenoModule | undefined {
    let at = specifier;
    // redirects may be chained, but are never circular
    for (let hops = 0; graph.redirects[at] !== undefined && hops < 10; hops++) {
      at = graph.redirects[at];
    }
    return modules.get(at);
  }

  /** Resolves an import; `undefined` leaves it to esbuild. */
  async function resolveImport(
    build: PluginBuild,
    args: OnResolveArgs,
  ): Promise<OnResolveResult | undefined> {
    const { path, importer, kind, namespace, resolveDir, pluginData } = args;
    if (pluginData === NATIVE || kind === "entry-point") return undefined;
    if (namespace === "file" && (isAbsolute(path) || /^\.{1,2}(?:\/|$)/.test(path))) {
      return paths.trellisRoot(importer) === undefined
        ? undefined
        : toResult(resolve(resolveDir, path), "file");
    }
    if (path.startsWith("node:") || builtinModules.includes(path)) return { path, external: true };
    const owner = namespace === "file" ? findPackage(importer) : undefined;
    return owner === undefined
      ? await resolveInProject(build, args)
      : await resolveDependency(build, owner, args);
  }

  /** Resolves an import of a package in the cache. */
  function resolveDependency(
    build: PluginBuild,
    owner: DenoPackage,
    args: OnResolveArgs,
  ): Promise<OnResolveResult> | undefined {
    const name = getPackageName(args.path);
    const target = name === owner.name
      ? owner
      : owner.dependencies.map((id) => graph.npmPackages[id]).find((each) => each?.name === name);
    return target && resolveOnce(build, target, args.path.slice(name.length), args);
  }

  function resolveOnce(
    build: PluginBuild,
    target: DenoPackage,
    subpath: string,
    args: OnResolveArgs,
  ): Promise<OnResolveResult> {
    const key = JSON.stringify([target.localPath, subpath, args.kind]);
    let result = resolved.get(key);
    if (result === undefined) {
      result = resolveInPackage(build, target, subpath, args);
      resolved.set(key, result);
    }
    return result;
  }

  /** Resolves an import of a project file or a remote module. */
  async function resolveInProject(
    build: PluginBuild,
    args: OnResolveArgs,
  ): Promise<OnResolveResult | undefined> {
    const { path, importer, namespace } = args;
    const from = namespace === REMOTE_NAMESPACE ? importer : pathToFileURL(importer).href;
    const dependencies = modules.get(from)?.dependencies;
    // JSR writes versions into imports, generated modules do not
    const dependency = dependencies?.find((each) =>
      each.specifier === path || toBareSpecifier(each.specifier) === path
    );
    // a replaced module of this package imports others than its source
    const isOwnFile = namespace === REMOTE_NAMESPACE && path.startsWith(".");
    const { specifier, error } = dependency?.code ??
      (isOwnFile ? { specifier: new URL(path, importer).href } : {});
    if (error !== undefined) return { errors: [{ text: error }] };
    const module = specifier === undefined ? undefined : findModule(specifier);
    if (module === undefined) return undefined;
    if (module.error !== undefined) return { errors: [{ text: module.error }] };
    if (module.kind === "node") return { path: module.specifier, external: true };
    if (module.kind === "npm") {
      const target = graph.npmPackages[module.npmPackage ?? ""];
      const bare = toBareSpecifier(module.specifier);
      const subpath = bare.slice(getPackageName(bare).length);
      return target && await resolveOnce(build, target, subpath, args);
    }
    return module.specifier.startsWith("file:")
      ? toResult(fileURLToPath(module.specifier), "file")
      : toResult(module.specifier, REMOTE_NAMESPACE);
  }

  /** Returns the package of a file in the cache. */
  function findPackage(file: string): DenoPackage | undefined {
    for (let end = file.lastIndexOf(sep); end > 0; end = file.lastIndexOf(sep, end - 1)) {
      const found = packagesByFolder.get(file.slice(0, end));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /**
   * Builds the result of a resolution. Modules of `@trellis/fn` have no side effects, as its npm
   * manifest declares, also in a checkout or from JSR.
   */
  function toResult(path: string, namespace: string): OnResolveResult {
    const isOwn = paths.trellisRoot(path) !== undefined;
    return { path, namespace, ...isOwn && { sideEffects: false } };
  }
}

async function resolveInPackage(
  build: PluginBuild,
  target: DenoPackage,
  subpath: string,
  { kind, importer }: OnResolveArgs,
): Promise<OnResolveResult> {
  const { name } = target;
  const options = { kind, importer, resolveDir: findFolder(target), pluginData: NATIVE };
  // a package with `exports` may import itself by name; one without is resolved as a folder
  const own = await build.resolve(name + subpath, options);
  const found = own.errors.length === 0
    ? own
    : await build.resolve(subpath === "" ? "./" : `.${subpath}`, options);
  const { path, namespace, sideEffects, external } = found;
  const isFailed = found.errors.length > 0;
  return { path, namespace, sideEffects, external, ...isFailed && { errors: own.errors } };
}

/**
 * Returns the real path of a package's folder. Deno copies a package for each set of peers (`0.45.4_1`),
 * but only when it runs a program.
 */
function findFolder({ localPath }: DenoPackage): string {
  const folder = existsSync(localPath) ? localPath : localPath.replace(/_\d+$/, "");
  return existsSync(folder) ? realpathSync(folder) : folder;
}
