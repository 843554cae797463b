import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { applyAlterToSchema } from "../../../distsql/recreate/alter.ts";
import { buildCreateTableSql } from "../../../distsql/recreate/create_table.ts";
import { generateRecreationPlan } from "../../../distsql/recreate/plan.ts";
import { temporaryName } from "../../../distsql/recreate/temporary_name.ts";
import type { TableSchema } from "../../../distsql/schema/table_schema.ts";
import { quoteLiteral } from "../../../sql/quote.ts";

const NOTES: TableSchema = {
  schema: "app",
  name: "notes",
  oid: "7",
  columns: [
    { name: "id", type: "bigint", notNull: true, identity: { always: true, options: "CACHE 1" } },
    { name: "select", type: "text", notNull: false, default: "'it''s'::text", collation: '"C"' },
    {
      name: "size",
      type: "integer",
      notNull: false,
      generated: { expression: 'length("select")', stored: true },
    },
  ],
  constraints: [
    {
      name: "notes_pkey",
      type: "primary_key",
      columns: ["id"],
      definition: "PRIMARY KEY (id)",
      validated: true,
    },
    {
      name: "up",
      type: "foreign_key",
      columns: ["id"],
      definition: 'FOREIGN KEY ("id") REFERENCES "app"."notes" ("id")',
      validated: true,
      references: { schema: "app", table: "notes", columns: ["id"] },
    },
  ],
  indexes: [{
    name: "i",
    unique: false,
    definition: 'USING btree ("select")',
    columns: ["select"],
    valid: true,
  }],
};

Deno.test("buildCreateTableSql() writes columns and constraints", () => {
  assertEquals(
    buildCreateTableSql("notes", NOTES),
    'CREATE TABLE "app"."notes" ("id" bigint GENERATED ALWAYS AS IDENTITY (CACHE 1) NOT NULL, ' +
      `"select" text COLLATE "C" DEFAULT 'it''s'::text, "size" integer GENERATED ALWAYS AS (length("select")) STORED, ` +
      'CONSTRAINT "notes_pkey" PRIMARY KEY (id), CONSTRAINT "up" FOREIGN KEY ("id") REFERENCES "app"."notes" ("id"))',
  );
});

Deno.test("buildCreateTableSql() names new NOT NULL constraints after the table where the server names them", () => {
  const id = { name: "id", type: "bigint", notNull: true };
  const note = { name: "note", type: "text", notNull: true };
  const long = { name: "n".repeat(60), type: "text", notNull: true };
  const build = (columns: TableSchema["columns"], name = "t__work"): string =>
    buildCreateTableSql(name, { name: "t", columns, constraints: [], indexes: [] });
  const named = { ...id, notNullName: "t_id_not_null" };
  assertEquals(
    build([named, note, long]),
    `CREATE TABLE "t__work" ("id" bigint CONSTRAINT "t_id_not_null" NOT NULL, "note" text CONSTRAINT "t_note_not_null" NOT NULL, ` +
      `"${long.name}" text NOT NULL)`,
  );
  assertEquals(
    build([id, note]),
    `CREATE TABLE "t__work" ("id" bigint NOT NULL, "note" text NOT NULL)`,
  );
  assertEquals(
    build([named, note], "t"),
    `CREATE TABLE "t" ("id" bigint CONSTRAINT "t_id_not_null" NOT NULL, "note" text NOT NULL)`,
  );
});

Deno.test("buildCreateTableSql() gives unique names to objects that cannot share one", () => {
  const sql = buildCreateTableSql('co"py', {
    ...NOTES,
    unlogged: true,
    options: ["fillfactor=70"],
  });
  assertStringIncludes(sql, 'CREATE UNLOGGED TABLE "app"."co""py" (');
  assertStringIncludes(sql, 'CONSTRAINT "notes_pkey__trellis_new" PRIMARY KEY (id)');
  assertStringIncludes(sql, 'REFERENCES "app"."co""py" ("id")) WITH (fillfactor=70)');
});

