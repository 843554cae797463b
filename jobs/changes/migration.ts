/** Name of the table with the last change of each row that a consumer has handled. */
export const POSITIONS_TABLE = "trellis_change_positions";
/** Name of the table with fragments of rows that are not complete. */
export const PARTS_TABLE = "trellis_change_parts";

/**
 * SQL that creates the tables of `defineChangeStreamHandler`, for PostgreSQL and, translated like any
 * other migration, for the distributed provider. It can run repeatedly. Statements are separated by
 * drizzle's breakpoint.
 *
 * @example
 * ```ts
 * import { CHANGES_MIGRATION_SQL } from "@trellis/fn/jobs";
 *
 * console.log(CHANGES_MIGRATION_SQL.split("--> statement-breakpoint").length); // 4
 * ```
 */
export const CHANGES_MIGRATION_SQL = `CREATE TABLE IF NOT EXISTS "trellis_change_positions" (
  "id" uuid PRIMARY KEY NOT NULL,
  "consumer" text NOT NULL,
  "shard" integer NOT NULL,
  "commit_ns" bigint NOT NULL
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "trellis_change_positions_shard_idx" ON "trellis_change_positions" ("shard","commit_ns");
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "trellis_change_parts" (
  "id" uuid PRIMARY KEY NOT NULL,
  "chunk" uuid NOT NULL,
  "consumer" text NOT NULL,
  "fragment" integer NOT NULL,
  "part" integer NOT NULL,
  "parts" integer NOT NULL,
  "state" text NOT NULL,
  "touched" integer DEFAULT 0 NOT NULL,
  "data" text,
  "received_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "trellis_change_parts_chunk_idx" ON "trellis_change_parts" ("chunk");
`;
