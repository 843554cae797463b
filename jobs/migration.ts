/**
 * SQL that creates the table of jobs with its indexes, for PostgreSQL and, translated like any other
 * migration, for the distributed provider. It can run repeatedly: a table of an earlier release gets the
 * columns and indexes that it lacks, and loses those that have been replaced. Statements are separated by drizzle's
 * breakpoint.
 *
 * @example
 * ```ts
 * import { JOBS_MIGRATION_SQL } from "@trellis/fn/jobs";
 *
 * console.log(JOBS_MIGRATION_SQL.split("--> statement-breakpoint").length); // 16
 * ```
 */
export const JOBS_MIGRATION_SQL = `CREATE TABLE IF NOT EXISTS "trellis_jobs" (
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
  "trace_parent" text,
  "version" integer,
  "progress" double precision,
  "result" text,
  "next_payload" text,
  "next_run_at" timestamp with time zone,
  "limit_key" uuid
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "trellis_jobs_waiting_idx" ON "trellis_jobs" ("name","shard","due_at") WHERE "finished_at" IS NULL;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "trellis_jobs_finished_idx" ON "trellis_jobs" ("shard","due_at") WHERE "finished_at" IS NOT NULL;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "trellis_jobs_group_order_idx" ON "trellis_jobs" ("group_key","enqueued_at","position","id") WHERE "group_key" IS NOT NULL AND "finished_at" IS NULL;
--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "trellis_jobs_running_group_unique" ON "trellis_jobs" ("group_key") WHERE "group_key" IS NOT NULL AND "state" = 'running';
--> statement-breakpoint
DROP INDEX IF EXISTS "trellis_jobs_ready_idx";
--> statement-breakpoint
DROP INDEX IF EXISTS "trellis_jobs_due_idx";
--> statement-breakpoint
DROP INDEX IF EXISTS "trellis_jobs_group_idx";
--> statement-breakpoint
ALTER TABLE "trellis_jobs" ADD COLUMN IF NOT EXISTS "version" integer;
--> statement-breakpoint
ALTER TABLE "trellis_jobs" ADD COLUMN IF NOT EXISTS "progress" double precision;
--> statement-breakpoint
ALTER TABLE "trellis_jobs" ADD COLUMN IF NOT EXISTS "result" text;
--> statement-breakpoint
ALTER TABLE "trellis_jobs" ADD COLUMN IF NOT EXISTS "next_payload" text;
--> statement-breakpoint
ALTER TABLE "trellis_jobs" ADD COLUMN IF NOT EXISTS "next_run_at" timestamp with time zone;
--> statement-breakpoint
ALTER TABLE "trellis_jobs" ADD COLUMN IF NOT EXISTS "limit_key" uuid;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "trellis_jobs_ready_limit_idx" ON "trellis_jobs" ("name","limit_key","shard","due_at") WHERE "shard" >= 23 AND "finished_at" IS NULL;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "trellis_jobs_running_limit_idx" ON "trellis_jobs" ("name","limit_key") WHERE "limit_key" IS NOT NULL AND "state" = 'running';
`;
