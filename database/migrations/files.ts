import { stripMark } from "../../sql/text_position.ts";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { STATEMENT_BREAKPOINT } from "../../sql/statement.ts";
import { tokenize } from "../../sql/tokenize.ts";
import { MigrationError } from "./migration_error.ts";
import type { Buffer } from "node:buffer";
import { builtinModule } from "../../env/builtin_module.ts";

/** Migration file. */
export interface MigrationFile {
  /** The file's name without `.sql`, or the name of its folder: `<number>_<name>`. */
  tag: string;
  /** Path in the folder of migrations: `<tag>.sql` or `<tag>/migration.sql`. */
  path: string;
  /** SHA-256 of the file's unchanged content, in hex. */
  hash: string;
  /** Unchanged content of the file. */
  sql: string;
  /** Content, split at drizzle-kit's breakpoints, without byte order mark and parts without SQL. */
  statements: string[];
  /** Tags of migrations that this file rolls back: their records are deleted with its own record. */
  rollsBack?: readonly string[];
}

const TAG = /^(\d+)_(.+)$/;

/**
 * Sorts items by their tags, in the order of migrations.
 *
 * @param things The items; not changed.
 * @param tagOf Returns the tag of an item.
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

/** Beginning of a date: `20250625`, with or without a time. */
const DATE = /^[1-9]\d{7}/;

/**
 * Compares tags by number, ignoring leading zeros. Dates with and without a time are compared as
 * texts, like folders of Prisma and drizzle 1.0, and come after other numbers.
 */
export function compareTags(a: string, b: string): number {
  return compareNumbered(getNumber(a), a, getNumber(b), b);
}

function compareNumbered(x: bigint, a: string, y: bigint, b: string): number {
  const isDate = DATE.test(a);
  if (isDate !== DATE.test(b)) return isDate ? 1 : -1;
  if (x !== y && !isDate) return x < y ? -1 : 1;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Returns the number at the beginning of a tag; 0 if there is none. */
export function getNumber(tag: string): bigint {
  return BigInt(TAG.exec(tag)?.[1] ?? 0);
}

/** Checks for the form `<number>_<name>`. */
export function hasNumber(tag: string): boolean {
  return TAG.test(tag);
}

/** Formats a tag for messages; escapes control characters. */
export function printTag(tag: string): string {
  return /\p{Cc}/u.test(tag) ? JSON.stringify(tag) : tag;
}

/**
 * Reads a migration.
 *
 * @param folder The folder's path.
 * @param tag The file's name without `.sql`, or the name of its folder.
 * @returns The file with its unchanged content.
 * @throws {MigrationError} If the file cannot be read or is not UTF-8.
 */
export function readMigrationFile(folder: string, tag: string): MigrationFile {
  const path = findMigrationPath(folder, tag);
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(join(folder, path));
  } catch (cause) {
    throw new MigrationError(
      `${path} cannot be read: it must be a file, or a link to a file`,
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
    throw new MigrationError(`${path} is not UTF-8: save it as UTF-8`, { tag, cause });
  }
  let statements: string[] | undefined;
  return {
    tag,
    path,
    hash: hashText(sql),
    sql,
    // computed on first use, which a run without pending migrations never needs
    get statements(): string[] {
      return statements ??= splitAtBreakpoints(stripMark(sql));
    },
  };
}

/** Name of the file in a migration's own folder, as Prisma and drizzle 1.0 write it. */
const NESTED_FILE = "migration.sql";

/** Checks whether a folder has the migration `<tag>/migration.sql`. */
export function isNestedMigration(folder: string, tag: string): boolean {
  return existsSync(join(folder, tag, NESTED_FILE));
}

/**
 * Returns the path of a migration in the folder of migrations: `<tag>.sql`, or
 * `<tag>/migration.sql` if there is only that.
 */
export function findMigrationPath(folder: string, tag: string): string {
  const path = `${tag}.sql`;
  if (existsSync(join(folder, path)) || !isNestedMigration(folder, tag)) return path;
  return nestMigration(tag);
}

/** Returns `<tag>/migration.sql`. */
export function nestMigration(tag: string): string {
  return `${tag}/${NESTED_FILE}`;
}

/** Returns the SHA-256 of a text in hex. */
export function hashText(text: string): string {
  return sha256(text).toString("hex");
}

/** Splits at the marker where it is a comment, not inside a literal. */
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
 * Checks whether two contents differ only in line endings and byte order mark, which version
 * control may convert.
 *
 * @param sql The current content.
 * @param hash The hash of the applied content.
 */
export function isSameButLineEndings(sql: string, hash: string): boolean {
  const unix = stripMark(sql).replaceAll("\r\n", "\n");
  const windows = unix.replaceAll("\n", "\r\n");
  return [unix, windows, `\ufeff${unix}`, `\ufeff${windows}`].some((text) =>
    hashText(text) === hash
  );
}

/**
 * Returns the SHA-256 of a text. Loads `node:crypto` on first use, so that functions that never
 * migrate do not pay for it.
 *
 * @param text The text; its UTF-8 bytes are hashed.
 * @returns 32 bytes.
 */
export function sha256(text: string): Buffer {
  return builtinModule("node:crypto")!.createHash("sha256").update(text).digest();
}
