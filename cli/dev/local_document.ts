import type { OpenApiDocument } from "../../validation/openapi/document.ts";
import type { ResolvedConfig } from "../config/config.ts";
import type { FunctionFile } from "../discovery/function_files.ts";

/**
 * Builds the document that `trellis generate openapi` would write. Reads the sources and loads no
 * function.
 *
 * @param root Absolute path of the project.
 * @param functions The functions.
 * @param config The configuration.
 */
export async function buildLocalDocument(
  root: string,
  functions: readonly FunctionFile[],
  { openapi }: ResolvedConfig,
): Promise<OpenApiDocument> {
  const [{ readOperations }, { buildDocument }, { createPackageLoader }, { readInfo }] =
    await Promise.all([
      import("../openapi/read_operations.ts"),
      import("../openapi/build_document.ts"),
      import("../openapi/package_loader.ts"),
      import("../openapi/openapi_files.ts"),
    ]);
  const sources = await readOperations(root, [...functions]);
  const { document } = await buildDocument(
    sources,
    readInfo(root, openapi),
    openapi.servers,
    createPackageLoader(),
  );
  return document;
}
