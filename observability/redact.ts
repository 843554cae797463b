import { describeError } from "./describe_error.ts";
import { redactText } from "./redact_text.ts";
import { REDACTED, UNREADABLE } from "./redacted.ts";
import { isSensitiveKey, isSensitiveParameter } from "./sensitive_names.ts";

/** The query of an event: `queryStringParameters`, `multiValueQueryStringParameters`, `rawQueryString`, `query`. */
const QUERY_KEY = /query_?string(?:_?parameters)?$|^(?:query|(?:query|search)_?param(?:eter)?s)$/i;
const RAW_HEADERS = /^raw_?(?:headers|trailers)$/i;
/** A shorter key is no token. */
const MIN_TOKEN = 18;
const MAX_DEPTH = 8;
const MAX_ITEMS = 200;

/**
 * Removes secrets from a whole text, such as a request's body. JSON is redacted by its
 * keys at every level.
 *
 * @param text Any text.
 * @param more Further key names to redact, in lower case.
 * @returns The text without secrets.
 */
export function redactDocument(text: string, more?: ReadonlySet<string>): string {
  const json = findJson(text);
  if (json === undefined) return redactText(text);
  const safe = JSON.stringify(redactValue(json.value, more));
  if (json.isWhole) return redactText(safe);
  return redactText(
    safe === json.plain ? text : text.slice(0, json.start) + safe + text.slice(json.end),
  );
}

/** A JSON document in a text. */
interface FoundJson {
  readonly start: number;
  readonly end: number;
  readonly value: unknown;
  /** True if the rest of the text is only spaces. */
  readonly isWhole: boolean;
  /** The document without spaces, if there is more text. */
  readonly plain?: string;
}

/** Finds an object, an array or a string that is the whole text, or an object or array among words. */
function findJson(text: string): FoundJson | undefined {
  const trimmed = text.trimStart();
  const start = trimmed[0] === '"' ? text.length - trimmed.length : text.search(/[{[]/);
  const end = trimmed[0] === '"'
    ? text.length
    : Math.max(text.lastIndexOf("}"), text.lastIndexOf("]")) + 1;
  if (start < 0 || end <= start) return undefined;
  try {
    const value: unknown = JSON.parse(text.slice(start, end));
    const isWhole = text.slice(0, start).trim() === "" && text.slice(end).trim() === "";
    return { start, end, value, isWhole, plain: isWhole ? undefined : JSON.stringify(value) };
  } catch {
    return undefined; // no JSON after all, or too deep
  }
}

/**
 * Copies a value for a log line. Secrets are taken out by key and by form, errors are described, and
 * what JSON cannot hold is replaced. Values are cut below 8 levels and after 200 items.
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

function copy(
  value: unknown,
  more: ReadonlySet<string> | undefined,
  depth: number,
  above: object[],
  isQuery = false,
): unknown {
  if (typeof value === "string") return redactDocument(value, more);
  if (typeof value !== "object" || value === null) return copyPrimitive(value);
  if (above.includes(value)) return "[Circular]";
  if (depth >= MAX_DEPTH) return "[Truncated]";
  const next = [...above, value];
  try {
    if (value instanceof Error) return copy(describeError(value), more, depth, above);
    if (value instanceof Date) {
      return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
    }
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    if (value instanceof Map) return copy(Object.fromEntries(value), more, depth, above);
    if (value instanceof Set) return copy([...value], more, depth, above);
    if (Array.isArray(value)) return copyItems(value, more, depth, next);
    if ("toJSON" in value && typeof value.toJSON === "function") {
      return copy(value.toJSON(), more, depth + 1, next);
    }
    const safe: Record<string, unknown> = {};
    const isNamed = isNamedValue(value as Record<string, unknown>, more);
    for (const key of Object.keys(value).slice(0, MAX_ITEMS)) {
      const item = (value as Record<string, unknown>)[key];
      const hide = isHidden(item) &&
        (isSensitiveKey(key, more) || (isQuery && isSensitiveParameter(key)) ||
          (isNamed && /^values?$/i.test(key)));
      // a key such as __proto__ must become a property, not a prototype
      Object.defineProperty(safe, isPlainKey(key) ? key : redactText(key), {
        value: hide ? REDACTED : copy(
          RAW_HEADERS.test(key) ? hideRawValues(item, more) : item,
          more,
          depth + 1,
          next,
          QUERY_KEY.test(key),
        ),
        enumerable: true,
        configurable: true,
      });
    }
    return safe;
  } catch {
    return UNREADABLE;
  }
}

/** Returns true if a key is too short to be a token, and holds no named value. */
function isPlainKey(key: string): boolean {
  return key.length < MIN_TOKEN && !key.includes("=") && !key.includes(":");
}

/** Hides values of Node's `rawHeaders`, where names and values take turns. */
function hideRawValues(list: unknown, more: ReadonlySet<string> | undefined): unknown {
  if (!Array.isArray(list)) return list;
  return list.map((item, index) =>
    index % 2 === 1 && isSensitiveKey(String(list[index - 1]), more) ? REDACTED : item
  );
}

/** Copies a list. Values of command-line options and of pairs such as `[["token", "x"]]` are hidden by the item before them. */
function copyItems(
  list: readonly unknown[],
  more: ReadonlySet<string> | undefined,
  depth: number,
  above: object[],
): unknown[] {
  const isPair = list.length === 2 && Array.isArray(above.at(-2));
  const items = list.slice(0, MAX_ITEMS).map((item, index) => {
    const name: unknown = index > 0 ? list[index - 1] : undefined;
    const isNamed = typeof name === "string" && (isPair || /^--?[A-Za-z]/.test(name)) &&
      !name.includes("=") &&
      isSensitiveKey(name, more);
    return isNamed && isHidden(item) ? REDACTED : copy(item, more, depth + 1, above) ?? null;
  });
  if (list.length > MAX_ITEMS) items.push(`… (${list.length} items)`);
  return items;
}

/** Checks for `{ name: "token", value: "x" }`, as lists of headers and parameters have it. */
function isNamedValue(
  object: Record<string, unknown>,
  more: ReadonlySet<string> | undefined,
): boolean {
  const name = object.name ?? object.key ?? object.header ?? object.field ?? object.Name ??
    object.Key;
  return typeof name === "string" && isSensitiveKey(name, more);
}

/** Booleans and empty values are no secrets. */
function isHidden(value: unknown): boolean {
  return value !== null && value !== undefined && typeof value !== "boolean";
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
