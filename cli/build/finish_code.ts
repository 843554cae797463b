import { join } from "node:path";
import type { Build, Bundle } from "./bundle_batch.ts";
import type { ImportedNames } from "./imported_names.ts";
import { removeLibraryNames, removesNames } from "./library_names.ts";
import type { BundledFile } from "./part_use.ts";
import { COMPILED as SCHEMA } from "./precompile/schema_code.ts";
import { addSourceContents } from "./precompile/source_contents.ts";

/**
 * Removes names that nothing reads from the files of a function, and adds the code of generated
 * modules to the source maps.
 *
 * @param imported The names that the function's own code imports.
 */
export function finishCode(
  build: Build,
  bundle: Omit<Bundle, "parts">,
  imported: ImportedNames,
): Pick<Bundle, "code" | "map" | "modules" | "files"> {
  const { root, settings, common } = build;
  const folder = join(common.outdir, bundle.name);
  const keepsMap = settings.sourceMaps !== "none";
  function finish(file: BundledFile): BundledFile {
    const { code, map, modules } = removesNames(settings)
      ? removeLibraryNames(file, { root, folder, imported })
      : file;
    return { code, modules, map: keepsMap ? addGenerated(build, map) : undefined };
  }
  const files = [...bundle.files ?? []].map(([name, file]) => [name, finish(file)] as const);
  return { ...finish(bundle), files: new Map(files) };
}

/** Adds the code of generated modules to a source map. */
function addGenerated({ schemas }: Build, map: string | undefined): string | undefined {
  let added = map;
  if (schemas !== undefined && "modules" in schemas) {
    added &&= addSourceContents(added, SCHEMA, schemas.modules);
  }
  return added;
}
