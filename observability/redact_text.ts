import {
  CERTAIN_TOKEN,
  findPrivateKeys,
  FORMED_TOKEN,
  KEY_ID,
  KNOWN_TOKEN,
  WEBHOOK_URL,
} from "./known_tokens.ts";
import { redactNamedValues } from "./redact_named_values.ts";
import { REDACTED } from "./redacted.ts";

const MAX_TEXT = 8192;
/** Maximum number of times that a text may be escaped. */
const MAX_ESCAPED = 3;

/** Credentials after the scheme of an Authorization header. */
const CREDENTIALS = /\b(bearer|basic)(\s+|%20)(["']?)[\w.~+/=-]+/gi;
/** better-auth puts the token of a password reset into the path. */
const RESET_PATH = /(\breset-password\/)[^\s/?#"'<>&]+/g;
/** The user of a request by curl: `-u user:password`. */
const CURL_USER = /(\s(?:-u|-U|--user|--proxy-user)[ =]["']?)[^\s"':]{1,256}:[^\s"']+/g;
const URL_WORD = /[^\s"'<>]+/g;
/** Digits before a slash are a port. JSON may have escaped the slashes. */
const USER_AND_PASSWORD = /:(?:\/\/|\\\/\\\/)([^\s:@/\\]*:)(?!\d+(?:[/?#]|$))/;
/** A user alone is a credential where no such address has a user without a password. */
const TOKEN = /((?:https?|wss?):(?:\/\/|\\\/\\\/))[^\s:@/?#\\]+(?=@)/i;
const WEB_SCHEME = /(?:https?|wss?|ftps?)$/i;
const DOTTED_WORD = /[\w.-]+/g;
const WORD = /\S+/g;
/** Letters, digits and signs that are written as `%3D` or `\u003d`; spaces and commas end values and stay. */
const ESCAPE = /(?:%|\\u00)(2[2356DEF]|3[0-9ADF]|[46][1-9A-F]|40|[57][0-9A]|5[BDF]|7[BD])/gi;

/**
 * Removes secrets from a text, and shortens it to 8,192 characters. It finds credentials by
 * the names before them (`password: x`, `?token=x`), by their form (JSON web tokens, private keys,
 * URLs with a user) and by the prefixes that vendors give them. It cannot know every secret.
 *
 * @param text Any text.
 * @returns The text, the same string when there is nothing to take out.
 */
export function redactText(text: string): string {
  return redact(
    text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}… (${text.length} characters)` : text,
    0,
  );
}

function redact(text: string, depth: number): string {
  let safe = text;
  if (safe.includes("PRIVATE KEY")) safe = redactPrivateKeys(safe);
  if (/earer|asic/i.test(safe)) safe = safe.replace(CREDENTIALS, `$1$2$3${REDACTED}`);
  if (safe.includes("@")) safe = redactUrlUsers(safe);
  if (safe.includes("eyJ")) safe = safe.replace(DOTTED_WORD, redactWebToken);
  if (safe.length >= 18) {
    safe = safe.replace(KNOWN_TOKEN, redactToken).replace(CERTAIN_TOKEN, redactToken).replace(
      KEY_ID,
      REDACTED,
    );
  }
  if (safe.length >= 38 && /8Q~|\.atlasv1\.|\d:[\w-]/.test(safe)) {
    safe = safe.replace(FORMED_TOKEN, REDACTED);
  }
  if (safe.includes("://")) safe = safe.replace(WEBHOOK_URL, `$1${REDACTED}`);
  if (safe.includes("curl ")) safe = safe.replace(CURL_USER, `$1${REDACTED}`);
  if (safe.includes("reset-password/")) safe = safe.replace(RESET_PATH, `$1${REDACTED}`);
  safe = redactNamedValues(safe);
  if (depth === MAX_ESCAPED || !(safe.includes("%") || safe.includes("\\u00"))) return safe;
  return safe.replace(WORD, (word) => redactEscaped(word, depth));
}

/** Reads a word with its escapes undone, and returns it unchanged if it holds no secret. */
function redactEscaped(word: string, depth: number): string {
  const plain = word.replace(ESCAPE, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
  if (plain === word) return word;
  const safe = redact(plain, depth + 1);
  return safe === plain ? word : safe;
}

function redactPrivateKeys(text: string): string {
  let safe = "";
  let done = 0;
  for (const [start, end] of findPrivateKeys(text)) {
    safe += text.slice(done, start) + REDACTED;
    done = end;
  }
  return safe + text.slice(done);
}

/** Skips words that only look like a token, such as a long name in snake case. */
function redactToken(token: string): string {
  return /\d|[a-z][A-Z]|[A-Za-z]{30}/.test(token) ? REDACTED : token;
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

/** Replaces credentials before the host of URLs: the password, and in addresses of the web the user too, which may be a token. */
function redactUrlUsers(text: string): string {
  return text.replace(URL_WORD, redactUrlUser);
}

/** Reads up to the last `@`, because a password may hold an unencoded one, or a slash. */
function redactUrlUser(word: string): string {
  const end = word.lastIndexOf("@");
  if (end < 0) return word;
  const found = USER_AND_PASSWORD.exec(word);
  if (found === null || found.index + found[0].length > end) {
    return word.replace(TOKEN, `$1${REDACTED}`);
  }
  const isWeb = WEB_SCHEME.test(word.slice(0, found.index));
  const start = found.index + found[0].length - (isWeb ? found[1].length : 0);
  return word.slice(0, start) + REDACTED + word.slice(end);
}
