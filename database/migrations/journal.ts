import { stripMark } from "../../sql/text_position.ts";
import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { MigrationError } from "./migration_error.ts";
import { printTag } from "./files.ts";

/** Path of drizzle-kit's journal in a folder of migrations. */
export const JOURNAL_FILE = "meta/_journal.json";

const RESTORE = "restore it from version control";

/**
 * Reads drizzle-kit's journal, which lists the migrations in the order of application. As in
 * drizzle's own migrator, the order of the entries counts, not `idx` and `when`, which merges
 * duplicate and reorder.
 *
 * @param folder The folder of the migrations.
 * @returns The tags, or `undefined` if the folder has no journal.
 * @throws {MigrationError} If the journal cannot be read, or is not a list of distinct migrations.
 */
export function readJournal(folder: string): string[] | undefined {
  const path = join(folder, JOURNAL_FILE);
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new MigrationError(`${JOURNAL_FILE} cannot be read: ${RESTORE}`, { cause });
  }
  const tags = new Set<string>();
  for (const [index, entry] of parseEntries(text).entries()) {
    const tag = (entry as { tag?: unknown } | null)?.tag;
    if (typeof tag !== "string" || tag === "") {
      throw new MigrationError(`${JOURNAL_FILE}: entry ${index + 1} has no tag: ${RESTORE}`);
    }
    if (tags.has(tag)) {
      throw new MigrationError(
        `${JOURNAL_FILE} lists ${printTag(tag)} twice: remove one of the entries`,
        { tag },
      );
    }
    tags.add(tag);
  }
  return [...tags];
}

function parseEntries(text: string): unknown[] {
  let journal: unknown;
  try {
    journal = JSON.parse(stripMark(text));
  } catch (cause) {
    throw new MigrationError(`${JOURNAL_FILE} is not JSON: ${RESTORE}`, { cause });
  }
  const { entries } = (journal ?? {}) as { entries?: unknown };
  if (!Array.isArray(entries)) {
    throw new MigrationError(`${JOURNAL_FILE} has no list of entries: ${RESTORE}`);
  }
  return entries;
}
