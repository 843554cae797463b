import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isAppError } from "../../errors/app_error.ts";
import { buildOpenApiDocument, type OpenApiDocument } from "../../validation/openapi/document.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { BuildError } from "../sources/build_error.ts";
import type { Inputs } from "../sources/file_stamps.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import type { AuthFunction } from "./auth_functions.ts";
import { toPortablePath } from "../files/inside_folder.ts";
import { loadTogether } from "../project/load_together.ts";
import type { Place } from "../project/source_map.ts";
import { readInfo } from "./openapi_files.ts";
import { OPERATIONS_READER, type OperationsData, type ReadOperations } from "./read_operations.ts";
import type { OpenApiFinding } from "./schema_findings.ts";

/** The document of a project with its errors and warnings. */
export interface ProjectDocument {
  readonly document: OpenApiDocument;
  readonly findings: readonly OpenApiFinding[];
  readonly warnings: readonly OpenApiFinding[];
  /** Functions that are not described. */
  readonly undescribed: readonly Place[];
}

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
): Promise<ProjectDocument> {
  const { openapi } = config;
  const routes = functions.filter(({ kind }) => kind === "api");
  const data: OperationsData = {
    functions: routes.map((fn) => ({ ...fn, file: toPortablePath(root, fn.file) })),
    additionalSchemas: openapi.additionalSchemas,
    info: readInfo(root, openapi),
    servers: openapi.servers,
    version: openapi.openapiVersion,
  };
  const additional = openapi.additionalSchemas.map((label) => resolve(root, label.split("#")[0]));
  const loaded = await loadTogether<ReadOperations>({
    root,
    files: [...new Set([...routes.map(({ file }) => file), ...additional.filter(existsSync)])],
    reader: OPERATIONS_READER,
    data,
    stamps,
  });
  if (loaded.facts === undefined) {
    const document = buildOpenApiDocument(data.info, [], data.servers);
    return { document, findings: loaded.errors, warnings: [], undescribed: [] };
  }
  const { facts } = loaded;
  const { undescribed, authFunctions } = facts;
  const warnings = [...facts.warnings, ...loaded.warnings];
  const withPrefix = (document: OpenApiDocument) => prefixSchemas(document, openapi.schemaPrefix);
  if (authFunctions.length === 0) {
    return { ...facts, warnings, document: withPrefix(facts.document) };
  }
  const { document, findings } = await describeAuth(root, config, authFunctions, facts.document);
  return {
    document: withPrefix(document),
    findings: [...facts.findings, ...findings],
    warnings,
    undescribed,
  };
}

async function describeAuth(
  root: string,
  { functionsDir, auth }: ResolvedConfig,
  functions: readonly AuthFunction[],
  document: OpenApiDocument,
): Promise<Pick<ProjectDocument, "document" | "findings">> {
  // imported on demand, because they load better-auth and esbuild
  const [{ loadAuthConfig }, { describeAuthRoutes }, { addAuthRoutes }] = await Promise.all([
    import("../auth_schema/load_config.ts"),
    import("../../auth/routes/describe_routes.ts"),
    import("./auth_operations.ts"),
  ]);
  try {
    const { config } = await loadAuthConfig({
      root,
      functionsDir,
      from: auth.config,
      schemaFile: resolve(root, auth.schemaFile),
    });
    return addAuthRoutes(document, functions, await describeAuthRoutes(config));
  } catch (error) {
    if (!isAppError(error) && !(error instanceof BuildError)) throw error;
    const [{ file, line }] = functions;
    const message = `the auth routes cannot be described: ${error.message}`;
    return { document, findings: [{ file, line, message }] };
  }
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
