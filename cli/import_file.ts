import { pathToFileURL } from "node:url";

/**
 * Imports a module from a file. The literal start of the specifier tells registries that the target is no dependency of
 * this package; a package from JSR may import local files in no other way.
 *
 * @param path An absolute path.
 * @returns The module.
 */
export async function importFile<Module>(path: string): Promise<Module> {
  return await import(`file://${pathToFileURL(path).href.slice("file://".length)}`);
}
