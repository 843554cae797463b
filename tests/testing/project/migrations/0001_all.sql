CREATE TABLE IF NOT EXISTS "users" (
  "id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
  "name" text NOT NULL,
  "email" text NOT NULL,
  "email_verified" boolean DEFAULT false NOT NULL,
  "image" text,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  "updated_at" timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT "users_email_unique" UNIQUE("email")
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "sessions" (
  "id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
  "expires_at" timestamp with time zone NOT NULL,
  "token" text NOT NULL,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  "updated_at" timestamp with time zone DEFAULT now() NOT NULL,
  "ip_address" text,
  "user_agent" text,
  "user_id" uuid NOT NULL,
  CONSTRAINT "sessions_token_unique" UNIQUE("token")
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "accounts" (
  "id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
  "account_id" text NOT NULL,
  "provider_id" text NOT NULL,
  "user_id" uuid NOT NULL,
  "access_token" text,
  "refresh_token" text,
  "id_token" text,
  "access_token_expires_at" timestamp with time zone,
  "refresh_token_expires_at" timestamp with time zone,
  "scope" text,
  "password" text,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  "updated_at" timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT "accounts_provider_id_account_id_unique" UNIQUE("provider_id","account_id")
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "verification" (
  "id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
  "identifier" text NOT NULL,
  "value" text NOT NULL,
  "expires_at" timestamp with time zone NOT NULL,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  "updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "sessions_user_id_idx" ON "sessions" ("user_id");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "accounts_user_id_idx" ON "accounts" ("user_id");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "verification_identifier_idx" ON "verification" ("identifier");
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "trellis_jobs" (
  "id" uuid PRIMARY KEY NOT NULL,
  "name" text NOT NULL,
  "payload" text NOT NULL,
  "state" text DEFAULT 'queued' NOT NULL,
  "shard" integer NOT NULL,
  "group_key" text,
  "position" bigint NOT NULL,
  "enqueued_at" timestamp with time zone NOT NULL,
  "run_at" timestamp with time zone NOT NULL,
  "due_at" timestamp with time zone,
  "attempts" integer DEFAULT 0 NOT NULL,
  "fence" integer DEFAULT 0 NOT NULL,
  "finished_at" timestamp with time zone,
  "last_error" text,
  "correlation_id" text,
  "trace_parent" text
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "trellis_jobs_due_idx" ON "trellis_jobs" ("shard","due_at");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "trellis_jobs_group_idx" ON "trellis_jobs" ("group_key","enqueued_at") WHERE "group_key" IS NOT NULL AND "finished_at" IS NULL;
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "trellis_jobs_running_group_unique" ON "trellis_jobs" ("group_key") WHERE "group_key" IS NOT NULL AND "state" = 'running';
--> statement-breakpoint
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
--> statement-breakpoint
CREATE TABLE api_keys (id text PRIMARY KEY, config_id text NOT NULL,
  name text, start text, reference_id text NOT NULL, prefix text, key text NOT NULL, refill_interval integer,
  refill_amount integer, last_refill_at timestamptz, enabled boolean, rate_limit_enabled boolean,
  rate_limit_time_window integer, rate_limit_max integer, request_count integer, remaining integer,
  last_request timestamptz, expires_at timestamptz, created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL,
  permissions text, metadata text);
--> statement-breakpoint
CREATE INDEX api_keys_key_idx ON api_keys (key);
