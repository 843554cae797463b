/** Optional packages of the environment, with their supported versions. */
export const ENV_PACKAGES = {
  "@aws-sdk/client-secrets-manager": "^3.1164.0",
  "@aws-sdk/client-ssm": "^3.1169.0",
} as const satisfies Record<string, string>;
