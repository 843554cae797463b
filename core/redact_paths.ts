import { REDACTED } from "../observability/redacted.ts";

const MAX_DEPTH = 8;

/**
 * Replaces values of path parameters in all paths of an event: `rawPath`, ARNs, `Referer`.
 *
 * @param value An event, or a part of it.
 * @param secrets The values, with or without percent-encoding.
 * @returns A copy; a path in which something was replaced is no longer percent-encoded.
 */
export function redactPaths(value: unknown, secrets: ReadonlySet<string>, depth = 0): unknown {
  if (typeof value === "string") return value.includes("/") ? redactPath(value, secrets) : value;
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => redactPaths(item, secrets, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, redactPaths(item, secrets, depth + 1)]),
  );
}

function redactPath(path: string, secrets: ReadonlySet<string>): string {
  const plain = decode(path);
  let safe = plain;
  for (const secret of secrets) {
    for (const form of new Set([secret, decode(secret)])) safe = replaceSegments(safe, form);
  }
  return safe === plain ? path : safe;
}

/** Replaces whole segments, one or several: `b` of `/a/b/c`, but not of `/a/bc`. */
function replaceSegments(path: string, segments: string): string {
  if (segments === "") return path;
  return path.split(`/${segments}`)
    .reduce((before, after) =>
      before + (/^(?:[/?#"]|$)/.test(after) ? `/${REDACTED}` : `/${segments}`) + after
    );
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // malformed escapes: the original text
  }
}
