import { type Build, type Bundle, getOutputPath } from "./bundle_batch.ts";
import type { ImportedNames } from "./imported_names.ts";
import { removeLibraryNames, removesNames } from "./library_names.ts";
import { COMPILED as SCHEMA } from "./precompile/schema_code.ts";
import { addSourceContents } from "./precompile/source_contents.ts";
import { COMPILED as QUERY } from "./precompile_queries/specifiers.ts";

/**
 * Removes names that nothing reads, and adds the code of generated modules to the source map.
 *
 * @param imported The names that the function's own code imports.
 */
export function finishCode(
  build: Build,
  bundle: Omit<Bundle, "parts">,
  imported: ImportedNames,
): Pick<Bundle, "code" | "map" | "modules"> {
  const { root, settings, common } = build;
  const outfile = getOutputPath(common.outdir, bundle);
  const { code, map, modules } = removesNames(settings)
    ? removeLibraryNames(bundle, { root, outfile, imported })
    : bundle;
  const keepsMap = settings.sourceMaps !== "none";
  return { code, modules, map: keepsMap ? addGenerated(build, map) : undefined };
}

/** Adds the code of generated modules to a source map. */
function addGenerated({ schemas, queries }: Build, map: string | undefined): string | undefined {
  let added = map;
  if (schemas !== undefined && "modules" in schemas) {
    added &&= addSourceContents(added, SCHEMA, schemas.modules);
  }
  if (queries !== undefined) added &&= addSourceContents(added, QUERY, queries.modules);
  return added;
}
