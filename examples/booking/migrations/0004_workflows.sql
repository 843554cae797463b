CREATE TABLE IF NOT EXISTS "trellis_workflows" (
  "id" uuid PRIMARY KEY NOT NULL,
  "name" text NOT NULL,
  "version" integer NOT NULL,
  "state" text DEFAULT 'running' NOT NULL,
  "mode" text DEFAULT 'run' NOT NULL,
  "input" text NOT NULL,
  "output" text,
  "error" text,
  "parent_id" uuid,
  "parent_name" text,
  "parent_entry" text,
  "started_at" timestamp with time zone NOT NULL,
  "finished_at" timestamp with time zone,
  "correlation_id" text
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "trellis_workflows_state_idx" ON "trellis_workflows" ("state","started_at");
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "trellis_workflow_entries" (
  "workflow_id" uuid NOT NULL,
  "entry" text NOT NULL,
  "kind" text NOT NULL,
  "name" text NOT NULL,
  "state" text NOT NULL,
  "attempts" integer DEFAULT 0 NOT NULL,
  "result" text,
  "error" text,
  "wake_at" timestamp with time zone,
  "created_at" timestamp with time zone NOT NULL,
  "finished_at" timestamp with time zone,
  PRIMARY KEY ("workflow_id","entry")
);
