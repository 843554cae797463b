let header: string | undefined;

/**
 * Returns the request header that passes the client's address to better-auth. Its name is random, so
 * that a client cannot send it: not to `createAuthHandler`, and not in a request or in headers that an
 * application passes to better-auth itself. It is created on first use, because loading Web Crypto
 * takes milliseconds of a cold start.
 */
export function getClientAddressHeader(): string {
  return header ??= `x-client-address-${crypto.randomUUID()}`;
}
