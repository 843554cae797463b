import type { Plugin } from "esbuild";
import { dirname, extname } from "node:path";
import type { ModulePaths } from "../module_paths.ts";
import { resolveOwnModule } from "../trellis_import.ts";
import { loadChanged } from "./changed_module.ts";
import type { CompiledQueries } from "./compile_queries.ts";
import { COMPILED, OWN_MODULES } from "./specifiers.ts";
import { type ModuleChanges, renderChanges } from "./statement_code.ts";

const NAMESPACE = COMPILED.slice(0, -1);

/** Returns the changes of a module with compiled statements; `undefined` if it has none. */
export function getQueryChanges(
  { sources, modules }: CompiledQueries,
  path: string,
): ModuleChanges | undefined {
  const source = sources.get(path);
  // a CommonJS module cannot import compiled statements
  if (source === undefined || source.module.commonJs !== undefined) return undefined;
  const compiled = source.statements.filter(({ key }) => modules.has(key));
  return compiled.length === 0 ? undefined : renderChanges(compiled, source.queries);
}

/**
 * Creates a plugin that makes prepared queries and the session check use the statements that were
 * compiled ahead of time.
 *
 * @param queries The statements.
 * @param options How modules belong to packages, and whether imports of the auth library are omitted.
 * @returns The plugin; it must precede plugins that load modules.
 */
export function compiledQueriesPlugin(
  queries: CompiledQueries,
  { paths, omitsAuth }: { readonly paths: ModulePaths; readonly omitsAuth: boolean },
): Plugin {
  const { sources, modules, trellis } = queries;
  return {
    name: "compiled queries",
    setup(build): void {
      build.onResolve({ filter: new RegExp(`^${COMPILED}`) }, ({ path }) => ({
        path: path.slice(COMPILED.length),
        namespace: NAMESPACE,
        sideEffects: false,
      }));
      build.onResolve(
        { filter: /^trellis-queries\// },
        ({ path, kind }) =>
          resolveOwnModule(build, trellis, { paths, module: OWN_MODULES[path], kind }),
      );
      build.onLoad({ filter: /[/\\]auth[/\\]default_session_query\.[jt]s$/ }, ({ path }) => {
        if (paths.trellisRoot(path) === undefined) return undefined;
        const contents = `export * from "./precompiled_session_query${extname(path)}";\n`;
        return { contents, loader: "js", resolveDir: dirname(path) };
      });
      build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path }) => ({
        contents: modules.get(path),
        loader: "js",
      }));
      build.onLoad({ filter: /\.[cm]?[jt]sx?$/, namespace: "file" }, ({ path }) => {
        const changes = getQueryChanges(queries, path);
        if (changes === undefined) return undefined;
        return loadChanged(path, sources.get(path)!.module.source.text, changes, omitsAuth);
      });
    },
  };
}
