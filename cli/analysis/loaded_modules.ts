import type { Project } from "./project.ts";
import type { SourceModule } from "./source_module.ts";

/**
 * Lists the modules that files load, with the files themselves.
 *
 * @param files Absolute paths.
 * @param isIncluded Checks the path of a module; modules that it refuses are not read.
 */
export function listLoadedModules(
  project: Project,
  files: readonly string[],
  isIncluded: (path: string) => boolean = () => true,
): SourceModule[] {
  const found = new Set(files.map((file) => project.read(file)));
  // the set grows while it is read
  for (const { loads } of found) {
    for (const specifier of loads) {
      const target = project.resolve(specifier);
      if (target.kind === "file" && isIncluded(target.path)) found.add(project.read(target.path));
    }
  }
  return [...found];
}
