import { CORRELATION_ID_HEADER } from "../core/http/correlation_id.ts";
import type { ProxyResult } from "../core/http/lambda.ts";
import { isSensitiveKey } from "../observability/sensitive_names.ts";

/** Header of a response that is sent again. */
const REPLAYED_HEADER = "Idempotency-Replayed";

/**
 * Headers that belong to one delivery of a response, beside those with credentials. The correlation id is that of the
 * request that is answered.
 */
const OF_DELIVERY: ReadonlySet<string> = new Set([
  CORRELATION_ID_HEADER.toLowerCase(),
  REPLAYED_HEADER.toLowerCase(),
]);

/** `Set-Cookie`, `set-auth-token`, `set-auth-jwt`; RFC 9110, section 11.6.3. */
const CREDENTIALS = /^set-|authentication-info$/;

/** Marks of pages, numbers of tokens, and signatures of messages (RFC 9421, section 4). */
const NO_CREDENTIALS =
  /(?:^|-)(?:next|prev|previous|page|paging|pagination|continuation|cursor|sync)-token$|-(?:token-count|tokens-(?:limit|remaining|used)|(?:limit|remaining|used)-tokens)$|^(?:accept-)?signature(?:-input)?$/;

/** Checks whether a header is neither stored nor sent again. */
function isOfDelivery(name: string): boolean {
  const lowerCase = name.toLowerCase();
  return OF_DELIVERY.has(lowerCase) || CREDENTIALS.test(lowerCase) ||
    isSensitiveKey(lowerCase) && !NO_CREDENTIALS.test(lowerCase);
}

/** Statuses below 500 that ask the client to try again (RFC 9110, RFC 8470, RFC 6585). */
const TRANSIENT: ReadonlySet<number> = new Set([408, 425, 429]);

/**
 * Checks whether a status frees the key.
 *
 * @param status HTTP status.
 */
export function isFailedStatus(status: number): boolean {
  return status >= 500 || TRANSIENT.has(status);
}

/**
 * Returns the text that is stored for a response.
 *
 * @param response The handler's response.
 */
export function encodeResponse(response: ProxyResult): string {
  const { statusCode, headers, multiValueHeaders, body, isBase64Encoded } = response;
  return JSON.stringify({
    statusCode,
    headers: headers && withoutDelivery(headers),
    multiValueHeaders: multiValueHeaders && withoutDelivery(multiValueHeaders),
    body,
    isBase64Encoded,
  });
}

function withoutDelivery<T>(headers: Readonly<Record<string, T>>): Record<string, T> {
  const kept = Object.entries(headers).filter(([name]) => !isOfDelivery(name));
  return Object.fromEntries(kept);
}

/**
 * Returns a stored response.
 *
 * @param text What {@link encodeResponse} returned.
 * @param replayed True to mark it as a response that is sent again.
 */
export function decodeResponse(text: string, replayed: boolean): ProxyResult {
  const response = JSON.parse(text) as ProxyResult;
  if (!replayed) return response;
  return { ...response, headers: { ...response.headers, [REPLAYED_HEADER]: "true" } };
}
