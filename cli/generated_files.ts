import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import process from "node:process";
import { ConfigurationError } from "../errors/http_errors.ts";

/** What is to be done with a generated file. */
export interface FileChange {
  /** Relative to the project. */
  readonly path: string;
  /** `kept` is a file without our first line: it is left alone, though we would write another one. */
  readonly change: "unchanged" | "created" | "updated" | "removed" | "kept";
  /** The new text, where there is one. */
  readonly text?: string;
}

/** Options of {@link planGeneratedFiles}. */
export interface PlanOptions {
  /** Absolute path of the project. */
  readonly root: string;
  /** Texts by path relative to the project; each begins with a line that holds the marker. */
  readonly files: ReadonlyMap<string, string>;
  /** What the first line of a file of ours holds. */
  readonly marker: string;
  /** Folders, relative to the project, whose other files with the marker are stale. */
  readonly ownFolders: readonly string[];
}

/**
 * Compares what was generated with what is there. Nothing is written.
 *
 * @param options The texts and where they go.
 * @returns One entry for each file, by path.
 */
export function planGeneratedFiles({ root, files, marker, ownFolders }: PlanOptions): FileChange[] {
  const changes: FileChange[] = [];
  for (const [path, text] of files) {
    const present = readIfThere(join(root, path));
    if (present === undefined) changes.push({ path, change: "created", text });
    else if (present.replaceAll("\r\n", "\n") === text) changes.push({ path, change: "unchanged" });
    else if (isOurs(present, marker)) changes.push({ path, change: "updated", text });
    else changes.push({ path, change: "kept" });
  }
  for (const folder of ownFolders) {
    for (const name of listIfThere(join(root, folder))) {
      const path = `${folder}/${name}`;
      if (!files.has(path) && isOurs(readIfThere(join(root, path)) ?? "", marker)) {
        changes.push({ path, change: "removed" });
      }
    }
  }
  return changes.sort((a, b) => a.path < b.path ? -1 : 1);
}

/**
 * Writes what was planned. Each file is written aside and renamed, so that nobody ever sees half of one; the whole is one
 * step for signals.
 *
 * @param root Absolute path of the project.
 * @param changes The plan.
 * @throws {ConfigurationError} When a file cannot be written.
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
      throw new ConfigurationError(`${path} could not be written: ${(cause as Error).message}`, {
        cause,
      });
    }
  }
}

/**
 * A path of the configuration as plans name it: relative to the project, with slashes.
 *
 * @param root Absolute path of the project.
 * @param path Absolute, or relative to the project.
 */
export function toProjectPath(root: string, path: string): string {
  return relative(root, resolve(root, path)).split(sep).join("/");
}

function isOurs(text: string, marker: string): boolean {
  return text.slice(0, text.indexOf("\n") + 1 || undefined).includes(marker);
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return undefined;
    throw new ConfigurationError(`${file} could not be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function listIfThere(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile()).map((
      entry,
    ) => entry.name);
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return [];
    throw new ConfigurationError(`${folder} could not be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
