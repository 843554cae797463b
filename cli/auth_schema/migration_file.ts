import { readFileSync } from "node:fs";
import { join } from "node:path";
import { getNumber } from "../../database/migrations/files.ts";
import type { MigrationFolder } from "../../database/migrations/folder.ts";
import { JOURNAL_FILE } from "../../database/migrations/journal.ts";
import type { FileChange } from "../files/generated_files.ts";

/** Options of {@link planMigrationFiles}. */
export interface MigrationFileOptions {
  /** Folder of the migrations, relative to the project. */
  readonly dir: string;
  /** Absolute path of the folder. */
  readonly folder: string;
  /** The present migrations; `undefined` if the folder does not exist. */
  readonly present: MigrationFolder | undefined;
  /** Name of the file without its number. */
  readonly name: string;
  /** A comment for the first line, without `--`. */
  readonly head: string;
  readonly statements: readonly string[];
  /** Current time in milliseconds. */
  readonly nowMs: number;
}

/**
 * Plans the file of a new migration, with its entry in drizzle-kit's journal if there is one.
 *
 * @returns The new and changed files; empty without statements.
 */
export function planMigrationFiles(options: MigrationFileOptions): FileChange[] {
  const { dir, folder, present, name, head, statements, nowMs } = options;
  if (statements.length === 0) return [];
  const tag = `${chooseNumber(present, nowMs)}_${name}`;
  const text = `-- ${head}\n${statements.join("\n--> statement-breakpoint\n")}\n`;
  const file: FileChange = { path: `${dir}/${tag}.sql`, change: "created", text };
  if (present?.hasJournal !== true) return [file];
  return [file, {
    path: `${dir}/${JOURNAL_FILE}`,
    change: "updated",
    text: addEntry(readFileSync(join(folder, JOURNAL_FILE), "utf8"), tag, nowMs),
  }];
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
