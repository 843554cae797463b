import { readBeside } from "../files/read_beside.ts";

/** A file of the page. */
export interface Asset {
  readonly contentType: string;
  readonly text: string;
}

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
};

/** Allows only the page's own files and forbids framing by other origins. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
  "img-src data:; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Allows the styles and images within a mail. Its links open in new tabs. */
export const MAIL_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; " +
  "frame-ancestors 'self'; sandbox allow-popups allow-popups-to-escape-sandbox";

/**
 * Reads a file of the page from the folder beside this module, which may be remote.
 *
 * @param name The file's name.
 * @returns The file, or `undefined` if the page has no such file.
 */
export async function readAsset(name: string): Promise<Asset | undefined> {
  const [, extension] = /^[a-z]+\.(css|html|js)$/.exec(name) ?? [];
  if (extension === undefined) return undefined;
  const text = await readBeside(new URL(`./page/${name}`, import.meta.url));
  return text === undefined ? undefined : { text, contentType: TYPES[extension] };
}
