/** Optional packages of the stores, with their supported versions. */
export const IDEMPOTENCY_PACKAGES = { "@aws-sdk/client-dynamodb": "^3.1164.0" } as const;
