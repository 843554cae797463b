/** The optional package of the router, with its supported versions. */
export const ROUTER_PACKAGES = { "hono": "^4.13.19" } as const;
