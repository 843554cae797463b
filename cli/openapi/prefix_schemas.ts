import type { OpenApiDocument } from "../../validation/openapi/document.ts";

const SCHEMAS = "#/components/schemas/";

/**
 * Puts a prefix before the names of all schemas of a document.
 *
 * @returns A new document; the same for an empty prefix.
 */
export function prefixSchemas(document: OpenApiDocument, prefix: string): OpenApiDocument {
  if (prefix === "") return document;
  const renamed = JSON.parse(
    JSON.stringify(document),
    (key, value) =>
      isReference(key, value) ? SCHEMAS + prefix + value.slice(SCHEMAS.length) : value,
  ) as OpenApiDocument;
  renamed.components.schemas = Object.fromEntries(
    Object.entries(renamed.components.schemas).map(([name, schema]) => [prefix + name, schema]),
  );
  return renamed;
}

function isReference(key: string, value: unknown): value is string {
  return key === "$ref" && typeof value === "string" && value.startsWith(SCHEMAS);
}
