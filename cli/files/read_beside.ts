import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";

/**
 * Reads a file of this package, which may be remote.
 *
 * @param url Its URL, relative to `import.meta.url` of a module.
 * @returns The text; `undefined` if there is no such file.
 */
export async function readBeside(url: URL): Promise<string | undefined> {
  if (url.protocol === "file:") {
    return existsSync(url) ? await readFile(url, "utf8") : undefined;
  }
  const response = await fetch(url);
  return response.ok ? await response.text() : undefined;
}
