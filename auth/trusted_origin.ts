/**
 * Checks an origin against a list of trusted ones, by the rules of better-auth's `trustedOrigins`:
 * an exact origin such as `https://app.example.com`, or a pattern with `*` and `?` that is matched
 * with the origin where it has `://`, and with the host otherwise.
 *
 * @param address The value of a header `Origin`, or of `Referer`.
 * @param trusted The list.
 * @returns Whether one of them matches. Only addresses with http and https can be trusted.
 */
export function isTrustedOrigin(address: string, trusted: readonly string[]): boolean {
  const url = parseUrl(address);
  if (url?.protocol !== "http:" && url?.protocol !== "https:") return false;
  return trusted.some((pattern) => {
    if (!/[*?]/.test(pattern)) return pattern === url.origin;
    return matchesWildcard(pattern.includes("://") ? url.origin : url.host, pattern);
  });
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** `?` stands for one character and `*` for any number of them; neither stands for a slash. */
function matchesWildcard(text: string, pattern: string): boolean {
  const source = pattern.replace(/[^\w*?]/g, "\\$&").replace(/\*+/g, "[^/]*").replace(
    /\?/g,
    "[^/]",
  );
  return new RegExp(`^${source}$`).test(text);
}
