import { readdirSync } from "node:fs";
import {
  getNumber,
  hasNumber,
  type MigrationFile,
  printTag,
  readMigrationFile,
  sortByTag,
} from "./files.ts";
import { JOURNAL_FILE, readJournal } from "./journal.ts";
import { MigrationError } from "./migration_error.ts";

/** A folder of migrations. */
export interface MigrationFolder {
  /** The migrations, in the order in which they are applied. */
  files: MigrationFile[];
  /** Whether drizzle-kit's journal tells which files belong to it, and their order. */
  hasJournal: boolean;
  /** Tags of the files that the journal does not list. They are never run. */
  unlisted: string[];
}

/**
 * Reads the migrations of a folder. drizzle-kit's `meta/_journal.json` is the list and the order where there is one;
 * without it the files `<number>_<name>.sql` are read in the order of their numbers.
 *
 * @param folder The folder's path.
 * @returns The migrations, and the files that the journal does not list.
 * @throws {MigrationError} When the folder or a file cannot be read, a name is not of that form, two files have the
 * same number and no journal tells their order, or a file that the journal lists is missing.
 */
export function readMigrationFolder(folder: string): MigrationFolder {
  const names = listFolder(folder).filter((name) => name.endsWith(".sql"));
  const tags = names.map((name) => name.slice(0, -".sql".length));
  // tags go into log lines and error messages
  const unfit = tags.find((tag) => printTag(tag) !== tag);
  if (unfit !== undefined) {
    throw new MigrationError(
      `${printTag(`${unfit}.sql`)} has a control character in its name: rename it`,
    );
  }
  const listed = readJournal(folder);
  if (listed !== undefined) checkListed(listed, new Set(tags));
  else checkNumbers(tags);
  const order = listed ?? sortByTag(tags, (tag) => tag);
  const known = new Set(order);
  return {
    files: order.map((tag) => readMigrationFile(folder, tag)),
    hasJournal: listed !== undefined,
    unlisted: sortByTag(tags.filter((tag) => !known.has(tag)), (tag) => tag),
  };
}

/**
 * Reads the migrations of a folder: the files that drizzle-kit's `meta/_journal.json` lists, in its order, or, without
 * a journal, the files `<number>_<name>.sql` in the order of their numbers. Other files are passed over.
 *
 * @param folder The folder's path.
 * @returns One entry for each file; the content is not run and not changed.
 * @throws {MigrationError} When the folder or a file cannot be read, a file is not UTF-8, a name has no number or two
 * files have the same number where there is no journal, or a file that the journal lists is missing. Names the file and
 * the fix.
 *
 * @example
 * ```ts
 * import { readMigrationFiles } from "@trellis/fn/database";
 * import { mkdtempSync, writeFileSync } from "node:fs";
 *
 * const folder = mkdtempSync("/tmp/migrations-");
 * writeFileSync(`${folder}/0001_notes.sql`, "CREATE TABLE notes (id int);");
 * console.log(readMigrationFiles(folder)[0].tag); // 0001_notes
 * ```
 */
export function readMigrationFiles(folder: string): MigrationFile[] {
  return readMigrationFolder(folder).files;
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (cause) {
    throw new MigrationError(
      `The migrations folder ${JSON.stringify(folder)} cannot be read: check the path`,
      {
        cause,
      },
    );
  }
}

/** A file that did not get into the package must not be passed over in silence. */
function checkListed(listed: readonly string[], tags: ReadonlySet<string>): void {
  const missing = listed.find((tag) => !tags.has(tag));
  if (missing === undefined) return;
  throw new MigrationError(
    `${
      printTag(missing)
    }.sql is listed in ${JOURNAL_FILE} but is not there: restore the file, or remove its entry`,
    { tag: missing },
  );
}

function checkNumbers(tags: readonly string[]): void {
  const byNumber = new Map<bigint, string>();
  for (const tag of tags) {
    if (!hasNumber(tag)) {
      throw new MigrationError(`${tag}.sql has no number: name it <number>_<name>.sql`, { tag });
    }
    const other = byNumber.get(getNumber(tag));
    if (other !== undefined) {
      throw new MigrationError(
        `${other}.sql and ${tag}.sql have the same number, so their order is not known: ` +
          "give one of them the next number",
        { tag },
      );
    }
    byNumber.set(getNumber(tag), tag);
  }
}
