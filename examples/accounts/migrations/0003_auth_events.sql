-- Tables of better-auth, from trellis generate auth-schema.
CREATE TABLE IF NOT EXISTS "auth_events" (
  "id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
  "kind" text NOT NULL,
  "user_id" text,
  "actor_id" text,
  "address" text,
  "user_agent" text,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "auth_events_user_id_idx" ON "auth_events" ("user_id");
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "auth_events_created_at_idx" ON "auth_events" ("created_at");
