import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { explainMissing } from "../../env/optional_package.ts";
import { CLI_PACKAGES } from "../terminal/optional_packages.ts";
import { escapeHtml } from "../../core/http/escape_html.ts";

/** A file of the page. */
export interface PageFile {
  readonly contentType: string;
  readonly content: string | Uint8Array;
}

/** Options of {@link renderTryItPage}. */
export interface TryItPageOptions {
  readonly title: string;
  /** URL of the document, relative to the page. */
  readonly documentUrl: string;
  /** URL of the folder with the other files, relative to the page, with a slash at the end. */
  readonly base: string;
  /** True to keep credentials in the browser after the page is closed. */
  readonly keepsCredentials: boolean;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
  "swagger-ui.css": "text/css; charset=utf-8",
  // the licence asks for both beside a copy
  "LICENSE": "text/plain; charset=utf-8",
  "NOTICE": "text/plain; charset=utf-8",
};

const START = "start.js";
const STYLE = "page.css";

/** Starts Swagger UI. It sends nothing to other hosts: the online validator is switched off. */
const START_SCRIPT = `"use strict";
const dark = matchMedia("(prefers-color-scheme: dark)");
function chooseColors() {
  document.documentElement.classList.toggle("dark-mode", dark.matches);
}
dark.addEventListener("change", chooseColors);
chooseColors();
const page = document.getElementById("reference");
SwaggerUIBundle({
  domNode: page,
  url: new URL(page.dataset.document, document.baseURI).href,
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  docExpansion: "list",
  filter: true,
  layout: "BaseLayout",
  persistAuthorization: page.dataset.keep === "true",
  presets: [SwaggerUIBundle.presets.apis],
  tryItOutEnabled: true,
  validatorUrl: null,
});
`;

/** Rules for narrow windows, where tables of Swagger UI are wider than the page. */
const PAGE_STYLE = `body { margin: 0; }
.swagger-ui .wrapper { padding: 0 12px; }
.swagger-ui .opblock .opblock-summary-path { max-width: none; }
@media (max-width: 640px) {
  .swagger-ui .info { margin: 16px 0; }
  .swagger-ui .opblock-body { overflow-x: auto; }
  .swagger-ui .opblock .opblock-summary { flex-wrap: wrap; }
  .swagger-ui .opblock .opblock-summary-description { flex-basis: 100%; padding: 4px 10px; }
  .swagger-ui .parameters-col_name, .swagger-ui .parameters-col_description { display: block; width: auto; }
  .swagger-ui table.parameters thead { display: none; }
}
`;

/**
 * Renders the page of an OpenAPI document from which requests can be sent, with Swagger UI. It
 * contains no inline script or style.
 */
export function renderTryItPage(
  { title, documentUrl, base, keepsCredentials }: TryItPageOptions,
): string {
  const link = (name: string) => escapeHtml(base + name);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${link("swagger-ui.css")}">
<link rel="stylesheet" href="${link(STYLE)}">
<script defer src="${link("swagger-ui-bundle.js")}"></script>
<script defer src="${link(START)}"></script>
</head>
<body>
<main id="reference" data-document="${escapeHtml(documentUrl)}" data-keep="${keepsCredentials}">
</main>
</body>
</html>
`;
}

/**
 * Builds the content security policy of the page.
 *
 * @param targets Origins that requests may be sent to, besides the page's own.
 */
export function getTryItPolicy(targets: readonly string[] = []): string {
  return "default-src 'none'; script-src 'self'; style-src 'self'; " +
    `img-src 'self' data: blob:; connect-src ${["'self'", ...targets].join(" ")}; ` +
    "base-uri 'none'; form-action 'none'";
}

/** The names of the files beside the page and the document. */
export const TRY_IT_FILES: readonly string[] = [...Object.keys(CONTENT_TYPES), START, STYLE];

/**
 * Reads a file of the page: those of Swagger UI from the installed package swagger-ui-dist.
 *
 * @param name One of {@link TRY_IT_FILES}.
 * @param purpose The feature that needs the package: the start of the message.
 * @returns The file; `undefined` if the page has no such file.
 * @throws {ConfigurationError} If swagger-ui-dist is not installed.
 */
export async function readTryItFile(name: string, purpose: string): Promise<PageFile | undefined> {
  if (name === START) {
    return { contentType: "text/javascript; charset=utf-8", content: START_SCRIPT };
  }
  if (name === STYLE) return { contentType: "text/css; charset=utf-8", content: PAGE_STYLE };
  if (!Object.hasOwn(CONTENT_TYPES, name)) return undefined;
  const folder = await findSwaggerUi(purpose);
  return { contentType: CONTENT_TYPES[name], content: await readFile(join(folder, name)) };
}

/**
 * Returns the folder of the installed package swagger-ui-dist.
 *
 * @param purpose The feature that needs the package: the start of the message.
 * @throws {ConfigurationError} If it is not installed.
 */
export async function findSwaggerUi(purpose: string): Promise<string> {
  const { default: getFolder } = await import("swagger-ui-dist/absolute-path.js").catch(
    explainMissing(CLI_PACKAGES, "swagger-ui-dist", purpose),
  ) as { default: () => string };
  return getFolder();
}
