/** What the translation writes runs on PostgreSQL, once the provider's forms are undone. */
import { assertEquals } from "@std/assert";
import { PGlite } from "@electric-sql/pglite";
import { adaptForStandardPg } from "../../../distsql/translate/adapt.ts";
import { sanitizeForDistSql } from "../../../distsql/translate/sanitize.ts";
import { loadEmptySnapshot } from "../../../testing/embedded_snapshot.ts";

/** A migration as drizzle-kit writes it, then changes of it by hand. */
const MIGRATION = `
-- a first comment; with a semicolon
DO $$ BEGIN
 CREATE SCHEMA IF NOT EXISTS "app";
EXCEPTION
 WHEN duplicate_object THEN null;
END $$;
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "orgs" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"slug" text COLLATE "C" NOT NULL,
	"data" jsonb DEFAULT '{"a;b": "--> x"}'::jsonb,
	CONSTRAINT "orgs_slug_unique" UNIQUE("slug")
);
--> statement-breakpoint
CREATE UNLOGGED TABLE "users" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "users_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"number" serial NOT NULL,
	"org_id" uuid REFERENCES "orgs"("id") ON DELETE SET NULL,
	"email" varchar(255) DEFAULT E'it\\'s' NOT NULL,
	"total" numeric(12, 2),
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "total_positive" CHECK ("users"."total" > 0)
);
--> statement-breakpoint
INSERT INTO "orgs" ("slug") VALUES ('one'), ('two');--> statement-breakpoint
INSERT INTO "users" ("org_id", "email", "total") SELECT "id", "slug", 1 FROM "orgs";--> statement-breakpoint
CREATE UNIQUE INDEX "users_email_idx" ON "users" USING btree (lower("email") text_ops DESC NULLS LAST) WHERE "users"."email" <> 'CREATE INDEX';
--> statement-breakpoint
CREATE INDEX CONCURRENTLY ON "users" USING btree ("org_id","created_at" DESC NULLS LAST);
--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "active" boolean DEFAULT true NOT NULL, ADD COLUMN "note" text;
--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "boss" bigint CONSTRAINT "boss_fk" REFERENCES "users"("id") CHECK ("boss" > 0);
--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "code" text UNIQUE;
--> statement-breakpoint
ALTER TABLE "users" ADD CONSTRAINT "users_number_unique" UNIQUE("number", "email"), ADD CHECK (length("email") < 400);
--> statement-breakpoint
DO $$ BEGIN
 ALTER TABLE "users" ADD CONSTRAINT "users_org_fk" FOREIGN KEY ("org_id") REFERENCES "orgs"("id") ON DELETE cascade ON UPDATE no action;
EXCEPTION
 WHEN duplicate_object THEN null;
END $$;
--> statement-breakpoint
ALTER TABLE ONLY "users" ALTER COLUMN "total" SET NOT NULL;
--> statement-breakpoint
CREATE VIEW "active_users" AS SELECT "users"."id", "orgs"."slug" FROM "users" LEFT JOIN "orgs" ON "users"."org_id" = "orgs"."id";
--> statement-breakpoint
CREATE OR REPLACE FUNCTION one() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; END;
--> statement-breakpoint
VACUUM "users";
`;

const CONSTRAINTS =
  `SELECT contype::text || ' ' || pg_get_constraintdef(c.oid) AS definition, convalidated
  FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid WHERE t.relname LIKE $1 ORDER BY 1`;

Deno.test("adaptForStandardPg() of sanitizeForDistSql() runs on PostgreSQL", async (t) => {
  const db = await PGlite.create({ loadDataDir: await loadEmptySnapshot("a test") });
  try {
    await runSteps(t, db);
  } finally {
    await db.close();
  }
});

async function runSteps(t: Deno.TestContext, db: PGlite): Promise<void> {
  const translated = sanitizeForDistSql(MIGRATION)!;

  await t.step("as it is", async () => {
    await db.exec(adaptForStandardPg(translated));
    const { rows } = await db.query<{ definition: string; convalidated: boolean }>(CONSTRAINTS, [
      "users",
    ]);
    assertEquals(rows.filter((row) => !row.definition.startsWith("n ")), [
      { definition: "c CHECK ((active IS NOT NULL))", convalidated: true },
      { definition: "c CHECK ((boss > 0))", convalidated: true },
      { definition: "c CHECK ((length((email)::text) < 400))", convalidated: true },
      { definition: "c CHECK ((total > (0)::numeric))", convalidated: true },
      { definition: "c CHECK ((total IS NOT NULL))", convalidated: true },
      { definition: "f FOREIGN KEY (boss) REFERENCES users(id)", convalidated: true },
      {
        definition: "f FOREIGN KEY (org_id) REFERENCES orgs(id) ON DELETE CASCADE",
        convalidated: true,
      },
      {
        definition: "f FOREIGN KEY (org_id) REFERENCES orgs(id) ON DELETE SET NULL",
        convalidated: true,
      },
      { definition: "p PRIMARY KEY (id)", convalidated: true },
      { definition: "u UNIQUE (code)", convalidated: true },
      { definition: "u UNIQUE (number, email)", convalidated: true },
    ]);
    const filled = await db.query("SELECT count(*)::int AS n FROM users WHERE active");
    assertEquals(filled.rows, [{ n: 2 }]);
  });

  await t.step("beside itself with a prefix of names", async () => {
    for (const prefix of ["w1_", "W-2_"]) await db.exec(adaptForStandardPg(translated, prefix));
    const { rows } = await db.query(CONSTRAINTS, ["w1_users"]);
    assertEquals(rows.length, (await db.query(CONSTRAINTS, ["users"])).rows.length);
    assertEquals((await db.query(`SELECT slug FROM w1_active_users ORDER BY 1`)).rows, [{
      slug: "one",
    }, {
      slug: "two",
    }]);
  });

  await t.step("in a schema of its own", async () => {
    await db.exec("CREATE SCHEMA w3");
    await db.exec(adaptForStandardPg(translated, "w3."));
    assertEquals((await db.query(`SELECT count(*)::int AS n FROM w3.users`)).rows, [{ n: 2 }]);
  });
}
