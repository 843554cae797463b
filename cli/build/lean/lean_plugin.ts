import type { Plugin, PluginBuild } from "esbuild";
import { dirname, extname, posix } from "node:path";
import type { ModulePaths } from "../module_paths.ts";
import { loadChanged } from "../precompile_queries/changed_module.ts";
import type { CompiledQueries } from "../precompile_queries/compile_queries.ts";
import { LEAN_MODULES, LEAN_RUNTIME } from "../precompile_queries/lean_modules.ts";
import { COMPILED } from "../precompile_queries/specifiers.ts";
import type { ModuleChanges } from "../precompile_queries/statement_code.ts";
import { resolveOwnModule } from "../trellis_import.ts";
import { renderSchema, renderTable } from "./lean_modules_code.ts";
import { AUTH_SCHEMA, DRIZZLE_FILE, KEPT, RUNTIME, SCHEMA, TABLE } from "./specifiers.ts";

const LOADER = `let file;
export function loadDrizzle() {
  return file ??= process.getBuiltinModule("node:module")
    .createRequire(import.meta.url)("./${DRIZZLE_FILE}");
}
`;

/** A function with a state, so that its calls are not inlined. */
const MARK = "export function kept(value) { kept.last = value; return value; }\n";

/** Returns the changes of a module in a bundle without drizzle. */
export function getLeanChanges({ lean }: CompiledQueries, path: string): ModuleChanges | undefined {
  return lean.changes.get(path);
}

/**
 * Creates a plugin that replaces the tables and statements of a project, and the modules of
 * `@trellis/fn` that use drizzle.
 *
 * @param options How modules belong to packages, and whether imports of the auth library are omitted.
 * @returns The plugin; it must precede plugins that load modules.
 */
export function leanPlugin(
  queries: CompiledQueries,
  { paths, omitsAuth }: { readonly paths: ModulePaths; readonly omitsAuth: boolean },
): Plugin {
  const { lean, trellis } = queries;
  const renderers: Readonly<Record<string, (key: string) => string>> = {
    [TABLE]: (key) => renderTable(lean.tables.get(key)!),
    [SCHEMA]: renderSchema,
    [AUTH_SCHEMA]: (key) => lean.authSchemas.get(key)!,
    [KEPT]: () => MARK,
    [COMPILED]: (key) => lean.modules.get(key)!,
  };
  return {
    name: "bundles without drizzle",
    setup(build): void {
      for (const [prefix, render] of Object.entries(renderers)) {
        const namespace = prefix.slice(0, -1);
        build.onResolve({ filter: new RegExp(`^${prefix}`) }, ({ path }) => ({
          path: path.slice(prefix.length),
          namespace,
          sideEffects: false,
        }));
        build.onLoad({ filter: /.*/, namespace }, ({ path }) => ({
          contents: render(path),
          loader: "js",
        }));
      }
      build.onResolve({ filter: new RegExp(`^${RUNTIME}`) }, ({ path, kind }) => {
        const module = LEAN_RUNTIME[path.slice(RUNTIME.length) as keyof typeof LEAN_RUNTIME];
        return resolveOwnModule(build, trellis, { paths, module, kind });
      });
      replaceOwnModules(build, paths);
      build.onLoad({ filter: /\.[cm]?[jt]sx?$/, namespace: "file" }, ({ path }) => {
        const changes = lean.changes.get(path);
        if (changes === undefined) return undefined;
        return loadChanged(path, lean.project.read(path).source.text, changes, omitsAuth);
      });
    },
  };
}

/** Replaces the modules of this package that use drizzle. */
function replaceOwnModules(build: PluginBuild, paths: ModulePaths): void {
  for (const [module, replacement] of Object.entries(LEAN_MODULES)) {
    build.onLoad({ filter: createModulePattern(module) }, ({ path }) => {
      if (paths.trellisRoot(path) === undefined) return undefined;
      const target = posix.relative(posix.dirname(module), replacement) + extname(path);
      const specifier = target.startsWith(".") ? target : `./${target}`;
      return {
        contents: `export * from ${JSON.stringify(specifier)};\n`,
        loader: "js",
        resolveDir: dirname(path),
      };
    });
  }
  build.onLoad(
    { filter: createModulePattern(LEAN_RUNTIME.loadDrizzle) },
    ({ path }) =>
      paths.trellisRoot(path) === undefined ? undefined : { contents: LOADER, loader: "js" },
  );
}

/** Returns the pattern of a module's path: `database/session/client`. */
export function createModulePattern(module: string): RegExp {
  return new RegExp(`[/\\\\]${module.replaceAll("/", "[/\\\\]")}\\.[jt]s$`);
}