Deno.test("generateRecreationPlan() gives the same plain steps each time, in their order", () => {
  const desired = applyAlterToSchema(NOTES, `ALTER TABLE notes ALTER "select" TYPE varchar(9)`);
  const plan = generateRecreationPlan(NOTES, desired, 5001);
  assertEquals(plan.batches, 3);
  assertEquals(plan.steps.map(({ phase, title }) => `${phase}: ${title}`), [
    "before: store the plan",
    "before: create the new table",
    "before: copy the rows",
    "before: build index i",
    "before: add foreign key up",
    "before: validate up",
    "before: compare all rows",
    "before: rename the old table",
    "frozen: compare all rows again, without concurrent writes",
    "frozen: set the position of id",
    "frozen: rename the new table",
    "after: drop the old table",
    "after: name notes_pkey",
    "after: name i",
    "after: delete the stored plan",
  ]);
  assertEquals(plan.copy.columns.map(({ name }) => name), ["id", "select"]);
  assertEquals(generateRecreationPlan(NOTES, desired, 5001), plan);
  assertEquals(JSON.parse(JSON.stringify(plan)), plan);
});

Deno.test("generateRecreationPlan() has nothing to do when both tables are the same", () => {
  const desired = applyAlterToSchema(
    NOTES,
    `ALTER TABLE notes ALTER "select" TYPE text USING upper("select")`,
  );
  assertEquals(generateRecreationPlan(NOTES, desired, 10).steps, []);
});

Deno.test("generateRecreationPlan() writes statements that the distributed provider takes", () => {
  const notes: TableSchema = {
    ...NOTES,
    dialect: "distsql",
    columns: NOTES.columns.map(({ collation: _collation, ...column }) => column),
    indexes: [{
      ...NOTES.indexes[0],
      definition: 'USING btree_index ("select") WHERE ("select" <> \'\')',
    }],
  };
  const desired = applyAlterToSchema(notes, `ALTER TABLE notes ALTER "select" TYPE varchar(9)`);
  const statements = generateRecreationPlan(notes, desired, 10).steps.flatMap((step) =>
    step.kind === "statement" ? [step] : []
  );
  const index = statements.find(({ title }) => title === "build index i");
  assertEquals(
    index?.sql,
    `CREATE INDEX ASYNC "i__trellis_new" ON "app"."notes__trellis_new" ("select") WHERE ("select" <> '')`,
  );
  assertEquals(index?.job?.kind, "index");
  const validation = statements.find(({ title }) => title === "validate up");
  assertEquals(
    validation?.sql,
    'ALTER TABLE ASYNC "app"."notes__trellis_new" VALIDATE CONSTRAINT "up"',
  );
});

Deno.test("generateRecreationPlan() warns of what goes", () => {
  const plan = generateRecreationPlan(
    { ...NOTES, constraints: [], indexes: [{ ...NOTES.indexes[0], valid: false }] },
    { ...NOTES, constraints: [], columns: NOTES.columns.slice(0, 2), indexes: [] },
    10,
  );
  assertEquals(plan.warnings, [
    "the values of size are lost",
    "index i is invalid and is not recreated",
    "the table has no key to order batches by, so all rows are copied by one statement",
  ]);
});

Deno.test("temporaryName() keeps names apart and within 63 bytes", () => {
  assertEquals(temporaryName("notes", "new"), "notes__trellis_new");
  const long = "ä".repeat(31);
  const [a, b] = [temporaryName(`${long}a`, "new"), temporaryName(`${long}b`, "new")];
  assert(a !== b);
  for (const name of [a, b]) assert(new TextEncoder().encode(name).length <= 63, name);
});

Deno.test("quoteText() writes a literal that nothing leaves", () => {
  assertEquals(quoteLiteral(`a'b\\c`), `E'a''b\\\\c'`);
  assertEquals(quoteLiteral("it's"), "'it''s'");
});
