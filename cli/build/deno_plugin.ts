import type { Loader, OnResolveResult, Plugin, PluginBuild, ResolveOptions } from "esbuild";
import { existsSync, realpathSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { isAbsolute, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { getPackageName } from "../analysis/import_aliases.ts";
import type { DenoGraph, DenoModule, DenoPackage } from "./deno_graph.ts";
import type { Rewrite } from "./eager_imports.ts";
import type { ModulePaths } from "./module_paths.ts";
import { REMOTE_NAMESPACE } from "./remote_namespace.ts";

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
 * Creates a plugin with which esbuild resolves like Deno: import maps, `npm:`, `jsr:` and `https:`
 * modules, packages in Deno's cache.
 *
 * @param graph The module graph.
 * @param paths Maps modules to packages.
 * @param rewrite Changes the code of remote modules.
 * @returns The plugin.
 */
export function denoPlugin(
  graph: DenoGraph,
  paths: ModulePaths,
  rewrite: Rewrite = (_path, code) => code,
): Plugin {
  const modules = new Map(graph.modules.map((module) => [module.specifier, module]));
  // esbuild reports real paths
  const byFolder = new Map(
    Object.values(graph.npmPackages).map((each) => [realPath(each.localPath), each]),
  );

  function follow(specifier: string): DenoModule | undefined {
    let at = specifier;
    // redirects may be chained, but are never circular
    for (let hops = 0; graph.redirects[at] !== undefined && hops < 10; hops++) {
      at = graph.redirects[at];
    }
    return modules.get(at);
  }

  /** Returns the package of a file in the cache. */
  function findPackage(file: string): DenoPackage | undefined {
    for (let end = file.lastIndexOf(sep); end > 0; end = file.lastIndexOf(sep, end - 1)) {
      const found = byFolder.get(file.slice(0, end));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /**
   * Builds the result of a resolution. Modules of `@trellis/fn` have no side effects, as its npm
   * manifest declares, also in a checkout or from JSR.
   */
  function toResult(path: string, namespace: string): OnResolveResult {
    return {
      path,
      namespace,
      ...(paths.trellisRoot(path) === undefined ? {} : { sideEffects: false }),
    };
  }

  async function resolveInPackage(
    build: PluginBuild,
    { name, localPath }: DenoPackage,
    subpath: string,
    { kind, importer }: ResolveOptions,
  ): Promise<OnResolveResult> {
    const options = { kind, importer, resolveDir: localPath, pluginData: NATIVE };
    // a package with `exports` may import itself by name; one without is resolved as a folder
    const own = await build.resolve(name + subpath, options);
    const found = own.errors.length === 0
      ? own
      : await build.resolve(subpath === "" ? "./" : `.${subpath}`, options);
    const { path, namespace, sideEffects, external, errors } = found;
    return {
      path,
      namespace,
      sideEffects,
      external,
      ...(errors.length > 0 ? { errors: own.errors } : {}),
    };
  }

  return {
    name: "deno",
    setup(build): void {
      build.onResolve(
        { filter: /.*/ },
        async ({ path, importer, kind, namespace, resolveDir, pluginData }) => {
          if (pluginData === NATIVE || kind === "entry-point") return undefined;
          if (namespace === "file" && (isAbsolute(path) || /^\.{1,2}(?:\/|$)/.test(path))) {
            return paths.trellisRoot(importer) === undefined
              ? undefined
              : toResult(resolve(resolveDir, path), "file");
          }
          if (path.startsWith("node:") || builtinModules.includes(path)) {
            return {
              path,
              external: true,
            };
          }

          const owner = namespace === "file" ? findPackage(importer) : undefined;
          if (owner !== undefined) {
            const name = getPackageName(path);
            const target = name === owner.name
              ? owner
              : owner.dependencies.map((id) => graph.npmPackages[id]).find((each) =>
                each?.name === name
              );
            return target &&
              await resolveInPackage(build, target, path.slice(name.length), { kind, importer });
          }
          const from = namespace === REMOTE_NAMESPACE ? importer : pathToFileURL(importer).href;
          const dependency = modules.get(from)?.dependencies?.find(({ specifier }) =>
            specifier === path
          );
          const { specifier, error } = dependency?.code ?? {};
          if (error !== undefined) return { errors: [{ text: error }] };
          const module = specifier === undefined ? undefined : follow(specifier);
          if (module === undefined) return undefined;
          if (module.error !== undefined) return { errors: [{ text: module.error }] };
          if (module.kind === "node") return { path: module.specifier, external: true };
          if (module.kind === "npm") {
            const target = graph.npmPackages[module.npmPackage ?? ""];
            const subpath = /^npm:\/?(?:@[^/]+\/)?[^/]+(\/.*)?$/.exec(module.specifier)?.[1] ?? "";
            return target && await resolveInPackage(build, target, subpath, { kind, importer });
          }
          if (module.specifier.startsWith("file:")) {
            return toResult(fileURLToPath(module.specifier), "file");
          }
          return toResult(module.specifier, REMOTE_NAMESPACE);
        },
      );

      build.onLoad({ filter: /.*/, namespace: REMOTE_NAMESPACE }, async ({ path }) => {
        const module = modules.get(path);
        if (module?.local === undefined) {
          return { errors: [{ text: `${path} is not in Deno's cache` }] };
        }
        return {
          contents: rewrite(path, await readFile(module.local, "utf8")),
          loader: LOADERS[module.mediaType ?? ""] ?? "js",
        };
      });
    },
  };
}

function realPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}
