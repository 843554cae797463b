/** A parsed value, or an error message that follows the name of the text. */
export type JsonResult = { value: unknown } | { error: string };

/**
 * Levels of arrays and objects in each other. Code that walks a value calls itself for each level: `JSON.stringify` of
 * some thousands of levels overflows the stack.
 */
const MAX_LEVELS = 1_000;

/**
 * Parses JSON from an untrusted source. Rejects invalid syntax, keys that could reach an object's prototype, and more
 * than 1,000 levels. Accepts a byte order mark. The error contains nothing of the text, unlike V8's own.
 *
 * @returns The value, or the error: `is not valid JSON`.
 */
export function parseJson(text: string): JsonResult {
  let value: unknown;
  try {
    value = JSON.parse(text.charCodeAt(0) === 0xFEFF ? text.slice(1) : text);
  } catch {
    return { error: "is not valid JSON" };
  }
  if (text.length > 2 * MAX_LEVELS && isNestedDeeper(value, MAX_LEVELS)) {
    return { error: `must not be nested over more than ${MAX_LEVELS} levels` };
  }
  // only a text that looks like it is searched: a reviver for each would more than triple the parsing
  return mayPollute(text) && pollutes(value)
    ? { error: "must not contain the keys __proto__ or constructor.prototype" }
    : { value };
}

/** Parses JSON without the checks of {@link parseJson}. Returns `fallback` for any other text. */
export function parseJsonOr(text: string, fallback?: unknown): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return fallback;
  }
}

/**
 * Checks whether a text may have a key that could become an object's prototype in code that copies objects: `__proto__`, the
 * end of `"prototype"`, or either written with an escape. Each search begins with a character that is rare in JSON.
 */
function mayPollute(text: string): boolean {
  return text.includes("__proto__") || text.includes('ype"') && text.includes('"prototype"') ||
    text.includes("\\u00");
}

function pollutes(root: unknown): boolean {
  const left: unknown[] = [root];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value !== "object" || value === null) continue;
    if (Object.hasOwn(value, "__proto__")) return true;
    for (const [key, inner] of Object.entries(value)) {
      if (typeof inner !== "object" || inner === null) continue;
      if (key === "constructor" && Object.hasOwn(inner, "prototype")) return true;
      left.push(inner);
    }
  }
  return false;
}

/**
 * Returns whether the arrays and objects of a value are nested in each other over more levels than a limit. Nothing is
 * called recursively.
 *
 * @param root The value of a JSON text.
 * @param maxLevels The limit.
 */
export function isNestedDeeper(root: unknown, maxLevels: number): boolean {
  let level = [root].filter(isObject);
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > maxLevels) return true;
    level = level.flatMap((value) => Object.values(value).filter(isObject));
  }
  return false;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
