import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import type { PGlite } from "@electric-sql/pglite";
import type { Difference } from "../../../cli/schema_migration/difference.ts";
import { listCreateStatements } from "../../../cli/schema_migration/create_statements.ts";
import { findDeclaredObjects } from "../../../cli/schema_migration/declared_objects.ts";
import { type Decisions, NO_DECISIONS } from "../../../cli/schema_migration/decisions.ts";
import { planDifference } from "../../../cli/schema_migration/plan_difference.ts";
import { runMigrations } from "../../../database/migrations/run.ts";
import { createTestDatabase } from "../../../testing/database.ts";
import { testSeed } from "../../support/seed.ts";
import { createRandom } from "../../support/random.ts";
import { buildSchema, changeSchema, createSchema } from "./random_schema.ts";

const CASES = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 100 : 1;

/** Describes a database with the views of the SQL standard, unlike the code under test. */
const DESCRIBE = [
  `SELECT table_schema, table_name, column_name, data_type, udt_schema, udt_name, is_nullable,
    column_default, is_identity, identity_generation, identity_start, generation_expression,
    character_maximum_length, numeric_precision, numeric_scale, datetime_precision
    FROM information_schema.columns WHERE table_schema IN ('public', 'app') ORDER BY 1, 2, 3`,
  `SELECT schemaname, tablename, indexdef FROM pg_indexes
    WHERE schemaname IN ('public', 'app') ORDER BY 1, 2, 3`,
  `SELECT conrelid::regclass::text AS relation, conname, contype, pg_get_constraintdef(oid)
    FROM pg_constraint WHERE contype <> 'n' AND conrelid <> 0
    AND connamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('public', 'app'))
    ORDER BY 1, 2`,
  `SELECT enumtypid::regtype::text AS enum, enumlabel FROM pg_enum
    ORDER BY 1, enumsortorder`,
];

async function describe(fill: (pglite: PGlite, config: object) => Promise<void>) {
  const { db, config, close } = await createTestDatabase();
  const pglite = (db as unknown as { $client: PGlite }).$client;
  await fill(pglite, config);
  const rows: unknown[] = [];
  for (const text of DESCRIBE) rows.push((await pglite.query(text)).rows);
  await close();
  return rows;
}

/** Writes the file as the command does. */
async function writeMigration(folder: string, file: string, { steps }: Difference): Promise<void> {
  if (steps.length === 0) return;
  const text = steps.map(({ sql }) => sql).join(";\n--> statement-breakpoint\n");
  await Deno.writeTextFile(join(folder, file), text);
}

/** Drops all that the new schema does not declare. */
function dropAll(kept: readonly string[]): Decisions {
  const names = kept.filter((text) => !text.startsWith("enum "));
  const drops = new Set(names.map((text) => text.slice(text.lastIndexOf(" ") + 1)));
  return { ...NO_DECISIONS, drops };
}

Deno.test("planDifference() leads to the database of the schema for generated changes", async () => {
  let refused = 0;
  for (let index = 0; index < CASES; index++) {
    const seed = testSeed + index;
    const random = createRandom(seed);
    const before = createSchema(random);
    const after = changeSchema(random, before);
    const folder = await Deno.makeTempDir({ prefix: "trellis-schema-" });
    const plan = (schema: unknown[], decisions: Decisions, isFirst = false) =>
      planDifference({
        migrationsFolder: isFirst ? undefined : folder,
        exports: schema,
        decisions,
      });
    const exports = Object.values(buildSchema(after));
    await writeMigration(
      folder,
      "0001_a.sql",
      await plan(Object.values(buildSchema(before)), NO_DECISIONS, true),
    );
    const asked = await plan(exports, NO_DECISIONS);
    // without decisions nothing is lost
    assertEquals(asked.steps.filter(({ sql }) => sql.includes("DROP TABLE")), [], `seed ${seed}`);
    const change = asked.kept.length === 0 ? asked : await plan(exports, dropAll(asked.kept));
    if (isExpected(change.problems)) {
      await Deno.remove(folder, { recursive: true });
      refused++;
      continue;
    }
    assertEquals(change.problems, [], `seed ${seed}`);
    await writeMigration(folder, "0002_b.sql", change);
    const again = await plan(exports, NO_DECISIONS);
    assertEquals([again.steps, again.problems, again.kept], [[], [], []], `seed ${seed}`);
    const migrated = await describe(async (_, database) => {
      await runMigrations({ migrationsFolder: folder, database } as never);
    });
    const direct = await describe(async (pglite) => {
      for (const sql of listCreateStatements(findDeclaredObjects(exports))) await pglite.exec(sql);
    });
    assertEquals(migrated, direct, `seed ${seed}`);
    await Deno.remove(folder, { recursive: true });
  }
  assert(refused * 4 <= CASES, `${refused} of ${CASES} changes were refused`);
});

/** Changes that PostgreSQL cannot make, or that would lose values. */
function isExpected(problems: readonly string[]): boolean {
  return problems.length > 0 &&
    problems.every((text) =>
      text.startsWith("PostgreSQL refuses") && text.includes("SET DATA TYPE")
    );
}
