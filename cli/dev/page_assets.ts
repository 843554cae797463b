import { readFile } from "node:fs/promises";

/** A file of the page. */
export interface Asset {
  readonly contentType: string;
  readonly text: string;
}

const TYPES: Readonly<Record<string, string>> = {
  "index.html": "text/html; charset=utf-8",
  "style.css": "text/css; charset=utf-8",
  "main.js": "text/javascript; charset=utf-8",
  "dom.js": "text/javascript; charset=utf-8",
  "parts.js": "text/javascript; charset=utf-8",
  "tabs.js": "text/javascript; charset=utf-8",
  "requests.js": "text/javascript; charset=utf-8",
  "functions.js": "text/javascript; charset=utf-8",
  "data.js": "text/javascript; charset=utf-8",
  "sent.js": "text/javascript; charset=utf-8",
  "accounts.js": "text/javascript; charset=utf-8",
  "jobs.js": "text/javascript; charset=utf-8",
  "mail.js": "text/javascript; charset=utf-8",
};

/** Allows only the page's own files and forbids framing by other origins. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
  "img-src data:; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * Reads a file of the page from the folder beside this module, which may be remote.
 *
 * @param name The file's name.
 * @returns The file, or `undefined` if the page has no such file.
 */
export async function readAsset(name: string): Promise<Asset | undefined> {
  if (!Object.hasOwn(TYPES, name)) return undefined;
  const url = new URL(`./page/${name}`, import.meta.url);
  const text = url.protocol === "file:"
    ? await readFile(url, "utf8")
    : await (await fetch(url)).text();
  return { text, contentType: TYPES[name] };
}
