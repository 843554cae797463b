import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { OpenApiDocument } from "../../validation/openapi/document.ts";
import { escapeHtml } from "../../core/http/escape_html.ts";
import { NOTICE } from "./openapi_files.ts";
import {
  getTryItPolicy,
  type PageFile,
  readTryItFile,
  renderTryItPage,
  TRY_IT_FILES,
} from "./try_it_page.ts";

const PURPOSE = "--try-it";
const MARKED = ` <!-- ${NOTICE} -->\n`;

/**
 * Writes a folder for a static host: the page of a document from which requests can be sent, with
 * Swagger UI from the installed package. The page loads nothing from other hosts and sends requests
 * to the servers of the document only.
 *
 * @param folder The folder: empty, missing, or written by this function.
 * @throws {ConfigurationError} If swagger-ui-dist is not installed, or the folder has other content.
 */
export async function writeTryItFolder(
  root: string,
  folder: string,
  document: OpenApiDocument,
): Promise<void> {
  const target = resolve(root, folder);
  if (!isOurs(target)) {
    throw new ConfigurationError(
      `${folder} contains files that --try-it did not write: choose another folder`,
    );
  }
  const files = new Map<string, PageFile["content"]>();
  for (const name of TRY_IT_FILES) {
    files.set(name, (await readTryItFile(name, PURPOSE))!.content);
  }
  files.set("openapi.json", `${JSON.stringify(document, null, 2)}\n`);
  const policy = escapeHtml(getTryItPolicy(listOrigins(document)));
  const page = renderTryItPage({
    title: document.info.title,
    documentUrl: "openapi.json",
    base: "",
    keepsCredentials: false,
  });
  const meta = `<meta http-equiv="Content-Security-Policy" content="${policy}">`;
  files.set(
    "index.html",
    page.replace("\n", () => MARKED).replace("<head>\n", (head) => `${head}${meta}\n`),
  );
  mkdirSync(target, { recursive: true });
  for (const [name, content] of files) writeFileSync(join(target, name), content);
}

/** Lists the origins of the servers that are not relative to the page. */
function listOrigins({ servers = [] }: OpenApiDocument): string[] {
  const origins = servers.filter(({ url }) => URL.canParse(url)).map(({ url }) =>
    new URL(url).origin
  );
  return [...new Set(origins)].filter((origin) => origin !== "null");
}

function isOurs(folder: string): boolean {
  if (!existsSync(folder)) return true;
  const index = join(folder, "index.html");
  if (!existsSync(index)) return readdirSync(folder).length === 0;
  return readFileSync(index, "utf8").split("\n", 1)[0].includes(NOTICE);
}
