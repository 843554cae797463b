import type { SqlToken } from "./tokenize.ts";
import type { StatementReader } from "./statement_reader.ts";
import { quoteName } from "./quote.ts";

/** Maximum length of a name in bytes (NAMEDATALEN - 1). */
export const MAX_NAME_BYTES = 63;

const encoder = new TextEncoder();

/** Folds the ASCII letters of an unquoted name like PostgreSQL; other letters are not changed. */
function fold(name: string): string {
  return name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/**
 * Returns the name of a token, without quotes, folded and cut to 63 bytes like PostgreSQL.
 *
 * @param token A word or a quoted name.
 * @returns The name in the catalog; for `U&""` the text between the quotes with its escapes.
 */
export function getName(token: SqlToken): string {
  if (token.kind !== "quoted") return truncateName(fold(token.text));
  const start = token.text.indexOf('"') + 1;
  const end = token.text.endsWith('"') && token.text.length > start ? -1 : undefined;
  const name = token.text.slice(start, end).replaceAll('""', '"');
  return start === 1 ? truncateName(name) : name; // escapes of U&"" are longer than what they mean
}

/** Qualified name from a statement. */
export interface QualifiedName {
  /** Name as written. */
  readonly text: string;
  /** Folded last part. */
  readonly name: string;
  /** Schema, if the statement names one. */
  readonly schema: string | undefined;
  /** All folded parts, joined by dots, for messages. */
  readonly path: string;
  /** True if one part is quoted. */
  readonly isQuoted: boolean;
  /** Position after the name. */
  readonly end: number;
}

/** Parses a qualified name at a position; empty if there is none. */
export function readName(reader: StatementReader, at: number): QualifiedName {
  const end = reader.nameEnd(at);
  const parts: string[] = [];
  let isQuoted = false;
  for (let i = at; i < end; i += 2) {
    const token = reader.token(i)!;
    parts.push(getName(token));
    isQuoted ||= token.kind === "quoted";
  }
  return {
    text: reader.text(at, end),
    name: parts.at(-1) ?? "",
    schema: parts.at(-2),
    path: parts.join("."),
    isQuoted,
    end,
  };
}

/**
 * Returns the qualified name at a position in the catalog's form, each part quoted; empty if there
 * is none.
 */
export function quoteNameAt(reader: StatementReader, at: number): string {
  const parts: string[] = [];
  for (let i = at; i < reader.nameEnd(at); i += 2) {
    parts.push(writeName(getName(reader.token(i)!), true));
  }
  return parts.join(".");
}

/** Writes a name; quoted if requested or necessary. */
export function writeName(name: string, quoted: boolean): string {
  return quoted || !/^[a-z_][a-z0-9_$]*$/.test(name) ? quoteName(name) : name;
}

function getBytes(text: string): number {
  return encoder.encode(text).length;
}

function clip(text: string, maxBytes: number): string {
  if (getBytes(text) <= maxBytes) return text;
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    bytes += encoder.encode(character).length;
    if (bytes > maxBytes) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** Truncates a name to 63 bytes, as PostgreSQL does. */
export function truncateName(name: string): string {
  return clip(name, MAX_NAME_BYTES);
}

/**
 * Generates a name for a constraint or index by PostgreSQL's rule: table, columns and label joined
 * by underscores; over 63 bytes, the longer of the first two is truncated (PostgreSQL 18,
 * makeObjectName in indexcmds.c).
 */
export function deriveName(table: string, columns: string, label: string): string {
  const overhead = label.length + 1 + (columns === "" ? 0 : 1);
  let first = getBytes(table);
  let second = getBytes(columns);
  while (first + second + overhead > MAX_NAME_BYTES) {
    if (first > second) first--;
    else second--;
  }
  const parts = [clip(table, first), ...(columns === "" ? [] : [clip(columns, second)]), label];
  return parts.join("_");
}
