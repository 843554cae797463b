import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import process from "node:process";
import { toPortablePath } from "./inside_folder.ts";
import { createFileError } from "./file_error.ts";

/** A planned change of a generated file. */
export interface FileChange {
  /** Relative to the project. */
  readonly path: string;
  /**
   * `kept` is a file without the marker in its first line: it was not generated and is never
   * overwritten.
   */
  readonly change: "unchanged" | "created" | "updated" | "removed" | "kept";
  /** The new content, for `created` and `updated`. */
  readonly text?: string;
}

/** Options of {@link planGeneratedFiles}. */
export interface PlanOptions {
  /** Absolute path of the project. */
  readonly root: string;
  /** Contents by path relative to the project; the first line of each contains the marker. */
  readonly files: ReadonlyMap<string, string>;
  /** Text in the first line that identifies a generated file. */
  readonly marker: string;
  /** Folders, relative to the project, in which other files with the marker are stale. */
  readonly ownFolders: readonly string[];
}

/**
 * Compares generated files with those on disk. Writes nothing.
 *
 * @returns One entry per file, sorted by path.
 */
export function planGeneratedFiles({ root, files, marker, ownFolders }: PlanOptions): FileChange[] {
  const changes: FileChange[] = [];
  for (const [path, text] of files) {
    const present = readIfThere(join(root, path));
    if (present === undefined) changes.push({ path, change: "created", text });
    else if (present.replaceAll("\r\n", "\n") === text) changes.push({ path, change: "unchanged" });
    else if (isGenerated(present, marker)) changes.push({ path, change: "updated", text });
    else changes.push({ path, change: "kept" });
  }
  for (const folder of ownFolders) {
    for (const name of listIfThere(join(root, folder))) {
      const path = `${folder}/${name}`;
      if (!files.has(path) && isGenerated(readIfThere(join(root, path)) ?? "", marker)) {
        changes.push({ path, change: "removed" });
      }
    }
  }
  return changes.sort((a, b) => a.path < b.path ? -1 : 1);
}

/**
 * Applies a plan. Each file is written to a temporary file and renamed, so that readers never see a
 * partial file. The function is synchronous, so signals cannot interrupt it halfway.
 *
 * @throws {ConfigurationError} If a file cannot be written.
 */
export function applyGeneratedFiles(root: string, changes: readonly FileChange[]): void {
  for (const { path, change, text } of changes) {
    const file = join(root, path);
    try {
      if (change === "removed") rmSync(file);
      if (text === undefined) continue;
      mkdirSync(dirname(file), { recursive: true });
      const aside = join(dirname(file), `.${basename(file)}.${process.pid}.tmp`);
      try {
        writeFileSync(aside, text);
        renameSync(aside, file);
      } finally {
        rmSync(aside, { force: true });
      }
    } catch (cause) {
      throw createFileError(path, "written", cause);
    }
  }
}

/**
 * Converts a path to the form used in plans: relative to the project, with forward slashes.
 *
 * @param path Absolute, or relative to the project.
 */
export function toProjectPath(root: string, path: string): string {
  return toPortablePath(root, resolve(root, path));
}

function isGenerated(text: string, marker: string): boolean {
  return text.slice(0, text.indexOf("\n") + 1 || undefined).includes(marker);
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return undefined;
    throw createFileError(file, "read", error);
  }
}

function listIfThere(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile()).map((
      entry,
    ) => entry.name);
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return [];
    throw createFileError(folder, "read", error);
  }
}
