import { tokenize } from "./tokenize.ts";

/** Comment that replaces a statement which drops a primary key. */
export interface CommentedKey {
  /** Offset of the statement in the text. */
  readonly start: number;
  /** The statement. */
  readonly text: string;
  /** Table, without quotes. */
  readonly table: string;
}

/** Placeholder that drizzle-kit writes for the key's name. */
const PLACEHOLDER = '"<constraint_name>"';
/** Placeholder for all text outside of comments; occurs in no comment. */
const OUTSIDE = "\0";
/** Parts of the statement. Spaces, line breaks and comment marks may separate its words. */
const PARTS =
  /\0|"|\bALTER[\s*/-]+TABLE\b|\bDROP[\s*/-]+CONSTRAINT[\s*/-]+(?:IF[\s*/-]+EXISTS[\s*/-]+)?"<constraint_name>"/gi;
/** Maximum length of a table in a message: two names of 63 bytes with quotes, and some reserve. */
const MAX_TABLE_LENGTH = 150;

/**
 * Finds comments in which drizzle-kit asks the user to complete a statement: `-- ALTER TABLE
 * "notes" DROP CONSTRAINT "<constraint_name>";`. A server ignores them, so the key would not be
 * dropped.
 *
 * @param sql SQL text.
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
      if (start >= 0 && isInName) continue; // in "the ALTER TABLE page" the words are part of a name
      [start, tableStart, isInName] = [index, index + part.length, false];
    } else if (start >= 0) {
      const text = sql.slice(start, index + part.length);
      found.push({ start, text, table: readTable(comments.slice(tableStart, index)) });
      start = -1;
    }
  }
  return found;
}

/** Keeps comments and spaces at their offsets, and replaces everything else by {@link OUTSIDE}. */
function blankStatements(sql: string): string {
  return tokenize(sql)
    .map(({ kind, text }) =>
      kind.endsWith("comment") || kind === "space" ? text : OUTSIDE.padEnd(text.length)
    )
    .join("");
}

/** Reads the table as written, without quotes, comment marks and the clauses before it. */
function readTable(text: string): string {
  const words = text.split(/\s+/).filter((word) => !/^[*/-]*$/.test(word));
  if (words[0]?.toUpperCase() === "IF") words.splice(0, 2);
  if (words[0]?.toUpperCase() === "ONLY") words.shift();
  return words.join(" ").replaceAll('"', "").slice(0, MAX_TABLE_LENGTH);
}
