import type { OpenApiDocument } from "../../validation/openapi/document.ts";
import { escapeHtml, renderInline, renderProse } from "./escape_html.ts";
import { renderSchema, renderType, type Schema } from "./reference_schema.ts";

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly deprecated?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

interface Answer {
  readonly $ref?: string;
  readonly description?: string;
  readonly content?: Content;
}

/** An operation object of `buildOpenApiDocument`. */
export interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly tags?: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly responses: Readonly<Record<string, Answer>>;
}

/**
 * Renders an operation of the reference page, initially collapsed.
 *
 * @param method `get`
 * @param path `/notes/{noteId}`
 */
export function renderOperation(
  method: string,
  path: string,
  operation: Operation,
  components: OpenApiDocument["components"],
): string {
  const { operationId, summary, description, deprecated, parameters, requestBody, responses } =
    operation;
  const auth = operation.security.flatMap((entry) => Object.keys(entry));
  const isOptional = operation.security.some((entry) => Object.keys(entry).length === 0);
  return `<details class="operation" id="${escapeHtml(getOperationAnchor(operationId))}">
<summary>
<span class="method ${escapeHtml(method)}">${escapeHtml(method.toUpperCase())}</span>
<code class="path">${escapeHtml(path)}</code>
<span class="summary">${renderInline(summary ?? operationId)}${
    deprecated ? ` <span class="deprecated">deprecated</span>` : ""
  }</span>
${
    auth.length > 0
      ? `<span class="auth">${escapeHtml(auth.join(", "))}${isOptional ? " (optional)" : ""}</span>`
      : ""
  }
</summary>
<div class="body">
${description ? renderProse(description) : ""}
${parameters ? `<h4>Parameters</h4>\n${renderParameters(parameters)}` : ""}
${requestBody ? `<h4>Request body</h4>\n${renderContent(requestBody.content)}` : ""}
<h4>Responses</h4>
<dl class="answers">
${
    Object.entries(responses).map(([status, answer]) => renderAnswer(status, answer, components))
      .join("\n")
  }
</dl>
<p class="id"><code>${escapeHtml(operationId)}</code></p>
</div>
</details>`;
}

/** Returns the anchor of an operation on the page. */
function getOperationAnchor(operationId: string): string {
  return `operation-${operationId}`;
}

function renderParameters(parameters: readonly Parameter[]): string {
  const items = parameters.map(({ name, in: place, required, deprecated, description, schema }) =>
    `<li><code class="name">${escapeHtml(name)}</code> <span class="place">${
      escapeHtml(place)
    }</span>${required ? ` <span class="required">required</span>` : ""}${
      deprecated ? ` <span class="deprecated">deprecated</span>` : ""
    } ${renderType(schema)}${
      description === undefined ? "" : `<div class="about">${renderInline(description)}</div>`
    }</li>`
  );
  return `<ul class="fields">${items.join("")}</ul>`;
}

function renderContent(content: Content): string {
  return Object.entries(content).map(([type, { schema }]) =>
    (type === "application/json" ? "" : `<p class="type">${escapeHtml(type)}</p>`) +
    renderSchema(schema)
  ).join("\n");
}

function renderAnswer(
  status: string,
  answer: Answer,
  { responses }: OpenApiDocument["components"],
): string {
  const { description = "", content } = answer.$ref === undefined
    ? answer
    : (responses[answer.$ref.slice(answer.$ref.lastIndexOf("/") + 1)] ?? {}) as Answer;
  const first = /^[1-5]/.exec(status)?.[0] ?? "";
  return `<dt><span class="status s${first}">${escapeHtml(status)}</span> ${
    renderInline(description)
  }</dt><dd>${content === undefined ? "" : renderContent(content)}</dd>`;
}
