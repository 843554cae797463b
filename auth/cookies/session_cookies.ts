import { splitCookies } from "../../core/http/cookies.ts";
import { decodePercent } from "../../core/http/percent_encoding.ts";
import { readSignedToken } from "./session_token.ts";

/**
 * Cookie name prefixes with required attributes (RFC 6265bis, section 4.1.3). A prefix makes it a
 * different cookie.
 */
const NAME_PREFIXES = ["__Secure-", "__Host-", ""] as const;

/**
 * Returns the tokens of all session cookies of a request. A request can contain several, because a
 * sibling subdomain can set a cookie with the same name, and the browser decides the order.
 *
 * @param header The `Cookie` header.
 * @param name The name of the session cookie, with or without a prefix such as `__Secure-`.
 * @param secret Secret of the cookie signature.
 * @returns The distinct tokens with a valid signature.
 */
export async function readSessionCookies(
  header: string | null,
  name: string,
  secret: string,
): Promise<string[]> {
  const prefix = NAME_PREFIXES.find((each) => name.startsWith(each)) ?? "";
  const names = new Set(NAME_PREFIXES.map((each) => each + name.slice(prefix.length)));
  const tokens = new Set<string>();
  for (const [given, value] of splitCookies(header ?? "")) {
    const token = names.has(given) ? await readSignedToken(value, secret) : undefined;
    if (token !== undefined) tokens.add(token);
  }
  return [...tokens];
}

/** A token and its HMAC-SHA256 in padded base64, as better-auth writes it. */
const SIGNED = /^[^.]+\.[\w+/-]{43}=$/;

/** A session cookie whose signature is good. */
export interface SessionCookie {
  /** The stored token. */
  readonly token: string;
  /** The cookie's value in the request. */
  readonly value: string;
}

/**
 * Finds the session cookie. Like better-auth it reads only the first cookie with
 * exactly this name.
 *
 * @param header The `Cookie` header.
 * @param name The cookie's name.
 * @param secret Secret of the cookie signature.
 * @returns The cookie, or `undefined` if the cookie is missing or its signature is invalid.
 */
export async function findSessionCookie(
  header: string,
  name: string,
  secret: string,
): Promise<SessionCookie | undefined> {
  for (const [given, value] of splitCookies(header)) {
    if (given !== name) continue;
    const signed = decodePercent(value);
    const token = SIGNED.test(signed) ? await readSignedToken(signed, secret) : undefined;
    return token === undefined ? undefined : { token, value };
  }
  return undefined;
}
