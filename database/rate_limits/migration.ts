/**
 * SQL that creates the table `rate_limits`. It can run repeatedly and on every provider.
 *
 * @example
 * ```ts
 * import { RATE_LIMIT_MIGRATION_SQL } from "@trellis/fn/database";
 *
 * console.log(RATE_LIMIT_MIGRATION_SQL.startsWith('CREATE TABLE IF NOT EXISTS "rate_limits"')); // true
 * ```
 */
export const RATE_LIMIT_MIGRATION_SQL: string = `CREATE TABLE IF NOT EXISTS "rate_limits" (
  "id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
  "key" text NOT NULL,
  "count" bigint NOT NULL,
  "last_request" bigint NOT NULL,
  CONSTRAINT "rate_limits_key_unique" UNIQUE("key")
);
`;
