import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "./sha256.ts";
import { STATEMENT_BREAKPOINT } from "../distsql/statement.ts";
import { tokenize } from "../distsql/tokenize.ts";
import { MigrationError } from "./migration_error.ts";

/** One migration file. */
export interface MigrationFile {
  /** The file's name without `.sql`: `<number>_<name>`. */
  tag: string;
  /** SHA-256 of the file's content as it is, in hex. */
  hash: string;
  /** The file's content as it is. */
  sql: string;
  /** The content, split at drizzle-kit's breakpoints; a byte order mark and what holds no SQL are left out. */
  statements: string[];
}

const TAG = /^(\d+)_(.+)$/;

/**
 * Reads the migrations of a folder: files `<number>_<name>.sql`, with or without drizzle-kit's `meta/` beside them, in
 * the order of their numbers. Other files are passed over.
 *
 * @param folder The folder's path.
 * @returns One entry for each file; the content is not run and not changed.
 * @throws {MigrationError} When the folder is not there, a name has no number, two files have the same number, a file
 * that drizzle-kit's journal names is missing, or a file is no UTF-8. Names the file and the fix.
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
  const names = listFolder(folder).filter((name) => name.endsWith(".sql"));
  const tags = names.map((name) => name.slice(0, -".sql".length));
  // tags go into log lines and error messages
  const unfit = tags.find((tag) => /\p{Cc}/u.test(tag));
  if (unfit !== undefined) {
    throw new MigrationError(`${JSON.stringify(`${unfit}.sql`)} has a control character in its name: rename it`);
  }
  const unnumbered = tags.find((tag) => !TAG.test(tag));
  if (unnumbered !== undefined) {
    throw new MigrationError(`${unnumbered}.sql has no number: name it <number>_<name>.sql`, { tag: unnumbered });
  }
  checkNumbers(tags);
  checkJournal(folder, new Set(tags));
  return sortByTag(tags, (tag) => tag).map((tag) => readFile(folder, tag));
}

/**
 * Things that have a tag, in the order of migrations.
 *
 * @param things Left as they are.
 * @param tagOf Gives the tag.
 */
export function sortByTag<T>(things: readonly T[], tagOf: (thing: T) => string): T[] {
  const numbered = things.map((thing) => ({ thing, tag: tagOf(thing), number: numberOf(tagOf(thing)) }));
  numbered.sort((a, b) => compareNumbered(a.number, a.tag, b.number, b.tag));
  return numbered.map(({ thing }) => thing);
}

/** The order of migrations: by number, however many zeros are before it. */
export function compareTags(a: string, b: string): number {
  return compareNumbered(numberOf(a), a, numberOf(b), b);
}

function compareNumbered(x: bigint, a: string, y: bigint, b: string): number {
  return x === y ? (a < b ? -1 : a > b ? 1 : 0) : x < y ? -1 : 1;
}

function numberOf(tag: string): bigint {
  return BigInt(TAG.exec(tag)?.[1] ?? 0);
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (cause) {
    throw new MigrationError(`The migrations folder ${JSON.stringify(folder)} cannot be read: check the path`, {
      cause,
    });
  }
}

function checkNumbers(tags: readonly string[]): void {
  const byNumber = new Map<bigint, string>();
  for (const tag of tags) {
    const other = byNumber.get(numberOf(tag));
    if (other !== undefined) {
      throw new MigrationError(
        `${other}.sql and ${tag}.sql have the same number, so their order is not known: give one of them the next number`,
        { tag },
      );
    }
    byNumber.set(numberOf(tag), tag);
  }
}

/** A file that drizzle-kit made and that did not get into the package would be passed over in silence. */
function checkJournal(folder: string, tags: ReadonlySet<string>): void {
  const path = join(folder, "meta", "_journal.json");
  if (!existsSync(path)) return;
  let entries: { tag?: unknown }[] | undefined;
  try {
    ({ entries } = JSON.parse(readFileSync(path, "utf8")));
  } catch (cause) {
    throw new MigrationError(`${path} is no JSON: restore it from version control`, { cause });
  }
  if (entries !== undefined && !Array.isArray(entries)) {
    throw new MigrationError(`${path} has no list of entries: restore it from version control`);
  }
  const missing = entries?.find((entry) => typeof entry?.tag === "string" && !tags.has(entry.tag));
  if (missing !== undefined) {
    const tag = String(missing.tag);
    const shown = /\p{Cc}/u.test(tag) ? JSON.stringify(tag) : tag;
    throw new MigrationError(`${shown}.sql is named in meta/_journal.json but is not there: restore the file`, { tag });
  }
}

function readFile(folder: string, tag: string): MigrationFile {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(join(folder, `${tag}.sql`));
  } catch (cause) {
    throw new MigrationError(`${tag}.sql cannot be read: it must be a file, or a link that leads to one`, {
      tag,
      cause,
    });
  }
  let sql: string;
  try {
    sql = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new MigrationError(`${tag}.sql is not UTF-8: save it as UTF-8`, { tag, cause });
  }
  let statements: string[] | undefined;
  return {
    tag,
    hash: hashText(sql),
    sql,
    // a run that has nothing to do does not look at them
    get statements(): string[] {
      return statements ??= splitAtBreakpoints(stripMark(sql));
    },
  };
}

/** SHA-256 in hex. */
export function hashText(text: string): string {
  return sha256(text).toString("hex");
}

/** A text without the byte order mark that some editors put first. */
export function stripMark(text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

/** Splits at the marker where it is a comment; in a literal it is data. */
function splitAtBreakpoints(sql: string): string[] {
  if (!sql.includes(STATEMENT_BREAKPOINT)) return sql.trim() === "" ? [] : [sql.trim()];
  const parts: string[] = [""];
  for (const token of tokenize(sql)) {
    if (token.kind === "line_comment" && token.text.startsWith(STATEMENT_BREAKPOINT)) parts.push("");
    else parts[parts.length - 1] += token.text;
  }
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

/**
 * Whether two contents differ in line endings and byte order mark alone: version control changes those on its way to
 * another system.
 *
 * @param sql The content that is there.
 * @param hash The hash of the content that was applied.
 */
export function isSameButLineEndings(sql: string, hash: string): boolean {
  const unix = stripMark(sql).replaceAll("\r\n", "\n");
  const windows = unix.replaceAll("\n", "\r\n");
  return [unix, windows, `\ufeff${unix}`, `\ufeff${windows}`].some((text) => hashText(text) === hash);
}
