/** Name of the table of {@link IDEMPOTENCY_MIGRATION_SQL}. */
export const IDEMPOTENCY_TABLE = "idempotency_records";

/**
 * SQL that creates the table of `createTransactionStore` and `createLeaseStore`. It can run repeatedly, on every provider.
 * Statements are separated by drizzle's breakpoint.
 *
 * @example
 * ```ts
 * import { IDEMPOTENCY_MIGRATION_SQL } from "@trellis/fn/idempotency";
 *
 * console.log(IDEMPOTENCY_MIGRATION_SQL.split("--> statement-breakpoint").length); // 2
 * ```
 */
export const IDEMPOTENCY_MIGRATION_SQL = `CREATE TABLE IF NOT EXISTS "idempotency_records" (
  "id" text PRIMARY KEY NOT NULL,
  "fingerprint" text NOT NULL,
  "fence" text NOT NULL,
  "result" text,
  "lease_expires_at" timestamp with time zone NOT NULL,
  "expires_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "idempotency_records_expires_at_idx" ON "idempotency_records" ("expires_at");
`;
