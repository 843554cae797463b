import { refuseCredential } from "./refuse_credential.ts";

/**
 * RFC 6750 section 2.1: the scheme in any case, spaces, one token of `b64token` characters, nothing else. A percent sign
 * is taken too: better-auth hands out signed tokens as its cookie holds them, percent-encoded. The flag `i` beside a
 * class would make V8 load tables of Unicode, on the first request of a process.
 */
const BEARER = /^[Bb][Ee][Aa][Rr][Ee][Rr] +([A-Za-z0-9._~+/%-]+=*)$/;

/**
 * The token of an `Authorization` header.
 *
 * @param header The header's value.
 * @returns The token, or `null` when the header is missing or malformed.
 *
 * @example
 * ```ts
 * import { extractBearerToken } from "@trellis/fn/auth";
 *
 * console.log(extractBearerToken("Bearer abc")); // abc
 * console.log(extractBearerToken("Basic abc")); // null
 * ```
 */
export function extractBearerToken(header: string | null | undefined): string | null {
  return typeof header === "string" ? BEARER.exec(header)?.[1] ?? null : null;
}

/**
 * Returns the bearer token of an `Authorization` header.
 *
 * @param authorizationHeader `Bearer <token>`.
 * @returns The token.
 * @throws {UnauthorizedError} If the header is missing or malformed.
 */
export function requireBearerToken(authorizationHeader: string | null | undefined): string {
  const token = extractBearerToken(authorizationHeader);
  if (token === null) {
    const reason = authorizationHeader ? "malformed" : "no credential";
    throw refuseCredential(reason, "The Authorization header must be: Bearer <token>");
  }
  return token;
}
