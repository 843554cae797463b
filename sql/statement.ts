import { isTrivia, type SqlToken, tokenize } from "./tokenize.ts";

/** Marker that drizzle-kit writes between statements; a comment to PostgreSQL. */
export const STATEMENT_BREAKPOINT = "--> statement-breakpoint";

/** Statement of a text. */
export interface SqlStatement {
  /** Statement as written, from its first comment or word to its semicolon. */
  readonly text: string;
  /** Offset in the split text. */
  readonly start: number;
  /** Tokens, including spaces and comments; joined, they are the text. */
  readonly tokens: readonly SqlToken[];
}

/**
 * Tracker of blocks whose semicolons end no statement: parentheses (CREATE RULE) and the SQL body
 * of a function (`BEGIN ATOMIC … END`, in which CASE also has an END).
 */
class BlockTracker {
  #parentheses = 0;
  #blocks = 0;
  /** The first four words, which identify a routine. */
  #words: string[] = [];
  #isRoutine = false;

  see(token: SqlToken): void {
    if (token.text === "(") this.#parentheses++;
    else if (token.text === ")") this.#parentheses = Math.max(0, this.#parentheses - 1);
    else if (this.#words.length < 4) {
      if (!isTrivia(token)) this.#note(token.kind === "word" ? token.text.toUpperCase() : "");
    } else if (this.#isRoutine && token.kind === "word") this.#seeWord(token.text.toUpperCase());
  }

  #note(word: string): void {
    this.#words.push(word);
    this.#isRoutine = this.#createsRoutine();
  }

  #seeWord(word: string): void {
    if (word === "BEGIN" || (word === "CASE" && this.#blocks > 0)) this.#blocks++;
    else if (word === "END" && this.#blocks > 0) this.#blocks--;
  }

  #createsRoutine(): boolean {
    const [first, second, third, fourth] = this.#words;
    const object = second === "OR" && third === "REPLACE" ? fourth : second;
    return first === "CREATE" && (object === "FUNCTION" || object === "PROCEDURE");
  }

  get isInside(): boolean {
    return this.#parentheses > 0 || this.#blocks > 0;
  }
}

/**
 * Builds the statement of a part of a text, without surrounding spaces; `undefined` if it only
 * contains comments.
 */
function buildStatement(
  sql: string,
  tokens: readonly SqlToken[],
  from: number,
  to: number,
): SqlStatement | undefined {
  if (tokens.every((token) => isTrivia(token) || token.text === ";")) return undefined;
  let [first, last, start, end] = [0, tokens.length, from, to];
  while (tokens[first].kind === "space") start += tokens[first++].text.length;
  while (tokens[last - 1].kind === "space") end -= tokens[--last].text.length;
  return { text: sql.slice(start, end), start, tokens: tokens.slice(first, last) };
}

/**
 * Adds a semicolon to a statement without one, before the comments after it.
 *
 * @param sql One statement.
 * @returns The statement with its semicolon.
 */
export function terminateStatement(sql: string): string {
  const tokens = tokenize(sql);
  let last = tokens.length - 1;
  while (last >= 0 && isTrivia(tokens[last])) last--;
  if (last < 0 || tokens[last].text === ";" || tokens[last].kind === "psql") return sql;
  return tokens.map((token, place) => place === last ? `${token.text};` : token.text).join("");
}

/**
 * Splits SQL at semicolons and drizzle-kit's breakpoints, except in literals, comments, quoted
 * names and function bodies. A comment belongs to the statement after it; parts without a statement
 * are dropped.
 *
 * @param sql Any text: one statement, a migration file, a dump.
 * @returns The statements in order.
 *
 * @example
 * ```ts
 * import { splitStatements } from "@trellis/fn/distsql";
 *
 * console.log(splitStatements("SELECT ';'; SELECT 2").map((statement) => statement.text)); // ["SELECT ';';", "SELECT 2"]
 * ```
 */
export function splitStatements(sql: string): SqlStatement[] {
  const statements: SqlStatement[] = [];
  let current: SqlToken[] = [];
  let blocks = new BlockTracker();
  let offset = 0; // offset of the first token of the current statement
  let at = 0;
  const finish = (end: number): void => {
    const statement = buildStatement(sql, current, offset, end);
    if (statement) statements.push(statement);
    current = [];
    blocks = new BlockTracker();
    offset = at;
  };
  for (const token of tokenize(sql)) {
    at += token.text.length;
    if (token.kind === "line_comment" && token.text.startsWith(STATEMENT_BREAKPOINT)) {
      finish(at - token.text.length);
      continue;
    }
    current.push(token);
    blocks.see(token);
    const ends = (token.kind === "symbol" && token.text === ";" && !blocks.isInside) ||
      token.kind === "psql";
    if (ends) finish(at);
  }
  finish(at);
  return statements;
}
