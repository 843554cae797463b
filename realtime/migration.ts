/** Name of the table of {@link SUBSCRIPTION_MIGRATION_SQL}. */
export const SUBSCRIPTION_TABLE = "websocket_subscriptions";

/** Prefix of the topics that are hashes of tickets. */
export const TICKET_PREFIX = "$ticket:";

/**
 * SQL that creates the table of `createConnectionStore` and `createConnectionTickets`. It can run repeatedly, on every provider.
 * Statements are separated by drizzle's breakpoint.
 *
 * @example
 * ```ts
 * import { SUBSCRIPTION_MIGRATION_SQL } from "@trellis/fn/realtime";
 *
 * console.log(SUBSCRIPTION_MIGRATION_SQL.split("--> statement-breakpoint").length); // 3
 * ```
 */
export const SUBSCRIPTION_MIGRATION_SQL = `CREATE TABLE IF NOT EXISTS "websocket_subscriptions" (
  "topic" text NOT NULL,
  "connection_id" text NOT NULL,
  "expires_at" timestamp with time zone NOT NULL,
  CONSTRAINT "websocket_subscriptions_pkey" PRIMARY KEY ("topic", "connection_id")
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "websocket_subscriptions_connection_id_idx" ON "websocket_subscriptions" ("connection_id");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "websocket_subscriptions_expires_at_idx" ON "websocket_subscriptions" ("expires_at");
`;
