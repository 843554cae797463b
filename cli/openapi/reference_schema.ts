import { escapeHtml, renderInline } from "./escape_html.ts";

/** A JSON Schema. */
export type Schema = Readonly<Record<string, unknown>>;

/** Schemas nested deeper than this are rendered as JSON. */
const MAX_DEPTH = 8;

/** Returns the anchor of a component on the page. */
export function getSchemaAnchor(name: string): string {
  return `schema-${name}`;
}

/** Renders a schema: its type and limits, then its fields. */
export function renderSchema(schema: Schema): string {
  return `<p class="type">${renderType(schema)}</p>${renderParts(schema, 0)}`;
}

/**
 * Renders the type of a schema with its limits in one line: `string (uuid)`, or a link to a
 * component.
 */
export function renderType(schema: Schema): string {
  const limits = getLimits(schema);
  return `<span class="of">${renderTypeName(schema)}</span>${
    limits === "" ? "" : ` <span class="limits">${limits}</span>`
  }`;
}

function renderTypeName(schema: Schema): string {
  const { $ref, type, format, items, prefixItems, anyOf, oneOf, allOf, additionalProperties } =
    schema;
  if (typeof $ref === "string") return linkTo($ref);
  if (Array.isArray(schema.enum)) return schema.enum.map(literal).join(" | ");
  if ("const" in schema) return literal(schema.const);
  const alternatives = (anyOf ?? oneOf) as Schema[] | undefined;
  if (alternatives !== undefined) return alternatives.map(renderTypeName).join(" | ");
  if (Array.isArray(allOf)) return allOf.map((part) => renderTypeName(part)).join(" &amp; ");
  if (Array.isArray(prefixItems)) {
    return `[${prefixItems.map((part) => renderTypeName(part)).join(", ")}]`;
  }
  if (type === "array") return isSchema(items) ? `array of ${renderTypeName(items)}` : "array";
  if (type === "object" && isSchema(additionalProperties) && schema.properties === undefined) {
    return `object of ${renderTypeName(additionalProperties)}`;
  }
  if ("not" in schema && type === undefined) return "never";
  const name = Array.isArray(type) ? type.join(" | ") : typeof type === "string" ? type : "any";
  return escapeHtml(name + (typeof format === "string" ? ` (${format})` : ""));
}

function getLimits(schema: Schema): string {
  const inner = schema.type === "array" && isSchema(schema.items) && schema.items.$ref === undefined
    ? getLimits(schema.items)
    : "";
  const parts = [
    range(schema.minLength, schema.maxLength, "characters"),
    range(schema.minItems, schema.maxItems, "items"),
    range(schema.minimum, schema.maximum, ""),
    "exclusiveMinimum" in schema ? `&gt; ${literal(schema.exclusiveMinimum)}` : "",
    "exclusiveMaximum" in schema ? `&lt; ${literal(schema.exclusiveMaximum)}` : "",
    "multipleOf" in schema ? `multiple of ${literal(schema.multipleOf)}` : "",
    // the pattern of a known format adds no information
    typeof schema.pattern === "string" && schema.format === undefined
      ? `<code class="pattern">${escapeHtml(schema.pattern)}</code>`
      : "",
    "default" in schema ? `default ${literal(schema.default)}` : "",
    schema.additionalProperties === false ? "no other fields" : "",
    schema.readOnly === true ? "read only" : "",
    inner === "" ? "" : `each ${inner}`,
  ];
  return parts.filter((part) => part !== "").join(", ");
}

function range(least: unknown, most: unknown, unit: string): string {
  const from = typeof least === "number" ? least : undefined;
  const to = typeof most === "number" ? most : undefined;
  if (from === undefined && to === undefined) return "";
  const text = from === to
    ? `${from}`
    : from === undefined
    ? `≤ ${to}`
    : to === undefined
    ? `≥ ${from}`
    : `${from} to ${to}`;
  return `${text}${unit === "" ? "" : ` ${unit}`}`;
}

function renderParts(schema: Schema, depth: number): string {
  if (depth > MAX_DEPTH) {
    return `<pre tabindex="0"><code>${escapeHtml(JSON.stringify(schema, null, 2))}</code></pre>`;
  }
  const { properties, items, additionalProperties } = schema;
  const parts: string[] = [];
  if (isSchema(properties) && Object.keys(properties).length > 0) {
    const required = Array.isArray(schema.required) ? schema.required : [];
    const fields = Object.entries(properties as Record<string, Schema>).map(([name, field]) =>
      renderField(name, field, required.includes(name), depth)
    );
    parts.push(`<ul class="fields">${fields.join("")}</ul>`);
  }
  if (isSchema(items)) parts.push(renderParts(items, depth + 1));
  if (isSchema(additionalProperties)) parts.push(renderParts(additionalProperties, depth + 1));
  for (const part of [schema.anyOf, schema.oneOf, schema.allOf, schema.prefixItems].flat()) {
    if (isSchema(part)) parts.push(renderParts(part, depth + 1));
  }
  return parts.filter((part) => part !== "").join("\n");
}

function renderField(name: string, field: Schema, isRequired: boolean, depth: number): string {
  const { description, deprecated, examples } = field;
  return `<li><code class="name">${escapeHtml(name)}</code>${
    isRequired ? ` <span class="required">required</span>` : ""
  }${deprecated === true ? ` <span class="deprecated">deprecated</span>` : ""} ${
    renderType(field)
  }${
    typeof description === "string" ? `<div class="about">${renderInline(description)}</div>` : ""
  }${
    Array.isArray(examples)
      ? `<div class="about">for example ${examples.map(literal).join(", ")}</div>`
      : ""
  }${renderParts(field, depth + 1)}</li>`;
}

function linkTo(reference: string): string {
  const name = reference.slice(reference.lastIndexOf("/") + 1);
  return `<a href="#${escapeHtml(getSchemaAnchor(name))}">${escapeHtml(name)}</a>`;
}

function literal(value: unknown): string {
  return `<code>${escapeHtml(JSON.stringify(value))}</code>`;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
