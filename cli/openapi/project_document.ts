import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { buildOpenApiDocument, type OpenApiDocument } from "../../validation/openapi/document.ts";
import type { ResolvedConfig } from "../config/config.ts";
import type { Inputs } from "../sources/file_stamps.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { toPortablePath } from "../files/inside_folder.ts";
import { loadTogether } from "../project/load_together.ts";
import { getModuleUrl } from "../project/module_url.ts";
import { readInfo } from "./openapi_files.ts";
import type { OperationsData, ReadOperations } from "./read_operations.ts";

/**
 * Builds the document of a project: its handlers, and the routes of better-auth that it mounts.
 *
 * @param stamps Receives the stamp of each source before it is read, even if the document has errors.
 */
export async function buildProjectDocument(
  root: string,
  functions: readonly FunctionFile[],
  config: ResolvedConfig,
  stamps?: Inputs,
): Promise<ReadOperations> {
  const { openapi, auth } = config;
  const routes = functions.filter(({ kind }) => kind === "api");
  const data: OperationsData = {
    functions: routes.map((fn) => ({ ...fn, file: toPortablePath(root, fn.file) })),
    additionalSchemas: openapi.additionalSchemas,
    info: readInfo(root, openapi),
    servers: openapi.servers,
    version: openapi.openapiVersion,
    authConfig: auth.config,
  };
  const labels = [...openapi.additionalSchemas, ...auth.config === undefined ? [] : [auth.config]];
  const additional = labels.map((label) => resolve(root, label.split("#")[0]));
  const loaded = await loadTogether<ReadOperations>({
    root,
    files: [...new Set([...routes.map(({ file }) => file), ...additional.filter(existsSync)])],
    reader: getModuleUrl(import.meta.url, "./read_operations"),
    data,
    stamps,
  });
  if (loaded.facts === undefined) {
    const document = buildOpenApiDocument(data.info, [], data.servers);
    return { document, findings: loaded.errors, warnings: [], undescribed: [] };
  }
  const { facts } = loaded;
  const warnings = [...facts.warnings, ...loaded.warnings];
  return { ...facts, warnings, document: prefixSchemas(facts.document, openapi.schemaPrefix) };
}

const SCHEMAS = "#/components/schemas/";

/**
 * Puts a prefix before the names of all schemas of a document.
 *
 * @returns A new document; the same for an empty prefix.
 */
function prefixSchemas(document: OpenApiDocument, prefix: string): OpenApiDocument {
  if (prefix === "") return document;
  const rename = (reference: string) => SCHEMAS + prefix + reference.slice(SCHEMAS.length);
  const renamed = JSON.parse(JSON.stringify(document), (key, value) => {
    if (isReference(key, value)) return rename(value);
    if (key !== "discriminator" || typeof value?.mapping !== "object") return value;
    const mapping = Object.entries<string>(value.mapping).map(([each, to]) => [each, rename(to)]);
    return { ...value, mapping: Object.fromEntries(mapping) };
  }) as OpenApiDocument;
  renamed.components.schemas = Object.fromEntries(
    Object.entries(renamed.components.schemas).map(([name, schema]) => [prefix + name, schema]),
  );
  return renamed;
}

function isReference(key: string, value: unknown): value is string {
  return key === "$ref" && typeof value === "string" && value.startsWith(SCHEMAS);
}
