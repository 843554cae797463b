import { pathToFileURL } from "node:url";

/**
 * Imports a module from a file. The specifier starts with a literal, so that registries do not take
 * it for a dependency of this package. A package from JSR cannot import local files in another way.
 *
 * @param path Absolute path.
 * @returns The module.
 */
export async function importFile<Module>(path: string): Promise<Module> {
  return await import(`file://${pathToFileURL(path).href.slice("file://".length)}`);
}
