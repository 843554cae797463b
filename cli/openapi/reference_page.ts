import type { OpenApiDocument } from "../../validation/mod.ts";
import { REFERENCE_STYLE } from "./reference_style.ts";

type Schema = Record<string, unknown>;

interface Operation {
  operationId: string;
  summary?: string;
  description?: string;
  deprecated?: boolean;
  parameters?: { name: string; in: string; required: boolean; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  security: Record<string, string[]>[];
  responses: Record<string, { description: string; content?: Record<string, { schema: Schema }> }>;
}

/**
 * An OpenAPI document as one HTML page that needs nothing else: no script, no font, no request to another address.
 *
 * @param document What `buildOpenApiDocument` gives.
 * @returns The page.
 */
export function renderReferencePage(document: OpenApiDocument): string {
  const { info, paths, components } = document;
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation: operation as Operation }))
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(info.title)}</title>
<style>${REFERENCE_STYLE}</style>
</head>
<body>
<header>
<h1>${escape(info.title)} <small>${escape(info.version)}</small></h1>
${info.description ? `<p>${escape(info.description)}</p>` : ""}
<p><a href="/openapi.json">openapi.json</a></p>
</header>
<main>
${
    operations.map(({ method, path, operation }) => renderOperation(method, path, operation, components.schemas)).join(
      "\n",
    )
  }
</main>
</body>
</html>
`;
}

function renderOperation(method: string, path: string, operation: Operation, schemas: Record<string, Schema>): string {
  const auth = operation.security.flatMap((entry) => Object.keys(entry));
  const optional = operation.security.some((entry) => Object.keys(entry).length === 0);
  const body = operation.requestBody?.content["application/json"]?.schema;
  return `<details class="operation" id="${escape(operation.operationId)}">
<summary>
<span class="method ${escape(method)}">${escape(method.toUpperCase())}</span>
<code class="path">${escape(path)}</code>
<span class="summary">${escape(operation.summary ?? operation.operationId)}${
    operation.deprecated ? " (deprecated)" : ""
  }</span>
${auth.length > 0 ? `<span class="auth">${escape(auth.join(", "))}${optional ? " (optional)" : ""}</span>` : ""}
</summary>
<div class="body">
${operation.description ? `<p>${escape(operation.description)}</p>` : ""}
${operation.parameters ? `<h3>Parameters</h3>\n${renderParameters(operation.parameters)}` : ""}
${body ? `<h3>Request body</h3>\n${renderSchema(body, schemas)}` : ""}
<h3>Responses</h3>
${Object.entries(operation.responses).map(([status, response]) => renderResponse(status, response, schemas)).join("\n")}
</div>
</details>`;
}

function renderParameters(parameters: NonNullable<Operation["parameters"]>): string {
  const rows = parameters.map(({ name, in: place, required, schema }) =>
    `<tr><td><code>${escape(name)}</code></td><td>${escape(place)}</td><td>${escape(typeOf(schema))}</td><td>${
      required ? "required" : "default" in schema ? `default ${escape(JSON.stringify(schema.default))}` : ""
    }</td></tr>`
  );
  return `<table><thead><tr><th>Name</th><th>In</th><th>Type</th><th></th></tr></thead><tbody>${
    rows.join("")
  }</tbody></table>`;
}

function renderResponse(
  status: string,
  { description, content }: Operation["responses"][string],
  schemas: Record<string, Schema>,
): string {
  const schema = content?.["application/json"]?.schema;
  const title = `<span class="status s${escape(status[0])}">${escape(status)}</span> ${escape(description)}`;
  return schema === undefined
    ? `<p>${title}</p>`
    : `<details class="response"><summary>${title}</summary>${renderSchema(schema, schemas)}</details>`;
}

function renderSchema(schema: Schema, schemas: Record<string, Schema>): string {
  const name = typeof schema.$ref === "string" ? schema.$ref.split("/").at(-1) : undefined;
  const resolved = name === undefined ? schema : schemas[name] ?? schema;
  return `<pre tabindex="0"><code>${escape(JSON.stringify(resolved, null, 2))}</code></pre>`;
}

function typeOf(schema: Schema): string {
  const { type, format, enum: values, anyOf } = schema;
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(" | ");
  if (Array.isArray(anyOf)) return anyOf.map((option) => typeOf(option as Schema)).join(" | ");
  return `${type ?? "any"}${format ? ` (${format})` : ""}`;
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
