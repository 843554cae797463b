/**
 * Optional packages of the database, with their supported versions. The file that needs a package
 * loads it with `import()`, so that applications install and bundle only what they use.
 */
export const DATABASE_PACKAGES = {
  "@aws-sdk/client-rds-data": "^3",
  "@aws-sdk/dsql-signer": "^3",
  "@aws-sdk/rds-signer": "^3",
  "@electric-sql/pglite": "^0.5.17",
  "@neondatabase/serverless": "^1.2.0",
  "drizzle-orm": "^0.45.4 || ^1.0.0-rc",
  "postgres": "^3.4.9",
} as const;
