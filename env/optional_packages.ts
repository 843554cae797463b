/** Optional packages of the environment, with their supported versions. */
export const ENV_PACKAGES = {
  "@aws-sdk/client-secrets-manager": "^3",
  "@aws-sdk/client-ssm": "^3",
} as const satisfies Record<string, string>;
