import { describeError } from "./describe_error.ts";

/** Stands where a value was taken out. */
export const REDACTED = "[REDACTED]";

/** Stands where a value could not be read. */
export const UNREADABLE = "[Unreadable]";

const MAX_DEPTH = 8;
const MAX_ITEMS = 200;
const MAX_TEXT = 8192;

/** Parts of key names, letters and digits only, whose values never leave the process. */
const SENSITIVE =
  /passw|passphrase|passcode|secret|token|authorization|cookie|apikey|accesskey|privatekey|credential|signature|connectionstring|jwt|cardnumber|securitycode|^(?:auth|pin|ssn|otp|cvv|cvc|sessionid|pwd)$/;

/** Secrets that sit inside longer texts: credentials of an Authorization header, passwords in URLs, JSON web tokens. */
const BEARER = /\b(bearer|basic)\s+[\w.~+/=-]+/gi;
const WORD = /[^\s"'<>]+/g;
/** Digits before a slash are a port. */
const URL_USER = /:\/\/[^\s:@/]*:(?!\d+(?:[/?#]|$))/;
const DOTTED_WORD = /[\w.-]+/g;
/** `access_token=…` in a URL or a form, `"password": "…"` in a piece of JSON. */
const PARAMETER = /(?<![\w.%-])([\w.%-]{1,64})=([^&;\s"'<>]+)/g;
const MEMBER = /"([^"\\]{1,64})"(\s*:\s*)(?:"(?:[^"\\]|\\.)*"?|[\d.eE+-]+)/g;

const verdicts: Map<string, boolean> = new Map();

/**
 * Whether values under this key are kept out of logs, by the key's name.
 *
 * @param key A property's name, in any spelling: `apiKey`, `api_key`, `X-Api-Key`.
 * @param more Further names, in lower case, that count whole.
 */
export function isSensitiveKey(key: string, more?: ReadonlySet<string>): boolean {
  let verdict = verdicts.get(key);
  if (verdict === undefined) {
    verdict = SENSITIVE.test(key.toLowerCase().replace(/[^a-z0-9]/g, ""));
    if (verdicts.size >= 1000) verdicts.clear(); // names can come from outside
    verdicts.set(key, verdict);
  }
  return verdict || (more !== undefined && more.has(key.toLowerCase()));
}

/**
 * Takes secrets out of a text, and shortens one of over 8,192 characters.
 *
 * @param text Any text.
 * @returns The text, the same string when there is nothing to take out.
 */
export function redactText(text: string): string {
  let safe = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}… (${text.length} characters)` : text;
  if (/earer|asic/i.test(safe)) safe = safe.replace(BEARER, `$1 ${REDACTED}`);
  if (safe.includes("://")) safe = safe.replace(WORD, withoutUrlPassword);
  if (safe.includes("eyJ")) safe = safe.replace(DOTTED_WORD, withoutWebToken);
  if (safe.includes("=")) {
    safe = safe.replace(PARAMETER, (all, name) => isSensitiveKey(name) ? `${name}=${REDACTED}` : all);
  }
  if (safe.includes('":') || safe.includes('" :')) {
    safe = safe.replace(MEMBER, (all, name, colon) => isSensitiveKey(name) ? `"${name}"${colon}"${REDACTED}"` : all);
  }
  return safe;
}

/** Up to the last `@`, since a password may hold one, or a slash, unencoded. */
function withoutUrlPassword(word: string): string {
  const end = word.lastIndexOf("@");
  const user = end < 0 ? null : URL_USER.exec(word);
  if (user === null) return word;
  const start = user.index + user[0].length;
  return start > end ? word : word.slice(0, start) + REDACTED + word.slice(end);
}

/** Three parts between dots, the first of which begins as JSON does in base64. */
function withoutWebToken(word: string): string {
  if (!word.includes("eyJ")) return word;
  const parts = word.split(".");
  const kept: string[] = [];
  for (let index = 0; index < parts.length; index++) {
    const start = index + 2 < parts.length && parts[index + 1] !== "" ? parts[index].search(/\beyJ[\w-]/) : -1;
    if (start < 0) kept.push(parts[index]);
    else {
      kept.push(parts[index].slice(0, start) + REDACTED);
      index += 2;
    }
  }
  return kept.join(".");
}

/**
 * A text that stands alone, such as a request's body: one that is JSON is redacted by its keys at every level.
 *
 * @param text Any text.
 * @param more Further key names to redact, in lower case.
 * @returns The text without secrets.
 */
export function redactDocument(text: string, more?: ReadonlySet<string>): string {
  if (text.startsWith("{") || text.startsWith("[")) {
    try {
      return redactText(JSON.stringify(redactValue(JSON.parse(text), more)));
    } catch {
      // no JSON after all
    }
  }
  return redactText(text);
}

/**
 * A copy of a value that may be logged: secrets taken out by key and by form, errors described, everything that JSON
 * cannot hold replaced, and cut where it is deeper than 8 levels or longer than 200 items.
 *
 * @param value Any value; it is not changed, and what its getters throw is caught.
 * @param more Further key names to redact, in lower case.
 * @returns Something that `JSON.stringify` takes.
 *
 * @example
 * ```ts
 * import { redactValue } from "@trellis/fn/observability";
 *
 * console.log(redactValue({ user: "ada", password: "hunter2" })); // { user: "ada", password: "[REDACTED]" }
 * ```
 */
export function redactValue(value: unknown, more?: ReadonlySet<string>): unknown {
  return copy(value, more, 0, []);
}

function copy(value: unknown, more: ReadonlySet<string> | undefined, depth: number, above: object[]): unknown {
  if (typeof value === "string") return redactDocument(value, more);
  if (typeof value !== "object" || value === null) return copyPrimitive(value);
  if (above.includes(value)) return "[Circular]";
  if (depth >= MAX_DEPTH) return "[Truncated]";
  const next = [...above, value];
  try {
    if (value instanceof Error) return copy(describeError(value), more, depth, above);
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    if (value instanceof Map) return copy(Object.fromEntries(value), more, depth, above);
    if (value instanceof Set) return copy([...value], more, depth, above);
    if (Array.isArray(value)) {
      const items = value.slice(0, MAX_ITEMS).map((item) => copy(item, more, depth + 1, next) ?? null);
      if (value.length > MAX_ITEMS) items.push(`… (${value.length} items)`);
      return items;
    }
    if ("toJSON" in value && typeof value.toJSON === "function") return copy(value.toJSON(), more, depth + 1, next);
    const safe: Record<string, unknown> = {};
    for (const key of Object.keys(value).slice(0, MAX_ITEMS)) {
      const item = (value as Record<string, unknown>)[key];
      const hide = item !== null && item !== undefined && typeof item !== "boolean" && isSensitiveKey(key, more);
      // a key such as __proto__ must become a property, not a prototype
      Object.defineProperty(safe, key, {
        value: hide ? REDACTED : copy(item, more, depth + 1, next),
        enumerable: true,
      });
    }
    return safe;
  } catch {
    return UNREADABLE;
  }
}

function copyPrimitive(value: unknown): unknown {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "bigint":
      return value.toString();
    case "function":
    case "symbol":
      return `[${typeof value}]`;
    default:
      return value;
  }
}
