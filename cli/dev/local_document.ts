import type { OpenApiDocument } from "../../validation/openapi/document.ts";
import type { ResolvedConfig } from "../config/config.ts";
import type { FunctionFile } from "../discovery/function_files.ts";

/**
 * Builds the document that `trellis generate openapi` would write. Reads the sources and loads no
 * function but the configuration of better-auth.
 */
export async function buildLocalDocument(
  root: string,
  functions: readonly FunctionFile[],
  config: ResolvedConfig,
): Promise<OpenApiDocument> {
  const { buildProjectDocument } = await import("../openapi/project_document.ts");
  return (await buildProjectDocument(root, functions, config)).document;
}
