import type { ImportKind, OnResolveResult, PluginBuild } from "esbuild";
import { dirname, extname, join } from "node:path";
import type { Project } from "../analysis/project.ts";
import type { SourceModule } from "../analysis/source_module.ts";
import { isTrellis } from "../analysis/values.ts";
import type { ModulePaths } from "./module_paths.ts";

/** An import of this package, and the file with it. */
export interface TrellisImport {
  readonly specifier: string;
  readonly importer: string;
}

/** Finds an import of this package, to resolve its modules from generated code. */
export function findTrellisImport(
  project: Project,
  modules: Iterable<SourceModule>,
): TrellisImport | undefined {
  for (const module of modules) {
    for (const specifier of module.loads) {
      const found = project.resolve(specifier);
      if (found.kind === "package" && isTrellis(found.name)) {
        return { specifier: specifier.text, importer: module.path };
      }
    }
  }
  return undefined;
}

/**
 * Resolves a module of this package from generated code, which has no folder to resolve from.
 *
 * @param trellis An import of this package.
 * @param module The module: `validation/schema`.
 */
export async function resolveOwnModule(
  build: PluginBuild,
  trellis: TrellisImport,
  { paths, module, kind }: {
    readonly paths: ModulePaths;
    readonly module: string;
    readonly kind: ImportKind;
  },
): Promise<OnResolveResult> {
  const { importer, specifier } = trellis;
  const found = await build.resolve(specifier, {
    kind,
    importer,
    namespace: "file",
    resolveDir: dirname(importer),
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
