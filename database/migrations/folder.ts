import { readdirSync } from "node:fs";
import {
  getNumber,
  hasNumber,
  isNestedMigration,
  type MigrationFile,
  printTag,
  readMigrationFile,
  sortByTag,
} from "./files.ts";
import { JOURNAL_FILE, readJournal } from "./journal.ts";
import { MigrationError } from "./migration_error.ts";

/** Folder of migrations. */
export interface MigrationFolder {
  /** Migrations, in the order of application. */
  files: MigrationFile[];
  /** True if drizzle-kit's journal lists the files and their order. */
  hasJournal: boolean;
  /** Tags of the files that the journal does not list. They are never run. */
  unlisted: string[];
}

/**
 * Reads the migrations of a folder. If drizzle-kit's `meta/_journal.json` exists, it determines
 * files and order. Otherwise the files `<number>_<name>.sql`, and the files
 * `<number>_<name>/migration.sql` of Prisma and drizzle 1.0, are read in the order of their numbers.
 *
 * @param folder The folder's path.
 * @returns The migrations, and the files that the journal does not list.
 * @throws {MigrationError} If the folder or a file cannot be read, a name does not have that form,
 * two files have the same number without a journal and are no folders, or a file in the journal is
 * missing.
 */
export function readMigrationFolder(folder: string): MigrationFolder {
  const names = listFolder(folder);
  const nested = new Set(names.filter((name) => isNestedMigration(folder, name)));
  const tags = names.filter((name) => name.endsWith(".sql") || nested.has(name))
    .map((name) => nested.has(name) ? name : name.slice(0, -".sql".length));
  // tags appear in log lines and error messages
  const unfit = tags.find((tag) => printTag(tag) !== tag);
  if (unfit !== undefined) {
    throw new MigrationError(
      `${printTag(`${unfit}.sql`)} has a control character in its name: rename it`,
    );
  }
  const listed = readJournal(folder);
  if (listed !== undefined) checkListed(listed, new Set(tags));
  else checkNumbers(tags, nested);
  const order = listed ?? sortByTag(tags, (tag) => tag);
  const known = new Set(order);
  return {
    files: order.map((tag) => readMigrationFile(folder, tag)),
    hasJournal: listed !== undefined,
    unlisted: sortByTag(tags.filter((tag) => !known.has(tag)), (tag) => tag),
  };
}

/**
 * Reads the migrations of a folder: the files in drizzle-kit's `meta/_journal.json`, in its order,
 * or without a journal the files `<number>_<name>.sql` and `<number>_<name>/migration.sql` in the
 * order of their numbers. Ignores other files.
 *
 * @param folder The folder's path.
 * @returns One entry per file with its unchanged content; nothing is run.
 * @throws {MigrationError} If the folder or a file cannot be read, a file is not UTF-8, a file in
 * the journal is missing, or, without a journal, a name has no number or two files have the same
 * number. The message names the file and the fix.
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

/** Checks that every listed file exists, since a file may be missing from the deployed package. */
function checkListed(listed: readonly string[], tags: ReadonlySet<string>): void {
  const missing = listed.find((tag) => !tags.has(tag));
  if (missing === undefined) return;
  throw new MigrationError(
    `${printTag(missing)}.sql is listed in ${JOURNAL_FILE} but does not exist: ` +
      "restore the file, or remove its entry",
    { tag: missing },
  );
}

/**
 * Checks that each tag has a number of its own. Folders of migrations can share one: Prisma and
 * drizzle 1.0 order them by their whole names.
 */
function checkNumbers(tags: readonly string[], nested: ReadonlySet<string>): void {
  const byNumber = new Map<bigint, string>();
  for (const tag of tags) {
    if (!hasNumber(tag)) {
      throw new MigrationError(
        `${tag}.sql has no number: name it <number>_<name>.sql, or <number>_<name>/migration.sql`,
        { tag },
      );
    }
    const other = byNumber.get(getNumber(tag));
    if (other !== undefined && !(nested.has(tag) && nested.has(other))) {
      throw new MigrationError(
        `${other}.sql and ${tag}.sql have the same number, so their order is undefined: give ` +
          "one of them the next number",
        { tag },
      );
    }
    byNumber.set(getNumber(tag), tag);
  }
}
