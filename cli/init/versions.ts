/**
 * Versions that a new project pins: those that this release is tested with. A test compares them
 * with deno.json.
 */
export const VERSIONS = {
  "@trellis/fn": "0.1.0",
  "@aws-sdk/client-secrets-manager": "3.1163.0",
  "@aws-sdk/client-sesv2": "3.1169.0",
  "@aws-sdk/client-sqs": "3.1169.0",
  "@aws-sdk/dsql-signer": "3.1142.0",
  "@electric-sql/pglite": "0.5.16",
  "better-auth": "1.7.7",
  "drizzle-orm": "0.45.4",
  esbuild: "0.28.2",
  postgres: "3.4.9",
  typescript: "5.9.3",
  zod: "4.6.7",
} as const;

/** Development tools of a Node.js project that this package does not use itself. */
export const NODE_TOOLS = {
  "@types/node": "22.20.5",
  tsx: "4.23.15",
} as const;
