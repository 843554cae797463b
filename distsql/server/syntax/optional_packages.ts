/** Optional packages of the local Aurora DSQL server, with their supported versions. */
export const TESTING_PACKAGES = { "libpg-query": "^18.1.5" } as const;
