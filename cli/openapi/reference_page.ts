import { createHash } from "node:crypto";
import type { OpenApiDocument } from "../../validation/openapi/document.ts";
import { escapeHtml, renderProse } from "./escape_html.ts";
import { type Operation, renderOperation } from "./reference_operation.ts";
import { getSchemaAnchor, renderSchema, type Schema } from "./reference_schema.ts";
import { REFERENCE_STYLE } from "./reference_style.ts";

/** Options of {@link renderReferencePage}. */
export interface ReferencePageOptions {
  /**
   * URL of the document, relative to the page.
   *
   * @default "openapi.json"
   */
  readonly documentUrl?: string;
  /**
   * A line above the operations.
   *
   * @default none
   */
  readonly notice?: string;
}

interface Placed {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/**
 * Renders an OpenAPI document as a self-contained HTML page: no scripts, no fonts, no requests. Its
 * content security policy forbids them, so that texts of the document cannot add any.
 *
 * @param document The result of `buildOpenApiDocument`.
 * @param options The URL of the document.
 * @returns The page.
 */
export function renderReferencePage(
  document: OpenApiDocument,
  options: ReferencePageOptions = {},
): string {
  const { documentUrl = "openapi.json", notice } = options;
  const { info, servers = [], paths, components } = document;
  const groups = groupByTag(
    Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({
        method,
        path,
        operation: operation as Operation,
      }))
    ),
  );
  const schemas = Object.entries(components.schemas);
  // CSP level 3: a style is allowed by its hash
  const hash = createHash("sha256").update(REFERENCE_STYLE).digest("base64");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-${hash}'">
<title>${escapeHtml(info.title)}</title>
<style>${REFERENCE_STYLE}</style>
</head>
<body>
<a class="skip" href="#operations">Skip to the operations</a>
<header>
<h1>${escapeHtml(info.title)} <small>${escapeHtml(info.version)}</small></h1>
${info.description ? renderProse(info.description) : ""}
${
    servers.map(({ url, description }) =>
      `<p class="server"><code>${escapeHtml(url)}</code> ${escapeHtml(description ?? "")}</p>`
    ).join("\n")
  }
<p><a href="${escapeHtml(documentUrl)}">The document</a> (OpenAPI ${
    escapeHtml(document.openapi)
  })</p>
${notice === undefined ? "" : renderProse(notice)}
</header>
<nav aria-label="Groups">
<ul>
${
    groups.map(([tag]) =>
      `<li><a href="#${escapeHtml(getTagAnchor(tag))}">${escapeHtml(tag)}</a></li>`
    ).join("\n")
  }
${schemas.length > 0 ? `<li><a href="#schemas">Schemas</a></li>` : ""}
</ul>
</nav>
<main id="operations">
${groups.map(([tag, operations]) => renderGroup(tag, operations, components)).join("\n")}
${
    schemas.length > 0
      ? `<section><h2 id="schemas">Schemas</h2>\n${
        schemas.map(renderComponent).join("\n")
      }\n</section>`
      : ""
  }
</main>
</body>
</html>
`;
}

/** Groups operations by their first tag; operations without a tag come last. */
function groupByTag(operations: readonly Placed[]): [tag: string, operations: Placed[]][] {
  const groups = new Map<string, Placed[]>();
  for (const placed of operations) {
    const tag = placed.operation.tags?.[0] ?? "";
    groups.set(tag, [...groups.get(tag) ?? [], placed]);
  }
  return [...groups].map((
    [tag, placed],
  ): [string, Placed[]] => [tag === "" ? "Other" : tag, placed])
    .sort(([a], [b]) => a === "Other" ? 1 : b === "Other" ? -1 : a < b ? -1 : 1);
}

function getTagAnchor(tag: string): string {
  return `tag-${tag.replace(/\s+/g, "-")}`;
}

function renderGroup(
  tag: string,
  operations: readonly Placed[],
  components: OpenApiDocument["components"],
): string {
  return `<section>
<h2 id="${escapeHtml(getTagAnchor(tag))}">${escapeHtml(tag)}</h2>
${
    operations.map(({ method, path, operation }) =>
      renderOperation(method, path, operation, components)
    ).join("\n")
  }
</section>`;
}

function renderComponent([name, schema]: readonly [name: string, schema: Schema]): string {
  const { description } = schema;
  return `<article class="component" id="${escapeHtml(getSchemaAnchor(name))}">
<h3>${escapeHtml(name)}</h3>
${typeof description === "string" ? renderProse(description) : ""}
${renderSchema(schema)}
</article>`;
}
