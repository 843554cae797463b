import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { getNumber, nestMigration } from "../../database/migrations/files.ts";
import { type MigrationFolder, readMigrationFolder } from "../../database/migrations/folder.ts";
import { JOURNAL_FILE } from "../../database/migrations/journal.ts";
import { UsageError } from "../terminal/command.ts";
import { type FileChange, toProjectPath } from "../files/generated_files.ts";
import { groupSteps, renderStep, type Step } from "../schema_migration/difference.ts";

/** Options of {@link planMigrationFiles}. */
export interface MigrationFileOptions {
  /** Folder of the migrations, relative to the project. */
  readonly dir: string;
  /** Absolute path of the folder. */
  readonly folder: string;
  /** The present migrations; `undefined` if the folder does not exist. */
  readonly present: MigrationFolder | undefined;
  /** Name of the file without its number; the second file has it with `_2`. */
  readonly name: string;
  /** A comment for the first line, without `--`. */
  readonly head: string;
  /** Statements by files. */
  readonly files: readonly (readonly string[])[];
  /** Current time in milliseconds. */
  readonly nowMs: number;
}

/**
 * Plans the files of new migrations, with their entries in drizzle-kit's journal if there is one.
 * A folder of `<number>_<name>/migration.sql` gets another one.
 *
 * @returns The new and changed files; empty without statements.
 */
export function planMigrationFiles(options: MigrationFileOptions): FileChange[] {
  const { dir, folder, present, name, head, nowMs } = options;
  const first = chooseNumber(present, nowMs);
  const last = present?.files.at(-1);
  const isNested = last !== undefined && last.path === nestMigration(last.tag);
  const tags: string[] = [];
  const files = options.files.map((statements, index): FileChange => {
    const number = String(BigInt(first) + BigInt(index)).padStart(first.length, "0");
    const tag = `${number}_${name}${index === 0 ? "" : `_${index + 1}`}`;
    tags.push(tag);
    const path = isNested ? nestMigration(tag) : `${tag}.sql`;
    const text = `-- ${head}\n${statements.join("\n--> statement-breakpoint\n")}\n`;
    return { path: `${dir}/${path}`, change: "created", text };
  });
  if (present?.hasJournal !== true || files.length === 0) return files;
  const journal = readFileSync(join(folder, JOURNAL_FILE), "utf8");
  return [...files, {
    path: `${dir}/${JOURNAL_FILE}`,
    change: "updated",
    text: tags.reduce((text, tag) => addEntry(text, tag, nowMs), journal),
  }];
}

/**
 * Plans the files of a new migration of a project.
 *
 * @returns The new and changed files; empty without steps.
 */
export function planMigration(
  { root, migrationsDir }: { readonly root: string; readonly migrationsDir: string },
  texts: Pick<MigrationFileOptions, "head" | "name">,
  steps: readonly Step[],
): FileChange[] {
  const folder = resolve(root, migrationsDir);
  return planMigrationFiles({
    ...texts,
    dir: toProjectPath(root, migrationsDir),
    folder,
    present: existsSync(folder) ? readMigrationFolder(folder) : undefined,
    files: groupSteps(steps).map((group) => group.map(renderStep)),
    nowMs: Date.now(),
  });
}

/**
 * Checks the name of a migration, which follows the number of its file.
 *
 * @throws {UsageError} If it is no part of a file's name.
 */
export function checkMigrationName(name: string): void {
  if (/^[a-z0-9][a-z0-9_-]*$/i.test(name)) return;
  throw new UsageError(`The name must have letters, digits, _ and - only, got "${name}"`);
}

/** Digits of drizzle-kit's timestamps. */
const TIMESTAMP_DIGITS = 14;

/** Returns the next number with as many digits as the last one. */
function chooseNumber(present: MigrationFolder | undefined, nowMs: number): string {
  const tags = [...present?.files.map(({ tag }) => tag) ?? [], ...present?.unlisted ?? []];
  const numbers = tags.map((tag) => /^\d+/.exec(tag)?.[0]).filter((text) => text !== undefined);
  if (numbers.length === 0) return present?.hasJournal === true ? "0000" : "0001";
  const highest = numbers.reduce((a, b) => BigInt(b) > BigInt(a) ? b : a);
  if (highest.length < TIMESTAMP_DIGITS) {
    return String(getNumber(`${highest}_`.concat("x")) + 1n).padStart(highest.length, "0");
  }
  const now = new Date(nowMs).toISOString().replaceAll(/[-T:]/g, "").slice(0, TIMESTAMP_DIGITS);
  return BigInt(now) > BigInt(highest) ? now : String(BigInt(highest) + 1n);
}

interface JournalEntry {
  readonly idx: number;
  readonly version?: string;
  readonly when: number;
  readonly tag: string;
  readonly breakpoints?: boolean;
}

function addEntry(text: string, tag: string, nowMs: number): string {
  const journal = JSON.parse(text.replace(/^\ufeff/, "")) as { entries: JournalEntry[] };
  const last = journal.entries.at(-1);
  const entry: JournalEntry = {
    idx: (last?.idx ?? -1) + 1,
    version: last?.version ?? "7",
    // drizzle's own migrator runs entries that are later than the last applied one
    when: Math.max(nowMs, (last?.when ?? 0) + 1),
    tag,
    breakpoints: true,
  };
  return `${JSON.stringify({ ...journal, entries: [...journal.entries, entry] }, null, 2)}\n`;
}
