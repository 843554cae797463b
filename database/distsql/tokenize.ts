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

const SINGLE_QUOTE = 0x27;
const DOUBLE_QUOTE = 0x22;
const BACKSLASH = 0x5c;
const DOLLAR = 0x24;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const DASH = 0x2d;
const SLASH = 0x2f;
const STAR = 0x2a;
const DOT = 0x2e;
const COLON = 0x3a;
const SEMICOLON = 0x3b;
const AMPERSAND = 0x26;
const BYTE_ORDER_MARK = 0xfeff;

/**
 * Classes of the first 128 characters; all others are part of an identifier (PostgreSQL 18,
 * scan.l).
 */
const SPACE = 1, LETTER = 2, DIGIT = 4, OPERATOR = 8;
const CLASS: Uint8Array = classTable();

function classTable(): Uint8Array {
  const table = new Uint8Array(128);
  const mark = (characters: string, bit: number): void => {
    for (const character of characters) table[character.charCodeAt(0)] |= bit;
  };
  mark(" \t\n\r\f\v", SPACE);
  mark("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_", LETTER);
  mark("0123456789", DIGIT);
  mark("+-*/<>=~!@#%^&|`?", OPERATOR);
  return table;
}

function isSpace(code: number): boolean {
  return code < 128 && (CLASS[code] & SPACE) !== 0;
}

function isDigit(code: number): boolean {
  return code < 128 && (CLASS[code] & DIGIT) !== 0;
}

function isNameStart(code: number): boolean {
  return code >= 128 || (CLASS[code] & LETTER) !== 0;
}

function isNamePart(code: number): boolean {
  return code >= 128 || (CLASS[code] & (LETTER | DIGIT)) !== 0 || code === DOLLAR;
}

/** Returns the end of a name that starts before `at`. */
function nameEnd(sql: string, at: number): number {
  while (at < sql.length && isNamePart(sql.charCodeAt(at))) at++;
  return at;
}

/** Returns the end of a line comment, excluding the line break. */
function lineCommentEnd(sql: string, at: number): number {
  for (; at < sql.length; at++) {
    const code = sql.charCodeAt(at);
    if (code === NEWLINE || code === RETURN) break;
  }
  return at;
}

/** Returns the end of a block comment, which may be nested. */
function blockCommentEnd(sql: string, at: number): number {
  let depth = 1;
  for (at += 2; at < sql.length && depth > 0; at++) {
    const code = sql.charCodeAt(at);
    if (code === STAR && sql.charCodeAt(at + 1) === SLASH) depth--, at++;
    else if (code === SLASH && sql.charCodeAt(at + 1) === STAR) depth++, at++;
  }
  return Math.min(at, sql.length);
}

/**
 * Returns the end of quoted text whose first quote is at `at`; a doubled quote is one character of
 * the text.
 */
function quotedEnd(sql: string, at: number, quote: number, escapes: boolean): number {
  for (at++; at < sql.length; at++) {
    const code = sql.charCodeAt(at);
    if (code === BACKSLASH && escapes) at++;
    else if (code === quote) {
      if (sql.charCodeAt(at + 1) !== quote) return at + 1;
      at++;
    }
  }
  return sql.length;
}

/**
 * Returns the start of a string's next part. Two strings separated by a line break are one, with
 * the escape rules of the first (PostgreSQL 18, 4.1.2.1); comments may separate the parts.
 */
function continuation(sql: string, at: number): number {
  let broken = false;
  for (; at < sql.length; at++) {
    const code = sql.charCodeAt(at);
    if (code === NEWLINE || code === RETURN) broken = true;
    else if (code === DASH && sql.charCodeAt(at + 1) === DASH) at = lineCommentEnd(sql, at) - 1;
    else if (!isSpace(code)) return broken && code === SINGLE_QUOTE ? at : -1;
  }
  return -1;
}

function stringEnd(sql: string, at: number, escapes: boolean): number {
  let end = quotedEnd(sql, at, SINGLE_QUOTE, escapes);
  for (let next = continuation(sql, end); next >= 0; next = continuation(sql, end)) {
    end = quotedEnd(sql, next, SINGLE_QUOTE, escapes);
  }
  return end;
}

/** Returns the end of a dollar-quoted string, or -1 if the dollar sign does not start one. */
function dollarQuoteEnd(sql: string, at: number): number {
  let tagEnd = at + 1;
  if (isDigit(sql.charCodeAt(tagEnd))) return -1;
  while (
    tagEnd < sql.length && sql.charCodeAt(tagEnd) !== DOLLAR && isNamePart(sql.charCodeAt(tagEnd))
  ) tagEnd++;
  if (sql.charCodeAt(tagEnd) !== DOLLAR) return -1;
  const tag = sql.slice(at, tagEnd + 1);
  const close = sql.indexOf(tag, tagEnd + 1);
  return close < 0 ? sql.length : close + tag.length;
}

function digitsEnd(sql: string, at: number): number {
  while (isDigit(sql.charCodeAt(at))) at++;
  return at;
}

function numberEnd(sql: string, at: number): number {
  for (; at < sql.length; at++) {
    const code = sql.charCodeAt(at);
    if (code === DOT) {
      if (sql.charCodeAt(at + 1) === DOT) break;
    } else if (code >= 128 || (CLASS[code] & (LETTER | DIGIT)) === 0) {
      const last = sql.charCodeAt(at - 1) | 0x20;
      const isExponentSign = (code === DASH || code === 0x2b) && last === 0x65 &&
        isDigit(sql.charCodeAt(at + 1));
      if (!isExponentSign || isHexadecimal(sql, at)) break;
    }
  }
  return at;
}

/** Checks whether the `e` before `at` is a digit of `0x…`: a sign after it is then an operator. */
function isHexadecimal(sql: string, at: number): boolean {
  let start = at;
  while (start > 0 && isNamePart(sql.charCodeAt(start - 1))) start--;
  return (sql.charCodeAt(start + 1) | 0x20) === 0x78;
}

/** Returns the end of a run of operator characters, which a comment ends. */
function operatorEnd(sql: string, at: number): number {
  for (; at < sql.length; at++) {
    const code = sql.charCodeAt(at);
    if (code >= 128 || (CLASS[code] & OPERATOR) === 0) break;
    const next = sql.charCodeAt(at + 1);
    if ((code === DASH && next === DASH) || (code === SLASH && next === STAR)) break;
  }
  return at;
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
 * import { tokenize } from "@trellis/fn/database";
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
