import type { Loader, Plugin } from "esbuild";
import { readFile } from "node:fs/promises";
import type { DatabaseProvider } from "../../database/config.ts";
import { toBareSpecifier } from "../analysis/package_specifier.ts";
import type { ModulePaths } from "./module_paths.ts";
import { getEagerParts } from "./optional_parts.ts";

/** The modules of `@trellis/fn` that import a provider or a part of one. */
const MODULES =
  /[/\\]database[/\\](?:client|providers[/\\](?:postgres_js|serverless_pg|branching_pg))\.([jt]s)$/;

/** Changes the code of a module before it is bundled. */
export type Rewrite = (path: string, code: string) => string;

/**
 * Creates a rewriter that imports the driver of a function's only provider statically, so that it
 * is loaded during initialization, when Lambda provides a full CPU. With a dynamic import, a
 * bundler wraps all modules that the driver shares with the rest (most of all drizzle) in
 * functions, which the engine parses twice: 5 ms of a cold start.
 *
 * @param provider The provider that the function certainly uses.
 * @param isExternal Checks whether a package is not bundled and may be missing.
 * @param paths Maps modules to packages.
 * @returns Rewrites the modules of `@trellis/fn` without changing line numbers.
 */
export function createEagerRewrite(
  provider: DatabaseProvider,
  isExternal: (name: string) => boolean,
  paths: ModulePaths,
): Rewrite {
  const eager = getEagerParts(provider).filter((name) => !isExternal(name));
  return function rewrite(path, code): string {
    if (!MODULES.test(path) || paths.trellisRoot(path) === undefined) return code;
    const names = new Map<string, string>();
    const text = code.replace(/(?<!typeof )\bimport\("([^"]+)"\)/g, (all, specifier: string) => {
      if (!eager.includes(toBareSpecifier(specifier).replace(/\.[jt]s$/, ""))) return all;
      if (!names.has(specifier)) names.set(specifier, `eager${names.size}`);
      return `Promise.resolve(${names.get(specifier)})`;
    });
    return [...names].map(([specifier, name]) => `import * as ${name} from "${specifier}";`).join(
      "",
    ) + text;
  };
}

/**
 * Creates a plugin that rewrites local modules.
 *
 * @param rewrite The result of {@link createEagerRewrite}.
 */
export function rewritePlugin(rewrite: Rewrite): Plugin {
  return {
    name: "eager imports",
    setup(build): void {
      build.onLoad({ filter: MODULES, namespace: "file" }, async ({ path }) => ({
        contents: rewrite(path, await readFile(path, "utf8")),
        loader: MODULES.exec(path)![1] as Loader,
      }));
    },
  };
}
