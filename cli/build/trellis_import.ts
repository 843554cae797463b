import type { Project } from "../analysis/project.ts";
import type { SourceModule } from "../analysis/source_module.ts";
import { isTrellis } from "../analysis/values.ts";

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
