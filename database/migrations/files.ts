import { readFileSync } from "node:fs";
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
 * Things that have a tag, in the order of migrations.
 *
 * @param things Left as they are.
 * @param tagOf Gives the tag.
 */
export function sortByTag<T>(things: readonly T[], tagOf: (thing: T) => string): T[] {
  const numbered = things.map((thing) => ({
    thing,
    tag: tagOf(thing),
    number: getNumber(tagOf(thing)),
  }));
  numbered.sort((a, b) => compareNumbered(a.number, a.tag, b.number, b.tag));
  return numbered.map(({ thing }) => thing);
}

/** The order of migrations: by number, however many zeros are before it. */
export function compareTags(a: string, b: string): number {
  return compareNumbered(getNumber(a), a, getNumber(b), b);
}

function compareNumbered(x: bigint, a: string, y: bigint, b: string): number {
  return x === y ? (a < b ? -1 : a > b ? 1 : 0) : x < y ? -1 : 1;
}

/** The number that a tag begins with; 0 when it has none. */
export function getNumber(tag: string): bigint {
  return BigInt(TAG.exec(tag)?.[1] ?? 0);
}

/** Whether a tag has the form `<number>_<name>`. */
export function hasNumber(tag: string): boolean {
  return TAG.test(tag);
}

/** A tag as messages show it: one with control characters is escaped. */
export function printTag(tag: string): string {
  return /\p{Cc}/u.test(tag) ? JSON.stringify(tag) : tag;
}

/**
 * Reads a migration.
 *
 * @param folder The folder's path.
 * @param tag The file's name without `.sql`.
 * @returns The file; its content is not changed.
 * @throws {MigrationError} When the file cannot be read or is not UTF-8.
 */
export function readMigrationFile(folder: string, tag: string): MigrationFile {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(join(folder, `${tag}.sql`));
  } catch (cause) {
    throw new MigrationError(
      `${tag}.sql cannot be read: it must be a file, or a link that leads to one`,
      {
        tag,
        cause,
      },
    );
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
    if (token.kind === "line_comment" && token.text.startsWith(STATEMENT_BREAKPOINT)) {
      parts.push("");
    } else parts[parts.length - 1] += token.text;
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
  return [unix, windows, `\ufeff${unix}`, `\ufeff${windows}`].some((text) =>
    hashText(text) === hash
  );
}
