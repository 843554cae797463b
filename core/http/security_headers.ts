import { getHeader } from "./api_event.ts";
import type { ApiEvent } from "./lambda.ts";

/**
 * Changes to the security headers of a handler: values by name, `false` to omit one, or `false` for all.
 */
export type SecurityHeadersOption = false | Readonly<Record<string, string | false>>;

/** No header at all. */
const NONE: Readonly<Record<string, string>> = Object.freeze({});

/** A header as one text, without line breaks. */
const HEADER = /^[\w-]+:[\x20-\x7e]+$/;

/** Checks whether a value is a {@link SecurityHeadersOption}. */
export function isSecurityHeadersOption(value: unknown): boolean {
  return value === false || (typeof value === "object" && value !== null &&
    Object.entries(value as object).every(([name, each]) =>
      (each === false || typeof each === "string") && HEADER.test(`${name}:${each}`)
    ));
}

/**
 * Creates the function that returns the security headers of a handler's responses. They are computed once.
 *
 * - `X-Content-Type-Options`: browsers use the declared media type (Fetch Standard, section 3.6).
 * - `Cache-Control`, with authentication: caches do not store what one caller may see (RFC 9111, section 5.2.2.5).
 * - `Strict-Transport-Security`, over https: browsers use https for a year (RFC 6797, sections 6.1 and 7.2).
 *
 * @param option The handler's changes.
 * @param isAuthenticated True if callers are identified.
 * @returns Returns the headers for a request.
 */
export function createSecurityHeaders(
  option: SecurityHeadersOption | undefined,
  isAuthenticated: boolean,
): (event: ApiEvent) => Readonly<Record<string, string>> {
  if (option === false) return () => NONE;
  const secure: Record<string, string> = {
    "X-Content-Type-Options": "nosniff",
    "Strict-Transport-Security": "max-age=31536000",
  };
  if (isAuthenticated) secure["Cache-Control"] = "no-store";
  for (const name in option) {
    const value = option[name];
    const usual = name.toLowerCase().replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
    if (value === false) delete secure[usual];
    else secure[usual] = value;
  }
  const { "Strict-Transport-Security": _, ...plain } = secure;
  return function securityHeaders(event: ApiEvent): Readonly<Record<string, string>> {
    return getHeader(event, "X-Forwarded-Proto", "x-forwarded-proto") === "https" ? secure : plain;
  };
}
