/**
 * Returns the URL of a module beside another one, in the sources and in the built package.
 *
 * @param base `import.meta.url` of the other module.
 * @param path The path without an extension: `./read_permissions`.
 */
export function getModuleUrl(base: string, path: string): string {
  const extension = /\.[a-z]+$/.exec(new URL(base).pathname)?.[0] ?? ".js";
  return new URL(path + extension, base).href;
}
