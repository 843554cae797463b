/** The optional package of the router, with its supported versions. */
export const ROUTER_PACKAGES = { "hono": "^4.6.0" } as const;
