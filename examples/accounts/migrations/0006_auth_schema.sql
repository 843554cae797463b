-- Tables of better-auth, from trellis generate auth-schema.
ALTER TABLE "sessions" ADD COLUMN "second_factor_at" timestamp with time zone;
