import type { BuildOptions, Plugin } from "esbuild";
import { builtinModules } from "node:module";
import { isAbsolute } from "node:path";
import { isTrellis, toBareSpecifier, TRELLIS } from "./package_specifier.ts";
import type { loadEsbuild } from "./load_esbuild.ts";
import type { ModulePaths } from "./module_paths.ts";
import { createPositions, type FindPosition } from "./source_positions.ts";
import { parseSyntax, type SyntaxTree } from "./syntax.ts";

const RESOLVED = { isResolved: true };

/** A function's own code as one tree-shaken module, with packages as imports. */
export interface OwnCode extends SyntaxTree {
  readonly findPosition: FindPosition;
}

/** A resolved import of a package in the project's code. */
export interface PackageImport {
  readonly specifier: string;
  readonly importer: string;
  readonly resolveDir: string;
  /** The module; omitted for `@trellis/fn`, which is resolved when it is bundled. */
  readonly path?: string;
}

/**
 * Receives the imports of packages by their specifier in linked code; two copies of a package are two
 * imports.
 */
export type PackageImports = Map<string, PackageImport[]>;

/**
 * Bundles the functions' own code.
 *
 * @param esbuild The bundler.
 * @param options The functions, and the plugins that resolve.
 * @returns The code by output path.
 */
export async function linkOwnCode(
  esbuild: Awaited<ReturnType<typeof loadEsbuild>>,
  options: BuildOptions & { readonly absWorkingDir: string },
  paths: ModulePaths,
  imports: PackageImports,
): Promise<Map<string, OwnCode>> {
  const { outputFiles = [] } = await esbuild.build({
    ...options,
    banner: {},
    // inlines constants but keeps names
    minify: false,
    minifySyntax: true,
    keepNames: false,
    sourcemap: "external",
    metafile: false,
    write: false,
    plugins: [ownCodePlugin(paths, imports), ...options.plugins ?? []],
  });
  const texts = new Map(outputFiles.map(({ path, text }) => [path, text]));
  return new Map(
    [...texts].filter(([path]) => !path.endsWith(".map")).map(([path, code]) => {
      const map = texts.get(`${path}.map`)!;
      const findPosition = createPositions(code, map, path, options.absWorkingDir);
      return [path, { ...parseSyntax(code), findPosition }];
    }),
  );
}

/**
 * Creates a plugin that keeps packages as imports, except packages that depend on `@trellis/fn`.
 */
function ownCodePlugin(paths: ModulePaths, imports: PackageImports): Plugin {
  const note = (name: string, found: PackageImport): void => {
    const known = imports.get(name);
    if (known === undefined) imports.set(name, [found]);
    else if (!known.some(({ path }) => path === found.path)) known.push(found);
  };
  return {
    name: "own code",
    setup(build): void {
      build.onResolve({ filter: /.*/ }, async (args) => {
        const { path, kind, pluginData, importer, namespace, resolveDir } = args;
        if (pluginData !== undefined || kind === "entry-point" || isAbsolute(path)) {
          return undefined;
        }
        const isRelative = /^\.{1,2}(?:\/|$)/.test(path);
        if (isRelative && namespace === "file") return undefined;
        if (path.startsWith("node:") || builtinModules.includes(path)) {
          return { path, external: true };
        }
        // declared free of side effects, so that unused imports are removed
        if (isTrellis(path)) {
          note(path, { specifier: path, importer, resolveDir });
          return { path, external: true, sideEffects: false };
        }

        const found = await build.resolve(path, {
          kind,
          importer,
          namespace,
          resolveDir,
          pluginData: RESOLVED,
        });
        if (found.errors.length > 0 || found.external) return { path, external: true };
        const root = paths.trellisRoot(found.path);
        if (root !== undefined) {
          const name = `${TRELLIS}/${found.path.slice(root.length).replace(/^[/\\\\]/, "")}`;
          note(name, { specifier: path, importer, resolveDir });
          return { path: name, external: true, sideEffects: false };
        }
        if (paths.getPackage(found.path) !== undefined && !paths.usesTrellis(found.path)) {
          const name = toBareSpecifier(path);
          note(name, { specifier: path, importer, resolveDir, path: found.path });
          return { path: name, external: true };
        }
        return { path: found.path, namespace: found.namespace, sideEffects: found.sideEffects };
      });
    },
  };
}
