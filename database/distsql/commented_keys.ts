import { tokenize } from "./tokenize.ts";

/** A comment that stands for a statement which drops a primary key. */
export interface CommentedKey {
  /** Where the statement is in the text. */
  readonly start: number;
  /** The statement. */
  readonly text: string;
  /** The table, without quotes. */
  readonly table: string;
}

/** What drizzle-kit writes in place of the key's name. */
const PLACEHOLDER = '"<constraint_name>"';
/** Stands for a character that is in no comment. */
const OUTSIDE = "\0";
/** The parts of the statement. Between its words may be spaces, line breaks and the marks of a comment. */
const PARTS =
  /\0|"|\bALTER[\s*/-]+TABLE\b|\bDROP[\s*/-]+CONSTRAINT[\s*/-]+(?:IF[\s*/-]+EXISTS[\s*/-]+)?"<constraint_name>"/gi;
/** The longest table of a message: two names of 63 bytes in quotes, and some more. */
const MAX_TABLE_LENGTH = 150;

/**
 * Finds the comments by which drizzle-kit asks for a statement to be completed:
 * `-- ALTER TABLE "notes" DROP CONSTRAINT "<constraint_name>";`. To a server they are nothing, so the key would stay.
 *
 * @param sql A text of SQL.
 * @returns The comments, in order.
 */
export function findCommentedKeys(sql: string): CommentedKey[] {
  if (!sql.includes(PLACEHOLDER)) return [];
  const comments = blankStatements(sql);
  const found: CommentedKey[] = [];
  let start = -1;
  let tableStart = 0;
  let isInName = false;
  for (const { 0: part, index } of comments.matchAll(PARTS)) {
    if (part === OUTSIDE) start = -1;
    else if (part === '"') isInName = !isInName;
    else if (/^ALTER/i.test(part)) {
      if (start >= 0 && isInName) continue; // "the ALTER TABLE page" is a name
      [start, tableStart, isInName] = [index, index + part.length, false];
    } else if (start >= 0) {
      const text = sql.slice(start, index + part.length);
      found.push({ start, text, table: readTable(comments.slice(tableStart, index)) });
      start = -1;
    }
  }
  return found;
}

/** Leaves comments and spaces, each at its place, and {@link OUTSIDE} for everything else. */
function blankStatements(sql: string): string {
  return tokenize(sql)
    .map(({ kind, text }) =>
      kind.endsWith("comment") || kind === "space" ? text : OUTSIDE.padEnd(text.length)
    )
    .join("");
}

/** Reads the table as it is written, without quotes, comment marks and the clauses before it. */
function readTable(text: string): string {
  const words = text.split(/\s+/).filter((word) => !/^[*/-]*$/.test(word));
  if (words[0]?.toUpperCase() === "IF") words.splice(0, 2);
  if (words[0]?.toUpperCase() === "ONLY") words.shift();
  return words.join(" ").replaceAll('"', "").slice(0, MAX_TABLE_LENGTH);
}
