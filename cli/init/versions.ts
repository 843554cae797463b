/**
 * Versions that a new project pins: those that this release is tested with. better-auth is a range,
 * because its patches close holes. A test compares them with deno.json.
 */
export const VERSIONS = {
  "@trellis/fn": "0.1.0",
  "@aws-sdk/client-rds-data": "3.1143.0",
  "@aws-sdk/client-secrets-manager": "3.1164.0",
  "@aws-sdk/client-sesv2": "3.1176.0",
  "@aws-sdk/client-sqs": "3.1175.0",
  "@aws-sdk/dsql-signer": "3.1142.0",
  "@electric-sql/pglite": "0.5.17",
  "@neondatabase/serverless": "1.2.0",
  acorn: "8.19.0",
  "better-auth": "^1.7.25",
  "drizzle-orm": "0.45.4",
  esbuild: "0.28.2",
  "libpg-query": "18.1.5",
  postgres: "3.4.9",
  zod: "4.6.7",
} as const;

/** Development tools of a Node.js project that this package does not use itself. */
export const NODE_TOOLS = {
  "@types/node": "22.20.5",
  tsx: "4.23.15",
  typescript: "^7.0.2",
} as const;

/** Why a Node.js project has {@link PLUGIN_OVERRIDES}. A package.json has no comments. */
export const PLUGIN_OVERRIDES_REASON =
  "These plugins of better-auth require one exact version of packages that better-auth has newer. " +
  "Without these ranges npm install answers ERESOLVE. Remove a plugin's entry when its peers are ranges.";

const EXACT_PEERS = {
  "@better-auth/utils": ">=0.4.2 <1",
  "@better-fetch/fetch": "^1.3.2",
  "better-call": "^1.4.0",
} as const;

/**
 * Ranges for the exact peers of plugins that are separate packages (passkey 1.7.6, the others
 * 1.7.5). An entry has no effect while its plugin is not installed.
 */
export const PLUGIN_OVERRIDES: Readonly<Record<string, typeof EXACT_PEERS>> = Object.fromEntries(
  ["api-key", "mcp", "oauth-provider", "passkey", "sso"].map((
    plugin,
  ) => [`@better-auth/${plugin}`, EXACT_PEERS]),
);
