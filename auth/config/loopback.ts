/**
 * Checks for a loopback host (RFC 6761, section 6.3; RFC 1122, section 3.2.1.3; RFC 4291, section
 * 2.5.3).
 *
 * @param hostname The host of a `URL`.
 */
export function isLoopbackHost(hostname: string): boolean {
  return /^(?:.+\.)?localhost\.?$|^127\.\d+\.\d+\.\d+$|^\[::1\]$/.test(hostname);
}

/**
 * Checks for a URL with a loopback host.
 *
 * @param text Any text.
 */
export function isLoopbackUrl(text: string): boolean {
  return URL.canParse(text) && isLoopbackHost(new URL(text).hostname);
}
