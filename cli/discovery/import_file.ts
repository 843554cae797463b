import { pathToFileURL } from "node:url";

/**
 * Imports a module from a file. The specifiers start with a literal, so that registries do not take
 * them for a dependency of this package.
 *
 * `deno publish` replaces `file://` by a path relative to the published module. A package from JSR
 * therefore imports the file through a module that exports the same names, except `default`. Bun
 * does not support such a module.
 *
 * @param path Absolute path.
 */
export async function importFile<Module>(path: string): Promise<Module> {
  return await importNames(path, "*");
}

/**
 * Imports the default export of a module as {@link importFile} imports the others.
 *
 * @param path Absolute path.
 */
export async function importDefault<Value>(path: string): Promise<Value> {
  return (await importNames<{ readonly default: Value }>(path, "{default}")).default;
}

async function importNames<Module>(path: string, names: "*" | "{default}"): Promise<Module> {
  const { href } = pathToFileURL(path);
  const code = `export${names}from${encodeURIComponent(JSON.stringify(href))}`;
  // JSR analyzes imports whose text is known up to a slash
  return import.meta.url.startsWith("file:")
    ? await import(`file://${href.slice("file://".length)}`)
    : await import(`data:text/javascript,/**/${code}`);
}
