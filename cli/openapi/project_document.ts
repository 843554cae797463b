import { resolve } from "node:path";
import { isAppError } from "../../errors/app_error.ts";
import type { OpenApiDocument } from "../../validation/openapi/document.ts";
import type { SourceLocation } from "../analysis/slice.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { BuildError } from "../dev/build_error.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import type { AuthFunction } from "./auth_functions.ts";
import { buildDocument } from "./build_document.ts";
import { readInfo } from "./openapi_files.ts";
import { createPackageLoader } from "./package_loader.ts";
import { prefixSchemas } from "./prefix_schemas.ts";
import { type OpenApiFinding, readOperations } from "./read_operations.ts";

/** The document of a project with its errors and warnings. */
export interface ProjectDocument {
  readonly document: OpenApiDocument;
  readonly findings: readonly OpenApiFinding[];
  readonly warnings: readonly OpenApiFinding[];
  /** Functions that are not described. */
  readonly undescribed: readonly SourceLocation[];
}

/**
 * Builds the document of a project: its handlers, and the routes of better-auth that it mounts.
 *
 * @param onProgress Called with the number of finished files.
 */
export async function buildProjectDocument(
  root: string,
  functions: readonly FunctionFile[],
  config: ResolvedConfig,
  onProgress?: (done: number, total: number) => void,
): Promise<ProjectDocument> {
  const { openapi } = config;
  const sources = await readOperations(
    root,
    functions,
    onProgress,
    openapi.additionalSchemas,
  );
  const { authFunctions, undescribed } = sources;
  const info = readInfo(root, openapi);
  const built = await buildDocument(
    sources,
    info,
    openapi.servers,
    createPackageLoader(),
    openapi.openapiVersion,
  );
  const withPrefix = (document: OpenApiDocument) => prefixSchemas(document, openapi.schemaPrefix);
  const warnings = [...sources.warnings, ...built.warnings];
  const findings = [...sources.findings, ...built.findings];
  if (authFunctions.length === 0) {
    return { document: withPrefix(built.document), findings, warnings, undescribed };
  }
  const { document, findings: more } = await describeAuth(
    root,
    config,
    authFunctions,
    built.document,
  );
  return {
    document: withPrefix(document),
    findings: [...findings, ...more],
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
