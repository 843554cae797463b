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

/** The statement as drizzle-kit writes it where it does not know the name of the key. */
const STATEMENT = /\bALTER TABLE ([^\s;]{1,150}) DROP CONSTRAINT "<constraint_name>"/i;

/**
 * Finds the comments by which drizzle-kit asks for a statement to be completed:
 * `-- ALTER TABLE "notes" DROP CONSTRAINT "<constraint_name>";`. To a server they are nothing, so the key would stay.
 *
 * @param sql A text of SQL.
 * @returns The comments, in order.
 */
export function findCommentedKeys(sql: string): CommentedKey[] {
  if (!sql.includes('"<constraint_name>"')) return [];
  const found: CommentedKey[] = [];
  let at = 0;
  for (const { kind, text } of tokenize(sql)) {
    const match = kind === "line_comment" || kind === "block_comment" ? STATEMENT.exec(text) : null;
    if (match !== null) {
      found.push({ start: at + match.index, text: match[0], table: match[1].replaceAll('"', "") });
    }
    at += text.length;
  }
  return found;
}
