import { assert, assertEquals, assertMatch } from "@std/assert";
import postgres from "postgres";
import { listCreateStatements } from "../../../cli/schema_migration/create_statements.ts";
import { findDeclaredObjects } from "../../../cli/schema_migration/declared_objects.ts";
import { type Decisions, NO_DECISIONS } from "../../../cli/schema_migration/decisions.ts";
import { planDifference } from "../../../cli/schema_migration/plan_difference.ts";
import { runMigrations } from "../../../database/migrations/run.ts";
import type { DatabaseConfig } from "../../../database/config/config.ts";
import { closeDrizzleClient } from "../../../database/mod.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";
import { testSeed } from "../../support/seed.ts";
import { createRandom } from "../../support/random.ts";
import {
  buildSchema,
  changeSchema,
  countRepeated,
  createSchema,
  dropAll,
  insertRows,
  ROW_ERROR,
  type SchemaModel,
  writeMigration,
} from "./random_schema.ts";

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

async function describe(client: postgres.Sql): Promise<unknown[]> {
  const rows: unknown[] = [];
  for (const text of DESCRIBE) rows.push([...await client.unsafe(text)]);
  return rows;
}

/** Runs statements in an empty database of the server, and closes its connections. */
async function withDatabase<T>(
  server: TestPostgres,
  name: string,
  run: (client: postgres.Sql, config: DatabaseConfig) => Promise<T>,
): Promise<T> {
  const url = await server.createDatabase(name);
  const config = { provider: "serverless-pg", connectionString: url, instrument: false } as const;
  const client = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await run(client, config);
  } finally {
    await closeDrizzleClient(config);
    await client.end();
  }
}

/** Applies both migrations, with rows in between. Returns the database, or the error of the rows. */
async function migrateFilled(
  server: TestPostgres,
  index: number,
  { folder, before, after, second }: GeneratedCase,
): Promise<unknown> {
  return await withDatabase(server, `filled${index}`, async (client, database) => {
    const target = { migrationsFolder: folder, database };
    await runMigrations(target);
    for (const statement of insertRows(before, 11)) await client.unsafe(statement);
    const count = async () => {
      const tables = before.tables.map(({ schema = "public", name }) => `"${schema}"."${name}"`);
      return await Promise.all(
        tables.map(async (table) =>
          (await client.unsafe(`SELECT count(*)::int AS n FROM ${table}`))[0].n
        ),
      );
    };
    const present = await count();
    await second();
    const error = await runMigrations(target).then(() => undefined, (error: Error) => error);
    assertEquals(await count(), present);
    if (error !== undefined) return error;
    for (const statement of insertRows(after, 21)) await client.unsafe(statement);
    for (const query of countRepeated(after)) {
      assertEquals([...await client.unsafe(query)], [{ n: "0" }], query);
    }
    return await describe(client);
  });
}

interface GeneratedCase {
  readonly folder: string;
  readonly before: SchemaModel;
  readonly after: SchemaModel;
  /** Writes the second migration. */
  readonly second: () => Promise<void>;
}

Deno.test("planDifference() leads to the database of the schema for generated changes of filled tables", async () => {
  let refused = 0;
  const server = await startPostgres({ settings: ["timezone=America/New_York"] });
  try {
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
        "a",
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
      const second = () => writeMigration(folder, "b", change);
      const migrated = await migrateFilled(server, index, { folder, before, after, second });
      const again = await plan(exports, NO_DECISIONS);
      // a question about columns comes before the sequence of a serial column is left over
      const kept = again.kept.filter((text) => !text.startsWith("sequence "));
      assertEquals([again.steps, again.problems, kept], [[], [], []], `seed ${seed}`);
      if (migrated instanceof Error) assertMatch(migrated.message, ROW_ERROR, `seed ${seed}`);
      else {
        const direct = await withDatabase(server, `direct${index}`, async (client) => {
          for (const sql of listCreateStatements(findDeclaredObjects(exports))) {
            await client.unsafe(sql);
          }
          return await describe(client);
        });
        assertEquals(migrated, direct, `seed ${seed}`);
      }
      await Deno.remove(folder, { recursive: true });
    }
  } finally {
    await server.stop();
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
