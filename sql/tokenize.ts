import {
  AMPERSAND,
  BACKSLASH,
  blockCommentEnd,
  BYTE_ORDER_MARK,
  CLASS,
  COLON,
  DASH,
  digitsEnd,
  DOLLAR,
  dollarQuoteEnd,
  DOT,
  DOUBLE_QUOTE,
  isDigit,
  isNameStart,
  isSpace,
  lineCommentEnd,
  nameEnd,
  numberEnd,
  OPERATOR,
  operatorEnd,
  quotedEnd,
  SEMICOLON,
  SINGLE_QUOTE,
  SLASH,
  STAR,
  stringEnd,
} from "./token_ends.ts";

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

/**
 * Shared tokens of one character, by its code: half of a text's tokens are a space, a comma or a
 * bracket.
 */
const SINGLE: (SqlToken | undefined)[] = new Array(128).fill(undefined);

for (const text of " \n()[],;.") {
  SINGLE[text.charCodeAt(0)] = Object.freeze({ kind: kindOfSingle(text), text });
}

function kindOfSingle(text: string): SqlTokenKind {
  return isSpace(text.charCodeAt(0)) ? "space" : "symbol";
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

/** Checks for the letters of `E''`, `B''`, `X''` and `N''`, in lower case. */
function isStringPrefix(letter: number): boolean {
  return letter === 0x65 || letter === 0x62 || letter === 0x78 || letter === 0x6e;
}

/** Checks whether a token is part of a statement, so that a line of psql cannot follow. */
function endsStatementStart(kind: SqlTokenKind): boolean {
  return kind !== "space" && kind !== "line_comment" && kind !== "block_comment" && kind !== "psql";
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
  const length = sql.length;
  let at = 0;
  let atStatementStart = true;
  let inCopy = false;
  let awaitsRows = false;
  let rowsEnd = 0; // -1 once there are no more, to keep the search linear
  while (at < length) {
    const start = at;
    const code = sql.charCodeAt(at);
    const next = sql.charCodeAt(at + 1);
    let kind: SqlTokenKind = "symbol";
    if (isSpace(code) || (code === BYTE_ORDER_MARK && at === 0)) {
      kind = "space";
      do at++; while (at < length && isSpace(sql.charCodeAt(at)));
    } else if (code === DASH && next === DASH) {
      kind = "line_comment";
      at = lineCommentEnd(sql, at);
    } else if (code === SLASH && next === STAR) {
      kind = "block_comment";
      at = blockCommentEnd(sql, at);
    } else if (code === BACKSLASH && atStatementStart) {
      kind = "psql";
      at = lineCommentEnd(sql, at);
    } else if (isNameStart(code)) {
      const letter = code | 0x20;
      const third = sql.charCodeAt(at + 2);
      if (next === SINGLE_QUOTE && isStringPrefix(letter)) {
        kind = "string"; // E'', B'', X'', N''
        at = stringEnd(sql, at + 1, letter === 0x65);
      } else if (
        letter === 0x75 && next === AMPERSAND && (third === SINGLE_QUOTE || third === DOUBLE_QUOTE)
      ) {
        kind = third === SINGLE_QUOTE ? "string" : "quoted"; // U&'', U&""
        at = third === SINGLE_QUOTE
          ? stringEnd(sql, at + 2, false)
          : quotedEnd(sql, at + 2, DOUBLE_QUOTE, false);
      } else {
        kind = "word";
        at = nameEnd(sql, at + 1);
        if (atStatementStart) inCopy = wordIs(sql, start, at, "COPY");
        else if (inCopy && wordIs(sql, start, at, "STDIN")) awaitsRows = true;
      }
    } else if (code === SINGLE_QUOTE) {
      kind = "string";
      at = stringEnd(sql, at, false);
    } else if (code === DOUBLE_QUOTE) {
      kind = "quoted";
      at = quotedEnd(sql, at, DOUBLE_QUOTE, false);
    } else if (isDigit(code) || (code === DOT && isDigit(next))) {
      kind = "number";
      at = numberEnd(sql, at + 1);
    } else if (code === DOLLAR) {
      const end = dollarQuoteEnd(sql, at);
      if (end >= 0) kind = "string";
      else if (isDigit(next)) kind = "parameter";
      at = end >= 0 ? end : digitsEnd(sql, at + 1);
    } else if ((CLASS[code] & OPERATOR) !== 0) {
      at = operatorEnd(sql, at);
    } else {
      at += code === COLON && next === COLON ? 2 : 1;
    }
    const single = at - start === 1 && code < 128 ? SINGLE[code] : undefined;
    tokens.push(single ?? { kind, text: sql.slice(start, at) });
    if (code === SEMICOLON) {
      if (awaitsRows && rowsEnd >= 0) rowsEnd = copyRowsEnd(sql, at);
      if (awaitsRows && rowsEnd >= 0) {
        tokens.push({ kind: "psql", text: sql.slice(at, rowsEnd) });
        at = rowsEnd;
      }
      inCopy = awaitsRows = false;
      atStatementStart = true;
    } else if (endsStatementStart(kind)) {
      atStatementStart = false;
    }
  }
  return tokens;
}
