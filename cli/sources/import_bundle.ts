import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { importFile } from "../discovery/import_file.ts";
import { withTemporaryFolder } from "./temporary_folder.ts";

/**
 * Imports bundled code from a temporary file in the folder `.trellis` of a project, so that its
 * packages are found.
 *
 * @param name Beginning of the folder's name.
 */
export async function importBundle<Module>(
  root: string,
  name: string,
  code: string,
): Promise<Module> {
  return await withTemporaryFolder(root, name, async (folder) => {
    const file = join(folder, "bundle.mjs");
    writeFileSync(file, code);
    return await importFile<Module>(file);
  });
}
