import type { AuthSettings } from "../config/config.ts";

interface CookieAttributes {
  readonly domain?: string | undefined;
  readonly path?: string | undefined;
  readonly maxAge?: number | undefined;
  readonly httpOnly?: boolean | undefined;
  readonly secure?: boolean | undefined;
  readonly sameSite?: string | undefined;
  readonly partitioned?: boolean | undefined;
}

/**
 * Builds the `Set-Cookie` header that renews the session cookie of a browser, with the attributes
 * that better-auth gives it. Without it, a browser would drop the cookie at the end that the session
 * had when its user signed in.
 *
 * @param settings The checked configuration.
 * @param value The cookie's value, as the browser sent it.
 * @returns The header's value.
 */
export function renewSessionCookie(settings: AuthSettings, value: string): string {
  const { advanced } = settings.library;
  const crossSubDomain = advanced?.crossSubDomainCookies;
  const attributes: CookieAttributes = {
    secure: settings.useSecureCookies,
    sameSite: "lax",
    path: "/",
    httpOnly: true,
    domain: crossSubDomain?.enabled
      ? crossSubDomain.domain || new URL(settings.baseURL).hostname
      : undefined,
    ...advanced?.defaultCookieAttributes,
    maxAge: settings.sessionExpiresIn,
    ...advanced?.cookies?.session_token?.attributes,
  };
  return serialize(settings.sessionCookie, value, attributes);
}

function serialize(name: string, value: string, attributes: CookieAttributes): string {
  const { maxAge, domain, path, httpOnly, secure, sameSite, partitioned } = attributes;
  return [
    `${name}=${value}`,
    maxAge !== undefined && `Max-Age=${Math.floor(maxAge)}`,
    domain && `Domain=${domain}`,
    path && `Path=${path}`,
    httpOnly && "HttpOnly",
    secure && "Secure",
    sameSite && `SameSite=${sameSite[0].toUpperCase()}${sameSite.slice(1)}`,
    partitioned && "Partitioned",
  ].filter(Boolean).join("; ");
}
