export const SINGLE_QUOTE = 0x27;
export const DOUBLE_QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const DOLLAR = 0x24;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
export const DASH = 0x2d;
export const SLASH = 0x2f;
export const STAR = 0x2a;
export const DOT = 0x2e;
export const COLON = 0x3a;
export const SEMICOLON = 0x3b;
export const AMPERSAND = 0x26;
export const BYTE_ORDER_MARK = 0xfeff;

/**
 * Classes of the first 128 characters; all others are part of an identifier (PostgreSQL 18,
 * scan.l).
 */
export const SPACE = 1, LETTER = 2, DIGIT = 4, OPERATOR = 8;

export const CLASS: Uint8Array = classTable();

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

/** Checks for white space. */
export function isSpace(code: number): boolean {
  return code < 128 && (CLASS[code] & SPACE) !== 0;
}

/** Checks for a digit. */
export function isDigit(code: number): boolean {
  return code < 128 && (CLASS[code] & DIGIT) !== 0;
}

/** Checks for the first character of a name. */
export function isNameStart(code: number): boolean {
  return code >= 128 || (CLASS[code] & LETTER) !== 0;
}

function isNamePart(code: number): boolean {
  return code >= 128 || (CLASS[code] & (LETTER | DIGIT)) !== 0 || code === DOLLAR;
}

/** Returns the end of a name that starts before `at`. */
export function nameEnd(sql: string, at: number): number {
  while (at < sql.length && isNamePart(sql.charCodeAt(at))) at++;
  return at;
}

/** Returns the end of a line comment, excluding the line break. */
export function lineCommentEnd(sql: string, at: number): number {
  for (; at < sql.length; at++) {
    const code = sql.charCodeAt(at);
    if (code === NEWLINE || code === RETURN) break;
  }
  return at;
}

/** Returns the end of a block comment, which may be nested. */
export function blockCommentEnd(sql: string, at: number): number {
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
export function quotedEnd(sql: string, at: number, quote: number, escapes: boolean): number {
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

/** Returns the end of a string and of its continuations on further lines. */
export function stringEnd(sql: string, at: number, escapes: boolean): number {
  let end = quotedEnd(sql, at, SINGLE_QUOTE, escapes);
  for (let next = continuation(sql, end); next >= 0; next = continuation(sql, end)) {
    end = quotedEnd(sql, next, SINGLE_QUOTE, escapes);
  }
  return end;
}

/** Returns the end of a dollar-quoted string, or -1 if the dollar sign does not start one. */
export function dollarQuoteEnd(sql: string, at: number): number {
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

/** Returns the end of a run of digits. */
export function digitsEnd(sql: string, at: number): number {
  while (isDigit(sql.charCodeAt(at))) at++;
  return at;
}

/** Returns the end of a number. */
export function numberEnd(sql: string, at: number): number {
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
export function operatorEnd(sql: string, at: number): number {
  for (; at < sql.length; at++) {
    const code = sql.charCodeAt(at);
    if (code >= 128 || (CLASS[code] & OPERATOR) === 0) break;
    const next = sql.charCodeAt(at + 1);
    if ((code === DASH && next === DASH) || (code === SLASH && next === STAR)) break;
  }
  return at;
}
