import type { ImportKind, OnResolveResult, PluginBuild } from "esbuild";
import { extname, join } from "node:path";
import type { ModulePaths } from "./module_paths.ts";
import type { PackageImport } from "./own_code.ts";

/**
 * Resolves a module of this package from generated code, which has no folder to resolve from.
 *
 * @param trellis An import of this package.
 * @param module The module: `validation/schema`.
 */
export async function resolveOwnModule(
  build: PluginBuild,
  trellis: PackageImport,
  { paths, module, kind }: {
    readonly paths: ModulePaths;
    readonly module: string;
    readonly kind: ImportKind;
  },
): Promise<OnResolveResult> {
  const { importer, resolveDir, specifier } = trellis;
  const found = await build.resolve(specifier, {
    kind,
    importer,
    namespace: "file",
    resolveDir,
  });
  if (found.errors.length > 0) return { errors: found.errors };
  const { path, namespace } = found;
  return { path: getOwnModule(paths, path, module), namespace, sideEffects: false };
}

/** Returns the path or the URL of a module of this package. */
function getOwnModule(paths: ModulePaths, entry: string, module: string): string {
  const root = paths.trellisRoot(entry)!;
  const file = module + extname(entry);
  return /^https?:/.test(root) ? new URL(file, root).href : join(root, file);
}
