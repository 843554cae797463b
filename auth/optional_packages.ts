/** Optional packages of auth, with their supported versions. */
export const AUTH_PACKAGES = { "better-auth": "^1.7.7" } as const;
