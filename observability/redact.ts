import { describeError } from "./describe_error.ts";
import { REDACTED, redactText } from "./redact_text.ts";
import { isSensitiveKey, isSensitiveParameter } from "./sensitive_names.ts";

/** Stands where a value could not be read. */
export const UNREADABLE = "[Unreadable]";

/** The query of an event: `queryStringParameters`, `multiValueQueryStringParameters`, `rawQueryString`. */
const QUERY_KEY = /query_?string(?:_?parameters)?$/i;
const MAX_DEPTH = 8;
const MAX_ITEMS = 200;

/**
 * Takes secrets out of a text that stands alone, such as a request's body. JSON is redacted by its
 * keys at every level.
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
    if (Array.isArray(value)) {
      const items = value.slice(0, MAX_ITEMS).map((item) =>
        copy(item, more, depth + 1, next) ?? null
      );
      if (value.length > MAX_ITEMS) items.push(`… (${value.length} items)`);
      return items;
    }
    if ("toJSON" in value && typeof value.toJSON === "function") {
      return copy(value.toJSON(), more, depth + 1, next);
    }
    const safe: Record<string, unknown> = {};
    for (const key of Object.keys(value).slice(0, MAX_ITEMS)) {
      const item = (value as Record<string, unknown>)[key];
      const hide = item !== null && item !== undefined && typeof item !== "boolean" &&
        (isSensitiveKey(key, more) || (isQuery && isSensitiveParameter(key)));
      // a key such as __proto__ must become a property, not a prototype
      Object.defineProperty(safe, key, {
        value: hide ? REDACTED : copy(item, more, depth + 1, next, QUERY_KEY.test(key)),
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
