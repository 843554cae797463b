/** Kind of a token. `word` is an unquoted identifier or keyword, `quoted` a quoted identifier. */
export type SqlTokenKind =
  | "space"
  | "line_comment"
  | "block_comment"
  | "word"
  | "quoted"
  | "string"
  | "number"
  | "parameter"
  | "symbol"
  | "psql";

/** Token of an SQL text; the tokens of a text, joined, are the text. */
export interface SqlToken {
  /** Kind of token. */
  readonly kind: SqlTokenKind;
  /** Unchanged text. */
  readonly text: string;
}

/** Kinds of the groups of {@link TOKEN}. */
const KINDS: readonly SqlTokenKind[] = [
  "space",
  "line_comment",
  "string",
  "quoted",
  "word",
  "number",
  "parameter",
];
const SPACE = String.raw`[ \t\n\r\f\v]`;
/** A string of which a line break and another string may be the next part (PostgreSQL 18, 4.1.2.1). */
const GAP = String.raw`(?:[ \t\f\v]|--[^\n\r]*(?=[\n\r]))*[\n\r](?:${SPACE}|--[^\n\r]*(?=[\n\r]))*`;
const PLAIN = String.raw`'[^']*(?:''[^']*)*(?:'|$)`;
const ESCAPED = String.raw`'[^'\\]*(?:(?:\\(?:[\s\S]|$)|'')[^'\\]*)*(?:'|$)`;

/**
 * Next token, except block comments and dollar quotes (PostgreSQL 18, scan.l). Every character beyond
 * ASCII is part of a name. An operator ends where a comment begins.
 */
const TOKEN = new RegExp(
  [
    String.raw`(^\ufeff${SPACE}*|${SPACE}+)`,
    String.raw`(--[^\n\r]*)`,
    `([eE]${ESCAPED}(?:${GAP}${ESCAPED})*|(?:[bBxXnN]|[uU]&)?${PLAIN}(?:${GAP}${PLAIN})*)`,
    `((?:[uU]&)?"[^"]*(?:""[^"]*)*(?:"|$))`,
    String.raw`([A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)`,
    String.raw`(0[xX](?:\w|\.(?!\.))*|(?:\d|\.\d)(?:\w|\.(?!\.)|(?<=[eE])[+-](?=\d))*)`,
    String.raw`(\$\d+)`,
    String.raw`(?:(?!--|/\*)[-+*/<>=~!@#%^&|${"`"}?])+|::|[\s\S]`,
  ].join("|"),
  "y",
);
const PSQL = /\\[^\n\r]*/y;
const DOLLAR_TAG = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y;

/** Returns the end of a block comment, which may be nested. */
function blockCommentEnd(sql: string, start: number): number {
  let depth = 0;
  for (const { 0: mark, index } of sql.slice(start).matchAll(/\/\*|\*\//g)) {
    depth += mark === "/*" ? 1 : -1;
    if (depth === 0) return start + index + 2;
  }
  return sql.length;
}

/** Returns the kind and the end of the token at a position. */
function readToken(sql: string, at: number, isStart: boolean): [SqlTokenKind, number] {
  if (sql.startsWith("/*", at)) return ["block_comment", blockCommentEnd(sql, at)];
  DOLLAR_TAG.lastIndex = TOKEN.lastIndex = PSQL.lastIndex = at;
  if (isStart && PSQL.test(sql)) return ["psql", PSQL.lastIndex];
  const tag = DOLLAR_TAG.exec(sql)?.[0];
  if (tag !== undefined) {
    const close = sql.indexOf(tag, at + tag.length);
    return ["string", close < 0 ? sql.length : close + tag.length];
  }
  const match = TOKEN.exec(sql)!;
  const [text] = match;
  const kind = KINDS[match.indexOf(text, 1) - 1] ?? "symbol";
  return [kind, at + text.length];
}

function wordIs(sql: string, start: number, end: number, word: string): boolean {
  return end - start === word.length && sql.slice(start, end).toUpperCase() === word;
}

/**
 * Returns the end of the rows that pg_dump writes after `COPY … FROM stdin;`, or -1 if there are
 * none.
 */
function copyRowsEnd(sql: string, at: number): number {
  const end = sql.indexOf("\n\\.", at);
  return end < 0 ? -1 : end + 3;
}

/** Checks whether a token is white space or a comment. */
export function isTrivia({ kind }: SqlToken): boolean {
  return kind === "space" || kind === "line_comment" || kind === "block_comment";
}

/**
 * Splits SQL into tokens by PostgreSQL's rules (PostgreSQL 18, 4.1): nested comments, `E''`,
 * `U&''`, dollar quotes, quoted identifiers, strings continued on the next line. Never fails: an
 * unterminated literal or comment extends to the end. Runs in linear time.
 *
 * Lines of psql (`\restrict`, and the rows after `COPY … FROM stdin`) are tokens of the kind
 * `psql`.
 *
 * @param sql Any text.
 * @returns The tokens; joined, they are the text.
 *
 * @example
 * ```ts
 * import { tokenize } from "@trellis/fn/distsql";
 *
 * console.log(tokenize("SELECT 'a;b'").map((token) => token.kind)); // ["word", "space", "string"]
 * ```
 */
export function tokenize(sql: string): SqlToken[] {
  const tokens: SqlToken[] = [];
  let at = 0;
  let atStatementStart = true;
  let inCopy = false;
  let awaitsRows = false;
  let rowsEnd = 0; // -1 once there are no more, to keep the search linear
  while (at < sql.length) {
    const start = at;
    const [kind, end] = readToken(sql, at, atStatementStart);
    at = end;
    const token = { kind, text: sql.slice(start, at) };
    tokens.push(token);
    if (kind === "word" && atStatementStart) inCopy = wordIs(sql, start, at, "COPY");
    else if (kind === "word" && inCopy && wordIs(sql, start, at, "STDIN")) awaitsRows = true;
    if (kind === "symbol" && sql[start] === ";") {
      if (awaitsRows && rowsEnd >= 0) rowsEnd = copyRowsEnd(sql, at);
      if (awaitsRows && rowsEnd >= 0) {
        tokens.push({ kind: "psql", text: sql.slice(at, rowsEnd) });
        at = rowsEnd;
      }
      inCopy = awaitsRows = false;
      atStatementStart = true;
    } else if (!isTrivia(token) && kind !== "psql") {
      atStatementStart = false; // a line of psql cannot follow
    }
  }
  return tokens;
}
