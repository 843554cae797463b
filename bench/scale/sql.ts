import { adaptForStandardPg } from "../../distsql/translate/adapt.ts";
import { translateForDistSql } from "../../distsql/translate/sanitize.ts";
import { splitStatements } from "../../sql/statement.ts";
import { tokenize } from "../../sql/tokenize.ts";
import type { Series, Subject } from "./subject.ts";

/** A migration file as drizzle-kit and people write them. */
export const MIGRATION = `CREATE TABLE "notes" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"title" text DEFAULT 'it''s -- no comment' NOT NULL,
	"owner_id" uuid REFERENCES "users"("id") ON DELETE cascade, /* a /* nested */ comment */
	CONSTRAINT "title_short" CHECK (length("notes"."title") < 200)
);
--> statement-breakpoint
CREATE INDEX "notes_owner_idx" ON "notes" USING btree ("owner_id","created_at" DESC NULLS LAST);
--> statement-breakpoint
ALTER TABLE "notes" ADD COLUMN "pinned" boolean DEFAULT false NOT NULL;
--> statement-breakpoint
INSERT INTO "notes" ("title", "data") VALUES ('a title of some length', $$ a body; with 'quotes' $$);
--> statement-breakpoint
`;

/** SQL of about some size. */
export function getText(bytes: number): string {
  return MIGRATION.repeat(Math.ceil(bytes / MIGRATION.length));
}

/** The largest of statements: one INSERT of many rows. */
function getRows(bytes: number): string {
  const row = "('it''s a title', 'body', 12.5, now()),\n";
  return `INSERT INTO "notes" VALUES ${row.repeat(Math.ceil(bytes / row.length)).slice(0, -2)};`;
}

function over(
  name: string,
  run: (sql: string) => unknown,
  text: (bytes: number) => string = getText,
): Series {
  return {
    name,
    prepare(size): { run: () => unknown } {
      const sql = text(size);
      return { run: () => run(sql) };
    },
  };
}

/** Reading and translating SQL against its size. */
export const translation: Subject = {
  id: "scale_sql",
  title: "Reading and translating SQL against its size",
  unit: "bytes",
  sizes: [1000, 10_000, 100_000, 1_000_000, 2_000_000, 4_000_000],
  series: [
    over("tokenize", tokenize),
    over("splitStatements", splitStatements),
    over("translateForDistSql", (sql) => translateForDistSql(sql)),
    over("translateForDistSql, one statement", (sql) => translateForDistSql(sql), getRows),
    over("adaptForStandardPg", (sql) => adaptForStandardPg(sql)),
  ],
};
