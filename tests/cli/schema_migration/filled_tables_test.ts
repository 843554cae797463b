/**
 * Migrations of generated statements on a PostgreSQL server whose tables have rows, in a session with
 * another time zone than UTC.
 */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { sql } from "drizzle-orm";
import * as pg from "drizzle-orm/pg-core";
import { join } from "node:path";
import postgres from "postgres";
import { planMigrationFiles } from "../../../cli/auth_schema/migration_file.ts";
import { type Decisions, NO_DECISIONS } from "../../../cli/schema_migration/decisions.ts";
import {
  type Difference,
  groupSteps,
  renderStep,
  type Step,
} from "../../../cli/schema_migration/difference.ts";
import { listCreateStatements } from "../../../cli/schema_migration/create_statements.ts";
import { findDeclaredObjects } from "../../../cli/schema_migration/declared_objects.ts";
import { type Queryable, readCatalog } from "../../../cli/schema_migration/read_catalog.ts";
import { planDifference } from "../../../cli/schema_migration/plan_difference.ts";
import { closeDrizzleClient, runMigrations } from "../../../database/mod.ts";
import { readMigrationFolder } from "../../../database/migrations/folder.ts";
import { MigrationError } from "../../../database/migrations/migration_error.ts";
import { startPostgres } from "../../support/postgres.ts";

const app = pg.pgSchema("app");

function before() {
  const notes = pg.pgTable("notes", {
    id: pg.serial("id").primaryKey(),
    title: pg.text("title").notNull(),
    code: pg.varchar("code", { length: 10 }),
    amount: pg.text("amount"),
    startsAt: pg.timestamp("starts_at"),
    endsAt: pg.timestamp("ends_at", { withTimezone: true }),
    data: pg.jsonb("data"),
  });
  return {
    notes,
    counts: pg.pgTable("counts", { id: pg.smallint("id").primaryKey() }),
    downs: pg.pgTable("downs", { id: pg.bigint("id", { mode: "number" }).primaryKey() }),
    tags: pg.pgTable("tags", { id: pg.integer("id").primaryKey(), label: pg.text("label") }),
    open: pg.pgView("open").as((qb) => qb.select({ title: notes.title }).from(notes)),
    titles: pg.pgMaterializedView("titles").as((qb) =>
      qb.select({ title: notes.title }).from(notes)
    ),
  };
}

