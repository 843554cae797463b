import { getHeader, isHttpApiEvent } from "../../core/http/api_event.ts";
import type { ApiEvent, RestApiEvent } from "../../core/http/lambda.ts";

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
  return join(values);
}

function join(values: readonly string[]): string | undefined {
  return values.length === 0 ? undefined : values.join("; ");
}
