import { assertRejects } from "@std/assert";
import { sql } from "drizzle-orm";
import { check, integer, pgTable } from "drizzle-orm/pg-core";
import { NO_DECISIONS } from "../../../cli/schema_migration/decisions.ts";
import { planDifference } from "../../../cli/schema_migration/plan_difference.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";

Deno.test("planDifference() names the statement of a schema that PostgreSQL refuses", async () => {
  const notes = pgTable("notes", { id: integer("id") });
  const tags = pgTable("tags", { id: integer("id") }, () => [check("known", sql`nothing > 1`)]);
  await assertRejects(
    () =>
      planDifference({
        migrationsFolder: undefined,
        exports: [notes, tags],
        decisions: NO_DECISIONS,
      }),
    ConfigurationError,
    'column "nothing" does not exist\nCREATE TABLE "tags"',
  );
});
