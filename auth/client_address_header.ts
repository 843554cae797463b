/**
 * Request header that passes the client's address to better-auth. Its name is random, so that a
 * client cannot send it: not to `createAuthHandler`, and not in a request or in headers that an
 * application passes to better-auth itself.
 */
export const CLIENT_ADDRESS_HEADER: string = `x-client-address-${crypto.randomUUID()}`;