function after() {
  const labels = app.table("labels", {
    id: pg.integer("id").primaryKey(),
    label: pg.text("label"),
  });
  const notes = pg.pgTable("notes", {
    id: pg.bigint("id", { mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
    title: pg.text("title").notNull(),
    code: pg.varchar("code", { length: 4 }),
    amount: pg.integer("amount"),
    startsAt: pg.timestamp("starts_at", { withTimezone: true }),
    endsAt: pg.date("ends_at"),
    data: pg.jsonb("data"),
    labelId: pg.integer("label_id").references(() => labels.id),
  }, (table) => [
    pg.index("notes_title_idx").on(sql`lower(${table.title}) desc nulls last`).concurrently(),
    pg.index("notes_data_idx").using("gin", sql`${table.data} jsonb_path_ops`),
    pg.uniqueIndex("notes_code_idx").on(table.code),
    pg.check("notes_amount", sql`${table.amount} > 0`),
    pg.foreignKey({ name: "notes_label", columns: [table.labelId], foreignColumns: [labels.id] }),
    pg.unique("notes_title").on(table.title),
  ]);
  return {
    labels,
    notes,
    counts: pg.pgTable("counts", {
      id: pg.smallint("id").primaryKey().generatedByDefaultAsIdentity({ startWith: 100 }),
    }),
    downs: pg.pgTable("downs", {
      id: pg.bigint("id", { mode: "number" }).primaryKey().generatedByDefaultAsIdentity({
        increment: -1,
        minValue: -1000,
        maxValue: -1,
        startWith: -1,
      }),
    }),
    open: pg.pgView("open").with({ securityInvoker: true, securityBarrier: true }).as((qb) =>
      qb.select({ title: notes.title }).from(notes)
    ),
    titles: pg.pgMaterializedView("titles").with({ fillfactor: 70 }).as((qb) =>
      qb.select({ title: notes.title }).from(notes)
    ),
  };
}

const ROWS = `
  INSERT INTO notes (title, code, amount, starts_at, ends_at)
    SELECT 'title ' || n, 'c' || n, n::text, '2026-01-02 03:04', '2026-01-02 23:30 UTC'
    FROM generate_series(1, 5) AS n;
  DELETE FROM notes WHERE id = 5;
  INSERT INTO counts VALUES (1), (120);
  INSERT INTO downs VALUES (-7), (-3);
  INSERT INTO tags VALUES (1, 'kept');
  CREATE ROLE reader;
  GRANT SELECT ON open TO reader;`;

const NEXT_ROWS = `
  INSERT INTO notes (title) VALUES ('next');
  INSERT INTO counts DEFAULT VALUES;
  INSERT INTO downs DEFAULT VALUES;`;

interface Lab {
  readonly url: string;
  readonly folder: string;
  readonly client: postgres.Sql;
  plan(exports: object, decisions?: Decisions): Promise<Difference>;
  /** Writes the steps as the command does, applies them, and returns the names of all files. */
  migrate(name: string, steps: readonly Step[]): Promise<string[]>;
}

async function withServer(test: (lab: Lab) => Promise<void>): Promise<void> {
  const server = await startPostgres({ settings: ["timezone=America/New_York"] });
  const client = postgres(server.url, { onnotice: () => {}, max: 1 });
  const folder = await Deno.makeTempDir({ prefix: "trellis-filled-" });
  const connection = { connectionString: server.url, instrument: false };
  const database = { provider: "serverless-pg" as const, ...connection };
  const plan = async (exports: object, decisions: Decisions = NO_DECISIONS) =>
    await planDifference({ migrationsFolder: folder, exports: Object.values(exports), decisions });
  const migrate = async (name: string, steps: readonly Step[]) => {
    const present = readMigrationFolder(folder);
    const files = groupSteps(steps).map((group) => group.map(renderStep));
    const options = { dir: "", folder, present, name, head: "", files, nowMs: 0 };
    for (const { path, text } of planMigrationFiles(options)) {
      await Deno.writeTextFile(join(folder, path), text!);
    }
    await runMigrations({ migrationsFolder: folder, database });
    return readMigrationFolder(folder).files.map(({ path }) => path);
  };
  try {
    await test({ url: server.url, folder, client, plan, migrate });
  } finally {
    await closeDrizzleClient(database);
    await client.end();
    await server.stop();
    await Deno.remove(folder, { recursive: true });
  }
}

/** Reads what both databases must have in common. */
async function read(client: postgres.Sql): Promise<unknown> {
  const query = async (text: string) => ({ rows: await client.unsafe(text) });
  const { tables, views } = await readCatalog({ query } as never as Queryable);
  return JSON.parse(
    JSON.stringify({ tables, views }, (key, value) => key === "ownSequence" ? undefined : value),
  );
}

Deno.test("planDifference() keeps rows, sequences and rights of filled tables", async () => {
  await withServer(async ({ folder, client, plan, migrate }) => {
    await migrate("first", (await plan(before())).steps);
    await client.unsafe(ROWS);
    const renames = [["tags", "app.labels"]] as const;
    const asked = await plan(after());
    assertEquals(asked.steps, []);
    assertStringIncludes(asked.problems[0], "--rename tags=app.labels");
    const kept = await plan(after(), { ...NO_DECISIONS, keeps: new Set(["tags"]) });
    assertEquals(kept.problems, []);
    const { steps } = await plan(after(), { ...NO_DECISIONS, renames });
    assertEquals(await migrate("second", steps), [
      "0001_first.sql",
      "0002_second.sql",
      "0003_second_2.sql",
    ]);
    const index = await Deno.readTextFile(join(folder, "0003_second_2.sql"));
    assertStringIncludes(index, "\nCREATE INDEX CONCURRENTLY notes_title_idx ON notes");
    assertEquals(index.includes("breakpoint"), false);
    assertEquals(steps.filter(({ risk }) => risk?.startsWith("fails")).map(({ sql }) => sql), [
      'ALTER TABLE "notes" ADD CONSTRAINT "notes_amount" CHECK (amount > 0)',
      "CREATE UNIQUE INDEX notes_code_idx ON notes USING btree (code)",
      'ALTER TABLE "notes" ADD CONSTRAINT "notes_title" UNIQUE (title)',
    ]);

    await client.unsafe(NEXT_ROWS);
    // the deleted id 5 is not given again
    assertEquals([...await client`SELECT id, code, amount, starts_at, ends_at::text FROM notes`], [
      ...[1, 2, 3, 4].map((n) => ({
        id: String(n),
        code: `c${n}`,
        amount: n,
        starts_at: new Date("2026-01-02T03:04:00Z"),
        ends_at: "2026-01-02",
      })),
      { id: "6", code: null, amount: null, starts_at: null, ends_at: null },
    ]);
    assertEquals([...await client`SELECT max(id) AS id FROM counts`], [{ id: 121 }]);
    assertEquals([...await client`SELECT min(id) AS id FROM downs`], [{ id: "-8" }]);
    assertEquals([...await client`SELECT label FROM app.labels`], [{ label: "kept" }]);
    const refused = await assertRejects(
      () => client.unsafe("SET ROLE reader; SELECT * FROM open"),
      postgres.PostgresError,
    );
    assertEquals(refused.message, "permission denied for table notes");
    await client`RESET ROLE`;

    const again = await plan(after());
    assertEquals([again.steps, again.problems, again.kept], [[], [], ["sequence notes_id_seq"]]);
    const dropped = await plan(after(), { ...NO_DECISIONS, drops: new Set(["notes_id_seq"]) });
    assertEquals(dropped.steps, [{ sql: 'DROP SEQUENCE "notes_id_seq"' }]);
    const migrated = await read(client);
    await client.unsafe(
      "DROP SCHEMA app CASCADE; DROP SCHEMA public CASCADE; CREATE SCHEMA public",
    );
    const declared = findDeclaredObjects(Object.values(after()));
    for (const statement of listCreateStatements(declared)) await client.unsafe(statement);
    // the renamed table keeps the names of its constraints
    const text = JSON.stringify(migrated).replaceAll("tags_pkey", "labels_pkey");
    assertEquals(JSON.parse(text), await read(client));
  });
});

Deno.test("planDifference() has PostgreSQL refuse values that a shorter type cannot keep", async () => {
  await withServer(async ({ client, plan, migrate }) => {
    const notes = (length: number) => ({
      notes: pg.pgTable("notes", { code: pg.varchar("code", { length }) }),
    });
    await migrate("first", (await plan(notes(10))).steps);
    await client`INSERT INTO notes VALUES ('longer')`;
    const { steps } = await plan(notes(4));
    const error = await assertRejects(() => migrate("second", steps), MigrationError);
    assertStringIncludes(error.message, "22001");
    assertEquals([...await client`SELECT code FROM notes`], [{ code: "longer" }]);
  });
});
