/** Optional packages of the jobs, with their supported versions. */
export const JOBS_PACKAGES = {
  "@aws-sdk/client-sqs": "^3",
  "croner": "^11.0.1",
} as const satisfies Record<string, string>;
