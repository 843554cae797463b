/** Optional packages of the stores, with their supported versions. */
export const IDEMPOTENCY_PACKAGES = { "@aws-sdk/client-dynamodb": "^3" } as const;
