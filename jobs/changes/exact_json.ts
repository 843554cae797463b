import { parseJsonInput } from "../../core/triggers/parse_input.ts";

/** Digits that every JavaScript number keeps. */
const SAFE_DIGITS = 15;
const QUOTE = 34;
const BACKSLASH = 92;
const MINUS = 45;

/**
 * Parses JSON without loss of digits: an integer with more than 15 digits becomes a string. Commit
 * timestamps in nanoseconds and `bigint` columns have more than a JavaScript number keeps.
 *
 * @param text JSON.
 * @throws {ValidationError} If it is invalid.
 */
export function parseExactJson(text: string): unknown {
  return parseJsonInput(quoteLongIntegers(text));
}

function quoteLongIntegers(text: string): string {
  const parts: string[] = [];
  let copied = 0;
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = skipString(text, at);
    } else if (code === MINUS || isDigit(code)) {
      const end = skipNumber(text, at);
      if (isLongInteger(text, at, end)) {
        parts.push(text.slice(copied, at), '"', text.slice(at, end), '"');
        copied = end;
      }
      at = end;
    } else {
      at++;
    }
  }
  return copied === 0 ? text : parts.join("") + text.slice(copied);
}

function skipString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) {
    at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  }
  return at + 1;
}

function skipNumber(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && "0123456789.eE+-".includes(text[at])) at++;
  return at;
}

function isLongInteger(text: string, start: number, end: number): boolean {
  const first = text.charCodeAt(start) === MINUS ? start + 1 : start;
  if (end - first <= SAFE_DIGITS) return false;
  for (let at = first; at < end; at++) if (!isDigit(text.charCodeAt(at))) return false;
  return true;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}
