import type { BuildOptions, Plugin } from "esbuild";
import { builtinModules } from "node:module";
import { isAbsolute } from "node:path";
import { TRELLIS } from "../analysis/resolve_module.ts";
import { isTrellis } from "../analysis/values.ts";
import type { loadEsbuild } from "./load_esbuild.ts";
import type { ModulePaths } from "./module_paths.ts";
import { type Needs, readNeeds } from "./needs.ts";
import { findProviderPosition, type SourcePosition } from "./provider_location.ts";

const SCANNED = { isScanned: true };

/** The needs of a function, and the position of a provider that cannot be determined. */
export interface ScannedNeeds extends Needs {
  readonly unreadPosition?: SourcePosition;
}

/**
 * Bundles the functions' own code with packages as imports, and reads the needs from the
 * tree-shaken result.
 *
 * @param esbuild The bundler.
 * @returns Needs by output path.
 */
export async function scanNeeds(
  esbuild: Awaited<ReturnType<typeof loadEsbuild>>,
  options: BuildOptions,
  paths: ModulePaths,
): Promise<Map<string, ScannedNeeds>> {
  const { outputFiles = [] } = await esbuild.build({
    ...options,
    banner: {},
    // inlines constants but keeps names
    minify: false,
    minifySyntax: true,
    keepNames: false,
    sourcemap: false,
    metafile: false,
    write: false,
    plugins: [ownCodePlugin(paths), ...options.plugins ?? []],
  });
  return new Map(outputFiles.map(({ path, text }) => {
    const needs = readNeeds(text);
    const { unreadAt } = needs;
    const root = options.absWorkingDir!;
    const unreadPosition = unreadAt === undefined
      ? undefined
      : findProviderPosition(text, unreadAt, root);
    return [path, {
      ...needs,
      unreadPosition,
    }];
  }));
}

/**
 * Creates a plugin that keeps packages as imports, except packages that depend on `@trellis/fn`.
 */
function ownCodePlugin(paths: ModulePaths): Plugin {
  return {
    name: "own code",
    setup(build): void {
      build.onResolve({ filter: /.*/ }, async (args) => {
        const { path, kind, pluginData } = args;
        if (pluginData !== undefined || kind === "entry-point" || isAbsolute(path)) {
          return undefined;
        }
        const isRelative = /^\.{1,2}(?:\/|$)/.test(path);
        if (isRelative && args.namespace === "file") return undefined;
        if (path.startsWith("node:") || builtinModules.includes(path)) {
          return { path, external: true };
        }
        // declared free of side effects, so that unused imports are removed
        if (isTrellis(path)) {
          return { path, external: true, sideEffects: false };
        }

        const { importer, namespace, resolveDir } = args;
        const found = await build.resolve(path, {
          kind,
          importer,
          namespace,
          resolveDir,
          pluginData: SCANNED,
        });
        if (found.errors.length > 0 || found.external) return { path, external: true };
        const root = paths.trellisRoot(found.path);
        if (root !== undefined) {
          return {
            path: `${TRELLIS}/${found.path.slice(root.length)}`,
            external: true,
            sideEffects: false,
          };
        }
        if (paths.getPackage(found.path) !== undefined && !paths.usesTrellis(found.path)) {
          return { path, external: true };
        }
        return { path: found.path, namespace: found.namespace, sideEffects: found.sideEffects };
      });
    },
  };
}
