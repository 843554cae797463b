// deno-lint-ignore-file no-console -- the figures are part of the result
/**
 * Generated pairs of schemas: the migration from one to the other on a PostgreSQL server whose tables
 * have rows, the catalog that it leads to, and the way back.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import postgres from "postgres";
import { planDatabaseRollback } from "../../../cli/database/rollback.ts";
import { listCreateStatements } from "../../../cli/schema_migration/create_statements.ts";
import { findDeclaredObjects } from "../../../cli/schema_migration/declared_objects.ts";
import { type Decisions, NO_DECISIONS } from "../../../cli/schema_migration/decisions.ts";
import type { Difference } from "../../../cli/schema_migration/difference.ts";
import { planDifference } from "../../../cli/schema_migration/plan_difference.ts";
import { runMigrationFolder, runMigrations } from "../../../database/migrations/run.ts";
import { closeDrizzleClient } from "../../../database/mod.ts";
import { migrateAndKeep, readDatabase } from "../database/rollback_lab.ts";
import "../../support/embedded_pool.ts";
import { startPostgres } from "../../support/postgres.ts";
import { createRandom, type Random } from "../../support/random.ts";
import { testSeed } from "../../support/seed.ts";
import { withTempFolder } from "../../support/temp_folder.ts";
import { clearDatabase, describeDatabase } from "./described_database.ts";
import {
  buildSchema,
  changeSchema,
  countRepeated,
  createSchema,
  dropAll,
  insertRows,
  listKeptValues,
  renameColumns,
  type RenamedSchema,
  renameTables,
  ROW_ERROR,
  type SchemaModel,
  writeFirst,
  writeMigration,
} from "./random_schema.ts";

const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
/** Pairs of schemas; `TRELLIS_SCHEMA_PAIRS` sets their number. */
const CASES = Number(Deno.env.get("TRELLIS_SCHEMA_PAIRS") ?? (isFull ? 500 : 4));

