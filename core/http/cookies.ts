import { getHeader, isHttpApiEvent } from "./api_event.ts";
import type { ApiEvent, RestApiEvent } from "./lambda.ts";
import { decodePercent } from "./percent_encoding.ts";

/**
 * Returns the cookies of a request as one `Cookie` header. An HTTP API passes them as a list.
 * Several headers are joined with `; ` (RFC 6265, section 5.4).
 *
 * @returns The header's value, or `undefined` when there are no cookies.
 */
export function readCookieHeader(event: ApiEvent): string | undefined {
  if (isHttpApiEvent(event) && event.cookies !== undefined) return join(event.cookies);
  const several = (event as RestApiEvent).multiValueHeaders;
  if (!several) return getHeader(event, "Cookie", "cookie");
  const values: string[] = [];
  for (const name in several) {
    if (name.length === "cookie".length && name.toLowerCase() === "cookie") {
      for (const value of several[name] ?? []) values.push(value);
    }
  }
  return join(values) ?? getHeader(event, "Cookie", "cookie");
}

function join(values: readonly string[]): string | undefined {
  return values.length === 0 ? undefined : values.join("; ");
}

/**
 * Splits a `Cookie` header into names and values, in order. Quotation marks around a value are removed; it is not decoded.
 *
 * @param header The header's value.
 */
export function splitCookies(header: string): (readonly [name: string, value: string])[] {
  return header.split(";").flatMap((pair) => {
    const equals = pair.indexOf("=");
    if (equals === -1) return [];
    const value = pair.slice(equals + 1).trim();
    const isQuoted = value.length > 1 && value.startsWith('"') && value.endsWith('"');
    return [[pair.slice(0, equals).trim(), isQuoted ? value.slice(1, -1) : value] as const];
  });
}

/** Returns the decoded values of a request's cookies by name; of several with one name the first (RFC 6265, section 5.4). */
export function getCookies(event: ApiEvent): Record<string, string> {
  const cookies: Record<string, string> = {};
  for (const [name, value] of splitCookies(readCookieHeader(event) ?? "")) {
    if (name !== "__proto__" && !Object.hasOwn(cookies, name)) cookies[name] = decodePercent(value);
  }
  return cookies;
}
