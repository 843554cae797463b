import { KEY_ID, KNOWN_TOKEN, PEM_BLOCK } from "./known_tokens.ts";
import { isSensitiveKey, isSensitiveParameter } from "./sensitive_names.ts";

/** Stands where a value was taken out. */
export const REDACTED = "[REDACTED]";

const MAX_TEXT = 8192;

/** Credentials after the scheme of an Authorization header. */
const SCHEME = /\b(bearer|basic)\s+[\w.~+/=-]+/gi;
/** Headers whose whole value is a credential, up to the end of the line or the closing quote. */
const HEADER = /(?<![\w-])((?:proxy-)?authorization|(?:set-)?cookie)(['"]?:[ \t]*)([^\r\n"']+)/gi;
const WORD = /[^\s"'<>]+/g;
/** Digits before a slash are a port. */
const URL_PASSWORD = /:\/\/[^\s:@/]*:(?!\d+(?:[/?#]|$))/;
const URL_TOKEN = /((?:https?|wss?):\/\/)[^\s:@/?#]+(?=@)/i;
const DOTTED_WORD = /[\w.-]+/g;
const MAX_NAME = 64;
/** The value after a sign, to the end of its quotes or of the word. */
const VALUE = /\s{0,8}("(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[^&;,\s"'<>()[\]{}]+)/y;

/**
 * Takes secrets out of a text, and shortens one of over 8,192 characters. It finds credentials by
 * the names before them (`password: x`, `?token=x`), by their form (JSON web tokens, private keys,
 * URLs with a user) and by the prefixes that vendors give them. It cannot know every secret.
 *
 * @param text Any text.
 * @returns The text, the same string when there is nothing to take out.
 */
export function redactText(text: string): string {
  let safe = text.length > MAX_TEXT
    ? `${text.slice(0, MAX_TEXT)}… (${text.length} characters)`
    : text;
  if (safe.includes("-----BEGIN ")) safe = safe.replace(PEM_BLOCK, REDACTED);
  if (/earer|asic/i.test(safe)) safe = safe.replace(SCHEME, `$1 ${REDACTED}`);
  if (safe.includes("://")) safe = safe.replace(WORD, redactUrlUser);
  if (safe.includes("eyJ")) safe = safe.replace(DOTTED_WORD, redactWebToken);
  if (safe.length >= 18) safe = safe.replace(KNOWN_TOKEN, redactToken).replace(KEY_ID, REDACTED);
  if (safe.includes("=") || safe.includes(":")) {
    safe = redactNamedValues(safe.replace(HEADER, redactHeader));
  }
  return safe;
}

/** Keeps the scheme, which tells a reader what was sent. */
function redactHeader(all: string, name: string, colon: string, value: string): string {
  if (value.startsWith(REDACTED)) return all;
  const scheme = /^[A-Za-z]+ (?=\S)/.exec(value)?.[0] ?? "";
  return `${name}${colon}${scheme}${REDACTED}`;
}

/** Replaces the values after `:` and `=` whose names are sensitive. */
function redactNamedValues(text: string): string {
  let safe = "";
  let done = 0;
  for (let sign = findSign(text, 0); sign < text.length; sign = findSign(text, sign + 1)) {
    const name = readNameBefore(text, sign);
    if (name === "" || sign < done || !isSensitiveBefore(text, sign, name)) continue;
    VALUE.lastIndex = sign + 1;
    const value = VALUE.exec(text)?.[1];
    if (value === undefined || isHeader(name, text[sign], value)) continue;
    const quote = /^["']/.exec(value)?.[0] ?? (text[sign - 1] === '"' ? '"' : "");
    safe += `${text.slice(done, VALUE.lastIndex - value.length)}${quote}${REDACTED}${quote}`;
    done = VALUE.lastIndex;
  }
  return done === 0 ? text : safe + text.slice(done);
}

/** Returns the position of the next `:` or `=`, or the length of the text. */
function findSign(text: string, from: number): number {
  let index = from;
  while (index < text.length && text[index] !== ":" && text[index] !== "=") index++;
  return index;
}

/** Reads backwards, because a search from the front would try a name at every character. */
function readNameBefore(text: string, sign: number): string {
  let end = sign;
  while (text[end - 1] === " ") end--;
  if (text[end - 1] === '"' || text[end - 1] === "'") end--;
  let start = end;
  while (start > 0 && end - start <= MAX_NAME && isNameCharacter(text.charCodeAt(start - 1))) {
    start--;
  }
  return text.slice(start, end);
}

/** Letters, digits and `_ - . %`. */
function isNameCharacter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) ||
    code === 95 || code === 45 || code === 46 || code === 37;
}

function isSensitiveBefore(text: string, sign: number, name: string): boolean {
  if (isSensitiveKey(name)) return true;
  const mark = text[sign - name.length - 1];
  return (mark === "?" || mark === "&") && isSensitiveParameter(name);
}

/** Checks whether `HEADER` matched this name: its scheme must stay readable. */
function isHeader(name: string, sign: string, value: string): boolean {
  return /^(?:(?:proxy-)?authorization|(?:set-)?cookie)$/i.test(name) && sign.includes(":") &&
    !/^["']/.test(value);
}

/** Skips words that only look like a token, such as a long name in snake case. */
function redactToken(token: string): string {
  return /\d/.test(token) || /[a-z][A-Z]/.test(token) ? REDACTED : token;
}

/** Reads up to the last `@`, because a password may hold an unencoded one, or a slash. */
function redactUrlUser(word: string): string {
  const end = word.lastIndexOf("@");
  if (end < 0) return word;
  const user = URL_PASSWORD.exec(word);
  const start = user === null ? end : user.index + user[0].length;
  if (user === null || start > end) return word.replace(URL_TOKEN, `$1${REDACTED}`);
  return word.slice(0, start) + REDACTED + word.slice(end);
}

/** Replaces three parts between dots, the first of which begins as JSON does in base64. */
function redactWebToken(word: string): string {
  if (!word.includes("eyJ")) return word;
  const parts = word.split(".");
  const kept: string[] = [];
  for (let index = 0; index < parts.length; index++) {
    const isToken = index + 2 < parts.length && parts[index + 1] !== "";
    const start = isToken ? parts[index].search(/\beyJ[\w-]/) : -1;
    if (start < 0) kept.push(parts[index]);
    else {
      kept.push(parts[index].slice(0, start) + REDACTED);
      index += 2;
    }
  }
  return kept.join(".");
}
