CREATE TABLE "labels" (
  "id" text PRIMARY KEY NOT NULL,
  "title" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "notes" (
  "id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
  "user_id" uuid NOT NULL,
  "label_id" text,
  "title" text NOT NULL,
  "body" text NOT NULL,
  "search" text NOT NULL,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  "updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "deliveries" (
  "source" text NOT NULL,
  "delivery_id" text NOT NULL,
  "received_at" timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT "deliveries_pk" PRIMARY KEY("source","delivery_id")
);
--> statement-breakpoint
CREATE INDEX "notes_user_id_created_at_idx" ON "notes" ("user_id","created_at");
--> statement-breakpoint
INSERT INTO "labels" ("id", "title") VALUES ('idea', 'Idea'), ('todo', 'To do'), ('done', 'Done');
