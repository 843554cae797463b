import { getHeader } from "./api_event.ts";
import type { ApiEvent } from "./lambda.ts";

/**
 * Changes to the security headers of a handler: values by name, `false` to omit one, or `false` for all.
 */
export type SecurityHeadersOption = false | Readonly<Record<string, string | false>>;

/** No header at all. */
const NONE: Readonly<Record<string, string>> = Object.freeze({});

/** The media type that a response declares is the one that browsers use (Fetch Standard, section 3.6). */
const DEFAULTS = { "X-Content-Type-Options": "nosniff" } as const;

/** Caches must not store what only one caller may see (RFC 9111, section 5.2.2.5). */
const NO_STORE = { "Cache-Control": "no-store" } as const;

/** Browsers use https for a year (RFC 6797, section 6.1). The header must not be sent over http (section 7.2). */
const TRANSPORT = { "Strict-Transport-Security": "max-age=31536000" } as const;

/** Checks whether a value is a {@link SecurityHeadersOption}. */
export function isSecurityHeadersOption(value: unknown): boolean {
  if (value === false) return true;
  return typeof value === "object" && value !== null &&
    Object.entries(value).every(([name, each]) =>
      /^[A-Za-z0-9-]+$/.test(name) &&
      (each === false || (typeof each === "string" && /^[\x20-\x7e]+$/.test(each)))
    );
}

/**
 * Creates the function that returns the security headers of a handler's responses. They are computed once.
 *
 * @param option The handler's changes.
 * @param isAuthenticated True if callers are identified, so that responses must not be stored.
 * @returns Returns the headers for a request.
 */
export function createSecurityHeaders(
  option: SecurityHeadersOption | undefined,
  isAuthenticated: boolean,
): (event: ApiEvent) => Readonly<Record<string, string>> {
  if (option === false) return () => NONE;
  const shared = { ...DEFAULTS, ...isAuthenticated ? NO_STORE : {} };
  const plain = change(shared, option);
  const secure = change({ ...shared, ...TRANSPORT }, option);
  // a header that the handler adds by itself is sent over http too, except that of https
  return function securityHeaders(event: ApiEvent): Readonly<Record<string, string>> {
    return getHeader(event, "X-Forwarded-Proto", "x-forwarded-proto") === "https" ? secure : plain;
  };
}

function change(
  defaults: Readonly<Record<string, string>>,
  option: Readonly<Record<string, string | false>> = {},
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = { ...defaults };
  for (const [name, value] of Object.entries(option)) {
    const known = Object.keys({ ...DEFAULTS, ...NO_STORE, ...TRANSPORT })
      .find((each) => each.toLowerCase() === name.toLowerCase()) ?? name;
    const isHidden = known in TRANSPORT && !(known in defaults);
    if (value === false) delete headers[known];
    else if (!isHidden) headers[known] = value;
  }
  return Object.freeze(headers);
}
