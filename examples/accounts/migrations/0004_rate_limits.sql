-- Tables of better-auth, from trellis generate auth-schema.
CREATE TABLE IF NOT EXISTS "rate_limits" (
  "id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
  "key" text NOT NULL,
  "count" bigint NOT NULL,
  "last_request" bigint NOT NULL,
  CONSTRAINT "rate_limits_key_unique" UNIQUE("key")
);