/** Number of rows of each table that has some. */
async function countRows(client: postgres.Sql): Promise<string[]> {
  const { rows } = await readDatabase(client);
  const counts = new Map<string, number>();
  for (const row of rows) {
    const label = row.slice(0, row.indexOf(" ("));
    counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  return [...counts.values()].sort().map(String);
}

interface Lab {
  readonly client: postgres.Sql;
  readonly target: Parameters<typeof runMigrations>[0];
  /** Counts what happened. */
  count(what: string): void;
}

const FORMS = ["plain", "columns", "expand", "tables"] as const;

function change(random: Random, form: (typeof FORMS)[number], before: SchemaModel): RenamedSchema {
  const after = changeSchema(random, before);
  if (form === "plain") return { after, renames: [] };
  return form === "tables"
    ? renameTables(random, before, after)
    : renameColumns(random, before, after);
}

async function tryPair({ client, target, count }: Lab, index: number, seed: number): Promise<void> {
  const random = createRandom(seed);
  const before = createSchema(random);
  const form = FORMS[index % FORMS.length];
  const changed = change(random, form, before);
  const { after, renames } = changed;
  const folder = target.migrationsFolder!;
  const plan = (schema: unknown[], decisions: Decisions, migrationsFolder?: string) =>
    planDifference({ migrationsFolder, exports: schema, decisions });
  const exports = Object.values(buildSchema(after));
  // planning from nothing takes as long as planning the change
  if (index % 16 < FORMS.length) {
    await writeMigration(folder, "a", await plan(Object.values(buildSchema(before)), NO_DECISIONS));
  } else await writeFirst(folder, before);
  let decisions: Decisions = { ...NO_DECISIONS, renames, isExpand: form === "expand" };
  let asked = await plan(exports, decisions, folder);
  if (asked.problems.some((text) => text.startsWith("--expand cannot rename "))) {
    count("--expand refused");
    decisions = { ...decisions, isExpand: false };
    asked = await plan(exports, decisions, folder);
  }
  // without decisions nothing is lost
  assertEquals(asked.steps.filter(({ sql }) => sql.includes("DROP TABLE")), []);
  const planned = asked.kept.length === 0
    ? asked
    : await plan(exports, { ...decisions, drops: dropAll(asked.kept).drops }, folder);
  if (isExpected(planned.problems)) return count("refused");
  assertEquals(planned.problems, []);
  const error = await migrateFilled({ client, target, count }, random, before, changed, planned);
  let again = await plan(exports, NO_DECISIONS, folder);
  if (decisions.isExpand === true && renames.length > 0 && error === undefined) {
    assertEquals(again.open.length, renames.length);
    count("--expand");
    const drops = new Set(renames.map(([from]) => from));
    await writeMigration(folder, "c", await plan(exports, { ...NO_DECISIONS, drops }, folder));
    await runMigrations(target);
    again = await plan(exports, NO_DECISIONS, folder);
    assertEquals(again.open, []);
  }
  // a question about columns comes before the sequence of a serial column is left over
  const kept = again.kept.filter((text) => !text.startsWith("sequence "));
  if (error !== undefined) {
    assertMatch(error.message, ROW_ERROR);
    return count("refused by rows");
  }
  assertEquals([again.steps, again.problems, kept], [[], [], []]);
  for (const statement of insertRows(after, 21)) await client.unsafe(statement);
  for (const query of countRepeated(after)) {
    assertEquals([...await client.unsafe(query)], [{ n: "0" }], query);
  }
  const migrated = await describeDatabase(client, renames.length > 0);
  await clearDatabase(client);
  for (const sql of listCreateStatements(findDeclaredObjects(exports))) await client.unsafe(sql);
  assertEquals(migrated, await describeDatabase(client, renames.length > 0));
  count("equal");
}

/**
 * Applies both migrations, with rows in between, and takes the second one back once. Returns the
 * error of the rows.
 */
async function migrateFilled(
  { client, target, count }: Lab,
  random: Random,
  before: SchemaModel,
  changed: RenamedSchema,
  planned: Difference,
): Promise<Error | undefined> {
  const read = async (texts: readonly string[]) => {
    const rows: unknown[] = [];
    for (const text of texts) rows.push([...await client.unsafe(text)]);
    return rows;
  };
  await runMigrations(target);
  for (const statement of insertRows(before, 11)) await client.unsafe(statement);
  const present = await countRows(client);
  const isKept = random.chance(0.8);
  // a generated column is never kept, and comes back as the last one
  const isComputed = before.tables.some(({ columns }) =>
    columns.some(({ type }) => type === "generated")
  );
  const order = isKept && !isComputed ? "attnum" : "attname";
  const state = await readDatabase(client, order);
  const values = listKeptValues(before, changed);
  const old = await read(values.map(({ before: text }) => text));
  await writeMigration(target.migrationsFolder!, "b", planned);
  const migrate = isKept ? migrateAndKeep : runMigrations;
  const error = await migrate(target).then(() => undefined, (error: Error) => error);
  assertEquals(await countRows(client), present);
  if (error !== undefined) return error;
  assertEquals(await read(values.map(({ after: text }) => text)), old);
  const back = await planDatabaseRollback(target, "0001_a");
  // the change needs no statement, so there is no second migration
  if (back.tags.length === 0) {
    assertEquals([planned.steps, back.statements], [[], []]);
    return;
  }
  if (back.problems.length > 0) {
    count("rollback refused");
    for (const problem of back.problems) assertMatch(problem, NO_WAY_BACK);
    return;
  }
  await runMigrationFolder(target, () => back.folder);
  assertEquals(await readDatabase(client, order), state);
  count("taken back");
  await runMigrations(target).catch(async (error: Error) => {
    // an added column that the rollback has kept has the enum
    assertMatch(error.message, /2BP01: cannot drop type mood .*: trellis db migrate --retain 7d$/);
    await migrateAndKeep(target);
  });
}

/**
 * Changes that cannot be taken back: of types and enums, of sequences that columns own, and drops
 * whose values were not kept.
 */
const NO_WAY_BACK =
  /converts|are only added|serial|identity|generated|refuses|sequence|without --retain/;

/** Changes that PostgreSQL cannot make, or that would lose values. */
function isExpected(problems: readonly string[]): boolean {
  return problems.length > 0 &&
    problems.every((text) =>
      text.startsWith("PostgreSQL refuses") && text.includes("SET DATA TYPE")
    );
}

Deno.test("planDifference() leads to the database of the schema for generated changes of filled tables", async () => {
  const server = await startPostgres({ settings: ["timezone=America/New_York"] });
  const client = postgres(server.url, { max: 1, onnotice: () => {}, prepare: false });
  const connection = { connectionString: server.url, instrument: false };
  const database = { provider: "serverless-pg" as const, ...connection };
  const counts: Record<string, number> = {};
  const count = (what: string) => void (counts[what] = (counts[what] ?? 0) + 1);
  let failures = 0;
  try {
    for (let index = 0; index < CASES; index++) {
      const seed = testSeed + index;
      await clearDatabase(client);
      await withTempFolder({}, async (migrationsFolder) => {
        await tryPair({ client, target: { migrationsFolder, database }, count }, index, seed);
      }).catch((error) => {
        failures++;
        console.log(`TRELLIS_SEED=${seed - index % 4}, pair ${index % 4}: ${error.message}`);
      });
    }
  } finally {
    await closeDrizzleClient(database);
    await client.end();
    await server.stop();
  }
  console.log(`${CASES} pairs, TRELLIS_SEED=${testSeed}: ${JSON.stringify(counts)}`);
  assertEquals(failures, 0);
  const { refused = 0, equal = 0 } = counts;
  assert(refused * 4 <= CASES && equal * 4 >= CASES, JSON.stringify(counts));
});
