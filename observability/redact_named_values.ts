import { REDACTED } from "./redacted.ts";
import { isSensitiveKey, isSensitiveParameter } from "./sensitive_names.ts";

const MAX_NAME = 64;
/** Between a name and its sign: `"name" :`, `user[name]=`, `(name)=`. */
const BETWEEN = new Set(" \t\u00a0\"'`\\[]()*");
/** Between a sign and its value: `=> `, `:= `, `== `. */
const AFTER_SIGN = /[=:>]{0,2}\*{0,2}\s{0,8}/y;

/** A name before a line number, not before a value: `token.ts:12:3`. */
const FILE = /\.(?:[cm]?[jt]sx?|sql)$/;
/** Headers whose value extends to the end of the line, with spaces and quotes. */
const HEADER = /^(?:(?:proxy-)?authorization|(?:set-)?cookies?|x-.*)$/i;
const SCHEME =
  /^(?:basic|bearer|digest|token|apikey|hawk|hmac|key|negotiate|ntlm|oauth|aws4-hmac-sha256) (?=\S)/i;

/** Names before a value in quotes in SQL. */
const SQL_FORMS = [
  /\b(passw[a-z]{0,10}|passphrase|pwd|secret)\s{1,8}(?=')/gi,
  /\bidentified\s{1,8}by\s{1,8}(?=')/gi,
];
const ELEMENT = /<([A-Za-z][\w:.-]{0,63})(?:\s[^<>]{0,256})?>(?=[^<\s])/g;
/** Fields of forms in HTML, and values that pages pass to their scripts: `<meta name="csrf-token" content="x">`. */
const FIELD = /<(?:input|meta)\s[^<]*/gi;
const FIELD_NAME = /\s(?:name|id)=\\?["']?([^"'\\\s>]{1,64})/i;
const FIELD_VALUE = /(\s(?:value|content)=)(?:(\\?")[^"\\]*|(\\?')[^'\\]*|[^\s"'\\>]+)/gi;
const FORM_PART = /\bname=\\?"([^"\\\r\n]{1,64})\\?"/g;

/**
 * Replaces the values that follow sensitive names: `password: x`, `user[token]="x"`, `?code=x`,
 * `--secret x`, `<pin>x</pin>`, parts of a form.
 *
 * @param text Any text.
 * @returns The text, the same string when there is nothing to replace.
 */
export function redactNamedValues(text: string): string {
  let safe = text;
  if (safe.includes("name=")) safe = redactFormParts(safe);
  if (safe.includes("<")) safe = safe.replace(FIELD, redactField);
  if (safe.includes("=") || safe.includes(":") || safe.includes("->")) {
    safe = redactAfterSigns(safe);
  }
  if (safe.includes("-")) safe = redactOptions(safe);
  if (safe.includes("'")) { for (const form of SQL_FORMS) safe = redactSpaced(safe, form); }
  return safe.includes("</") ? redactElements(safe) : safe;
}

/** Replaces the value of a field whose name is sensitive, before or after its name. */
function redactField(field: string): string {
  const name = FIELD_NAME.exec(field)?.[1];
  return name !== undefined && isSensitiveKey(name)
    ? field.replace(FIELD_VALUE, `$1$2$3${REDACTED}`)
    : field;
}

function redactAfterSigns(text: string): string {
  let safe = "";
  let done = 0;
  for (let sign = findSign(text, 0); sign < text.length; sign = findSign(text, sign + 1)) {
    if (sign < done) continue;
    const [nameStart, nameEnd] = findNameBefore(text, sign, done);
    const name = text.slice(nameStart, nameEnd);
    const isInUrl = nameStart > done && isParameterMark(text, nameStart - 1);
    if (name === "" || !(isInUrl ? isSensitiveParameter(name) : isSensitiveKey(name))) continue;
    if (FILE.test(name) || text.startsWith("//", nameStart - 2)) continue;
    AFTER_SIGN.lastIndex = sign + 1;
    AFTER_SIGN.test(text);
    const start = AFTER_SIGN.lastIndex;
    const extent = findValueExtent(text, start, isInUrl);
    if (extent === undefined) continue;
    if (extent.quote === "" && text[sign] === ":" && HEADER.test(name)) {
      const end = findHeaderEnd(text, start, nameEnd === sign ? text[nameStart - 1] : undefined);
      const scheme = SCHEME.exec(text.slice(start, Math.min(end, start + 20)))?.[0] ?? "";
      safe += `${text.slice(done, start)}${scheme}${REDACTED}`;
      done = end;
      continue;
    }
    const quote = extent.quote !== ""
      ? extent.quote
      : text[sign - 1] === '"'
      ? text.slice(nameEnd, sign)
      : "";
    safe += `${text.slice(done, start)}${quote}${REDACTED}${quote}`;
    done = extent.end;
  }
  return done === 0 ? text : safe + text.slice(done);
}

/** Returns the position of the next `:`, `=` or `->`, or the length of the text. */
function findSign(text: string, from: number): number {
  let at = from;
  while (
    at < text.length && text[at] !== ":" && text[at] !== "=" &&
    !(text[at] === ">" && text[at - 1] === "-")
  ) at++;
  return at;
}

/** Reads backwards, because a search from the front would try a name at every character. */
function findNameBefore(text: string, sign: number, floor: number): [start: number, end: number] {
  let end = text[sign] === ">" ? sign - 1 : sign;
  for (let skipped = 0; end > floor && skipped < 12 && BETWEEN.has(text[end - 1]); skipped++) end--;
  let start = end;
  while (start > floor && end - start <= MAX_NAME && isNameCharacter(text.charCodeAt(start - 1))) {
    start--;
  }
  return [start, end];
}

/** Letters, digits and `_ - . %`. */
function isNameCharacter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) ||
    code === 95 || code === 45 || code === 46 || code === 37;
}

/** Checks for `?`, `&`, `&amp;` and `#` before the name of a parameter. */
function isParameterMark(text: string, at: number): boolean {
  const mark = text[at];
  return mark === "?" || mark === "&" || mark === "#" ||
    (mark === ";" && text.endsWith("&amp", at));
}

/** Finds the end of a header's line, or of the quotes around the whole header. */
function findHeaderEnd(text: string, start: number, before: string | undefined): number {
  const isQuoted = before === '"' || before === "'" || before === "`";
  let at = start;
  while (
    at < text.length && text[at] !== "\n" && text[at] !== "\r" && !(isQuoted && text[at] === before)
  ) at++;
  return at;
}

/** Replaces the values of command-line options: `--password x`. */
function redactOptions(text: string): string {
  let safe = "";
  let done = 0;
  for (let dash = text.indexOf("-"); dash >= 0; dash = text.indexOf("-", dash + 1)) {
    if (dash < done || (dash > 0 && isNameCharacter(text.charCodeAt(dash - 1)))) continue;
    const nameStart = text[dash + 1] === "-" ? dash + 2 : dash + 1;
    const nameEnd = findNameEnd(text, nameStart);
    const start = skipSpaces(text, nameEnd);
    dash = Math.max(dash, nameEnd - 1);
    if (start === nameEnd || text[start] === "-") continue;
    if (!isSensitiveKey(text.slice(nameStart, nameEnd))) continue;
    const extent = findValueExtent(text, start);
    if (extent === undefined) continue;
    safe += `${text.slice(done, start)}${extent.quote}${REDACTED}${extent.quote}`;
    done = extent.end;
  }
  return done === 0 ? text : safe + text.slice(done);
}

function findNameEnd(text: string, start: number): number {
  let at = start;
  while (at < text.length && isNameCharacter(text.charCodeAt(at))) at++;
  return at;
}

function skipSpaces(text: string, start: number): number {
  let at = start;
  while (text[at] === " " || text[at] === "\t") at++;
  return at;
}

function redactSpaced(text: string, form: RegExp): string {
  let safe = "";
  let done = 0;
  for (const { 0: all, 1: name, index } of text.matchAll(form)) {
    const start = index + all.length;
    const extent = index < done || (name !== undefined && !isSensitiveKey(name))
      ? undefined
      : findValueExtent(text, start);
    if (extent === undefined) continue;
    safe += `${text.slice(done, start)}${extent.quote}${REDACTED}${extent.quote}`;
    done = extent.end;
  }
  return done === 0 ? text : safe + text.slice(done);
}

function redactElements(text: string): string {
  let safe = "";
  let done = 0;
  for (const { 0: tag, 1: name, index } of text.matchAll(ELEMENT)) {
    if (!isSensitiveKey(name)) continue;
    const start = index + tag.length;
    const end = text.indexOf("<", start);
    safe += text.slice(done, start) + REDACTED;
    done = end < 0 ? text.length : end;
  }
  return done === 0 ? text : safe + text.slice(done);
}

/** The value of a part begins after an empty line and ends before the next boundary. */
function redactFormParts(text: string): string {
  let safe = "";
  let done = 0;
  for (const { 1: name, index } of text.matchAll(FORM_PART)) {
    if (index < done || !isSensitiveKey(name)) continue;
    const blank = /\r?\n\r?\n/g;
    blank.lastIndex = index;
    if (blank.exec(text.slice(0, index + 512)) === null) continue;
    const end = text.indexOf("\n--", blank.lastIndex);
    safe += text.slice(done, blank.lastIndex) + REDACTED;
    done = end < 0 ? text.length : end;
  }
  return done === 0 ? text : safe + text.slice(done);
}

const BRACKETS: Record<string, string> = { "[": "]", "{": "}", "(": ")", "<": ">" };
const QUOTE = /\\*["'`]/y;
const WORD = /[^&;,\s"'`<>()[\]{}]+/y;
/** A value in a URL ends at fewer characters. */
const URL_WORD = /[^&\s\\"'`<>]+/y;

/** The position of a value in a text. */
interface ValueExtent {
  /** The end, with its closing quote. */
  readonly end: number;
  /** Opening quote, with its backslashes; empty if there is none. */
  readonly quote: string;
}

/**
 * Finds the end of a value: of what is in quotes or brackets, or of a word. What is not closed goes
 * on to the end of the text, which may have been cut.
 *
 * @param text Any text.
 * @param start Where the value begins.
 * @param isInUrl Whether it is the value of a query parameter.
 * @returns The extent, or `undefined` if there is no value.
 */
function findValueExtent(
  text: string,
  start: number,
  isInUrl = false,
): ValueExtent | undefined {
  QUOTE.lastIndex = start;
  const quote = QUOTE.exec(text)?.[0];
  if (quote !== undefined) return { end: findQuoteEnd(text, start + quote.length, quote), quote };
  const closing = BRACKETS[text[start]];
  const end = closing === undefined ? -1 : findBracketEnd(text, start, closing);
  if (end >= 0) return { end, quote: "" };
  const word = isInUrl ? URL_WORD : WORD;
  word.lastIndex = closing === undefined ? start : start + 1;
  return word.test(text) ? { end: word.lastIndex, quote: "" } : undefined;
}

/** A doubled quote is part of the value, as in SQL. */
function findQuoteEnd(text: string, from: number, quote: string): number {
  const slashes = quote.length - 1;
  for (let at = from; at < text.length; at++) {
    let count = 0;
    while (text[at] === "\\") at++, count++;
    if (text[at] !== quote[slashes]) continue;
    if (slashes === 0 && count === 0 && text[at + 1] === quote) at++;
    else if (slashes === 0 ? count % 2 === 0 : count === slashes) return at + 1;
  }
  return text.length;
}

function findBracketEnd(text: string, start: number, closing: string): number {
  const opening = text[start];
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    if (text[at] === opening) depth++;
    else if (text[at] === closing && --depth === 0) return at + 1;
  }
  return closing === "]" || closing === "}" ? text.length : -1;
}
