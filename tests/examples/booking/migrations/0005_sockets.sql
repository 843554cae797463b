CREATE TABLE IF NOT EXISTS "websocket_subscriptions" (
  "topic" text NOT NULL,
  "connection_id" text NOT NULL,
  "expires_at" timestamp with time zone NOT NULL,
  CONSTRAINT "websocket_subscriptions_pkey" PRIMARY KEY ("topic", "connection_id")
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "websocket_subscriptions_connection_id_idx" ON "websocket_subscriptions" ("connection_id");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "websocket_subscriptions_expires_at_idx" ON "websocket_subscriptions" ("expires_at");
