import type { TrustedOriginCheck } from "../../core/http/cors.ts";
import { parseUrl } from "../../core/http/parse_url.ts";

/**
 * Creates the check of the origins whose pages may send cookies to handlers of other origins.
 *
 * @param config `baseURL` and `trustedOrigins` of the configuration.
 * @returns The check; `undefined` if no origins are listed. A function of `trustedOrigins` may be
 * asynchronous, so it applies to the auth routes and to the check of cookies only.
 */
export function createOriginCheck(
  { baseURL, trustedOrigins }: { readonly baseURL: string; readonly trustedOrigins?: unknown },
): TrustedOriginCheck | undefined {
  if (!Array.isArray(trustedOrigins) || trustedOrigins.length === 0) return undefined;
  return function isTrusted(_event, origin): boolean {
    return isTrustedOrigin(origin, [parseUrl(baseURL)?.origin ?? "", ...trustedOrigins]);
  };
}

/**
 * Checks an origin against a list of trusted ones, by the rules of better-auth's `trustedOrigins`:
 * an exact origin such as `https://app.example.com`, or a pattern with `*` and `?` that is matched
 * against the origin if it contains `://`, otherwise against the host.
 *
 * @param address The value of a header `Origin`, or of `Referer`.
 * @param trusted The list.
 * @returns `true` if one matches. Only http and https origins can be trusted.
 */
export function isTrustedOrigin(address: string, trusted: readonly string[]): boolean {
  const url = parseUrl(address);
  if (url?.protocol !== "http:" && url?.protocol !== "https:") return false;
  return trusted.some((pattern) => {
    if (!/[*?]/.test(pattern)) return pattern === url.origin;
    return matchesWildcard(pattern.includes("://") ? url.origin : url.host, pattern);
  });
}

/** Matches `?` with one character and `*` with any number of characters, except slashes. */
function matchesWildcard(text: string, pattern: string): boolean {
  const source = pattern.replace(/[^\w*?]/g, "\\$&").replace(/\*+/g, "[^/]*").replace(
    /\?/g,
    "[^/]",
  );
  return new RegExp(`^${source}$`).test(text);
}
