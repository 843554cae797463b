import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { BundledProject } from "./bundled_project.ts";

/** Folders with the files of a project. */
export interface ProjectFolders {
  readonly migrationsFolder: string;
  readonly permissionsFolder: string;
}

/** The only folder that a Lambda function can write to. */
const TEMPORARY = "/tmp";

/**
 * Writes the files of a bundle into a temporary folder, where the runner reads them.
 *
 * @param project The files.
 * @returns The folders.
 */
export function writeProjectFolders(project: BundledProject): ProjectFolders {
  const root = mkdtempSync(join(TEMPORARY, "trellis-migrations-"));
  const write = (name: "migrations" | "permissions"): string => {
    const folder = join(root, name);
    mkdirSync(folder);
    for (const [path, text] of Object.entries(project[name])) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    return folder;
  };
  return { migrationsFolder: write("migrations"), permissionsFolder: write("permissions") };
}
