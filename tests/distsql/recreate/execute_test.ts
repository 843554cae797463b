import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { applyAlterToSchema } from "../../../distsql/recreate/alter.ts";
import { executeRecreation, introspectTable } from "../../../database/migrations/recreation.ts";
import {
  RecreationError,
  type RecreationFailure,
} from "../../../distsql/recreate/recreation_error.ts";
import type { TableSchema } from "../../../distsql/schema/table_schema.ts";
import {
  LEFTOVERS,
  openClient,
  planFor,
  recreate,
  stopServer,
  watch,
  withDatabase,
} from "./recreation_support.ts";

const options = { sanitizeOps: false, sanitizeResources: false };

/** What two tables must have in common: everything but the catalog's number and the marks of a change. */
function comparable({ oid: _oid, ...schema }: TableSchema): unknown {
  const columns = schema.columns.map((
    { source: _source, using: _using, added: _added, notNullName, ...column },
  ) => ({
    ...column,
    // PostgreSQL 18 names NOT NULL constraints: the name that it chooses itself is as good as none
    ...(notNullName !== undefined && notNullName !== `${schema.name}_${column.name}_not_null` &&
      { notNullName }),
  }));
  const byName = <T extends { name: string }>(list: T[]): T[] =>
    list.toSorted((a, b) => a.name < b.name ? -1 : 1);
  return {
    ...schema,
    columns,
    constraints: byName(schema.constraints),
    indexes: byName(schema.indexes),
  };
}

const EVERYTHING = `
  CREATE ROLE app; CREATE ROLE boss; CREATE ROLE stranger;
  CREATE SCHEMA "Strange ""Schema";
  GRANT ALL ON SCHEMA "Strange ""Schema" TO boss;
  SET search_path = "Strange ""Schema";
  CREATE TYPE mood AS ENUM ('good', 'bad');
  CREATE TABLE authors (id int PRIMARY KEY);
  INSERT INTO authors SELECT generate_series(1, 50);
  CREATE TABLE "Order" (
    "Id" int GENERATED ALWAYS AS IDENTITY (START WITH 5 INCREMENT BY 5 CACHE 3) PRIMARY KEY,
    "select" varchar(40) COLLATE "C" NOT NULL DEFAULT 'it''s \\ new',
    author int REFERENCES authors (id) ON UPDATE CASCADE ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED,
    parent int REFERENCES "Order" ("Id"),
    price text,
    feeling mood DEFAULT 'good',
    tags text[] DEFAULT '{}',
    size int GENERATED ALWAYS AS (length("select")) STORED,
    number serial,
    "drop ""me""" int,
    CONSTRAINT "is ""fine""" CHECK (length("select") > 0),
    CONSTRAINT "both" UNIQUE ("select", author) DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT apart EXCLUDE USING btree (number WITH =)
  ) WITH (fillfactor = 70);
  ALTER TABLE "Order" ADD CONSTRAINT loose CHECK (price <> 'x') NOT VALID;
  ALTER TABLE "Order" ALTER price SET STATISTICS 500, ALTER price SET STORAGE EXTERNAL;
  CREATE UNIQUE INDEX "up ""per" ON "Order" (upper("select") DESC NULLS LAST) INCLUDE (author) WHERE "Id" > 0;
  CREATE INDEX plain ON "Order" USING hash (author);
  CREATE TABLE child ("order" int REFERENCES "Order" ("Id") ON DELETE CASCADE, name text);
  COMMENT ON TABLE "Order" IS 'a table';
  COMMENT ON COLUMN "Order"."select" IS 'it''s a \\ column';
  COMMENT ON CONSTRAINT "both" ON "Order" IS 'a constraint';
  COMMENT ON INDEX plain IS 'an index';
  ALTER TABLE "Order" OWNER TO boss;
  GRANT SELECT, INSERT ON "Order" TO app;
  GRANT UPDATE ON "Order" TO app WITH GRANT OPTION;
  GRANT UPDATE (price) ON "Order" TO PUBLIC;
  GRANT USAGE ON SEQUENCE "Order_Id_seq" TO app;
  REVOKE TRUNCATE ON "Order" FROM boss;
  ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO stranger;
  INSERT INTO "Order" ("select", author, price, "drop ""me""") SELECT 'order ' || i, i % 50 + 1, i::text, i FROM generate_series(1, 120) AS i;
  UPDATE "Order" SET parent = "Id" - 5 WHERE "Id" > 10;
  INSERT INTO child SELECT "Id", 'child' FROM "Order" WHERE "Id" % 10 = 0;
`;

Deno.test("executeRecreation() keeps all that a table has", options, async () => {
  await withDatabase(async ({ db, script, rows }) => {
    await script(EVERYTHING);
    await script("RESET search_path");
    const name = `"Strange ""Schema"."Order"`;
    const statement =
      `ALTER TABLE ${name} ALTER price TYPE numeric(9,2) USING price::numeric + 1, ALTER "Id" TYPE bigint, ` +
      `DROP CONSTRAINT loose, DROP COLUMN "drop ""me""", ADD COLUMN note text NOT NULL DEFAULT 'none'::text, ` +
      `ADD CONSTRAINT loose CHECK ((price <> (0)::numeric)) NOT VALID`;
    const current = await introspectTable(db, name);
    const desired = applyAlterToSchema(current, statement);
    const before = await rows(
      `SELECT "Id"::text AS id, "select", author, parent::int, (price::numeric + 1)::text AS price, feeling::text, tags::text, size, number FROM ${name} ORDER BY "Id"`,
    );
    const result = await recreate(db, name, statement, { batchRows: 50 });
    assertEquals(result.rows, 120);
    assertEquals(
      await rows(
        `SELECT "Id"::text AS id, "select", author, parent::int, price::text, feeling::text, tags::text, size, number FROM ${name} ORDER BY "Id"`,
      ),
      before.map((row) => ({ ...row, price: `${row.price}.00` })),
    );
    assertEquals(comparable(await introspectTable(db, name)), comparable(desired));
    assertEquals(await rows(LEFTOVERS), []);
    // identity and serial go on where they were, and behind what other sessions have taken from the cache
    const [next] = await rows(
      `INSERT INTO ${name} ("select", price) VALUES ('next', 1) RETURNING "Id"::int AS id, number, note`,
    );
    assert(Number(next.id) > 600 && Number(next.id) % 5 === 0, String(next.id));
    assertEquals([next.number, next.note], [121, "none"]);
    await script(
      `SET search_path = "Strange ""Schema"; DELETE FROM "Order" WHERE parent IS NULL AND "Id" < 0`,
    );
  });
});

interface KeyCase {
  title: string;
  ddl: string;
  value: string;
  alter?: string;
  key?: string[];
}

const ROWS = 60;

const KEY_CASES: KeyCase[] = [
  { title: "integer", ddl: "k int PRIMARY KEY", value: "i - 30" },
  { title: "uuid", ddl: "k uuid PRIMARY KEY", value: "md5(i::text)::uuid" },
  {
    title: "odd texts",
    ddl: "k text PRIMARY KEY",
    value: `chr(30 + i) || '''\\"' || chr(8364 + i) || i`,
  },
  { title: "the empty text among texts", ddl: "k text PRIMARY KEY", value: "repeat('a', i - 1)" },
  { title: "padded texts", ddl: "k char(5) PRIMARY KEY", value: "i::text" },
  {
    title: "timestamps with microseconds",
    ddl: "k timestamptz PRIMARY KEY",
    value: "'2026-01-01 UTC'::timestamptz + i * interval '1 us'",
  },
  { title: "numerics", ddl: "k numeric PRIMARY KEY", value: "i / 7.0" },
  { title: "floats", ddl: "k float8 PRIMARY KEY", value: "sqrt(i)" },
  { title: "bytes", ddl: "k bytea PRIMARY KEY", value: "decode(md5(i::text), 'hex')" },
  { title: "dates", ddl: "k date PRIMARY KEY", value: "'2026-01-01'::date + i" },
  { title: "several columns", ddl: "a text, k int, PRIMARY KEY (a, k)", value: "i % 3, i" },
  {
    title: "columns named like aliases",
    ddl: "trellis_number int, k0 text, k int, PRIMARY KEY (k, k0)",
    value: "1, 'x', i",
  },
  { title: "a unique index", ddl: "k int NOT NULL, UNIQUE (k)", value: "i" },
  { title: "no key, few rows", ddl: "k int", value: "i % 5" },
  {
    title: "no columns of the key but those to come",
    ddl: "k int",
    value: "i",
    alter: "ADD PRIMARY KEY (k)",
  },
  {
    title: "a key whose type and order change",
    ddl: "k text PRIMARY KEY",
    value: "i::text",
    alter: "ALTER k TYPE int USING k::int",
  },
  {
    title: "a key that gets another column",
    ddl: "a int, k int PRIMARY KEY",
    value: "i % 4, i",
    alter: "DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (a, k)",
  },
  {
    title: "a key that goes",
    ddl: "k int PRIMARY KEY",
    value: "i",
    alter: "DROP CONSTRAINT t_pkey",
  },
  {
    title: "a key column that is dropped",
    ddl: "k int PRIMARY KEY, b int NOT NULL",
    value: "i, i * 2",
    alter: "DROP COLUMN k, ADD PRIMARY KEY (b)",
  },
];

for (const { title, ddl, value, alter } of KEY_CASES) {
  Deno.test(`executeRecreation() copies along ${title}`, options, async () => {
    await withDatabase(async ({ db, script, rows }) => {
      await script(
        `CREATE TABLE t (${ddl}, body text); INSERT INTO t SELECT ${value}, 'row ' || i FROM generate_series(1, ${ROWS}) AS i`,
      );
      const before = await rows("SELECT body FROM t ORDER BY body");
      const result = await recreate(
        db,
        "t",
        `ALTER TABLE t ${alter ?? "ALTER body TYPE varchar(99)"}`,
        {
          batchRows: 7,
        },
      );
      assertEquals(result.rows, ROWS);
      assertEquals(await rows("SELECT body::text FROM t ORDER BY body"), before);
      assertEquals(await rows(LEFTOVERS), []);
    });
  });
}

interface RefusalCase {
  title: string;
  setup: string;
  alter: string;
  reason: RecreationFailure;
  says: RegExp;
}

const REFUSALS: RefusalCase[] = [
  {
    title: "a view reads it",
    setup: `CREATE VIEW "the ""view" AS SELECT * FROM t`,
    alter: "ALTER k TYPE bigint",
    reason: "blocked",
    says: /view public\."the ""view"/,
  },
  {
    title: "a materialized view reads it",
    setup: "CREATE MATERIALIZED VIEW m AS SELECT k FROM t",
    alter: "ALTER k TYPE bigint",
    reason: "blocked",
    says: /materialized view public\.m/,
  },
  {
    title: "it has a trigger",
    setup:
      "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; CREATE TRIGGER touch BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f()",
    alter: "ALTER k TYPE bigint",
    reason: "blocked",
    says: /trigger touch/,
  },
  {
    title: "it has a policy",
    setup: "ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON t USING (true)",
    alter: "ALTER k TYPE bigint",
    reason: "blocked",
    says: /policy own.*row level security/,
  },
  {
    title: "it is published",
    setup: "CREATE PUBLICATION p FOR TABLE t",
    alter: "ALTER k TYPE bigint",
    reason: "blocked",
    says: /publication/,
  },
  {
    title: "it has statistics",
    setup: "CREATE STATISTICS s ON k, body FROM t",
    alter: "ALTER k TYPE bigint",
    reason: "blocked",
    says: /statistics object s/,
  },
  {
    title: "it has heirs",
    setup: "CREATE TABLE heir () INHERITS (t)",
    alter: "ALTER k TYPE bigint",
    reason: "blocked",
    says: /inheritance with heir/,
  },
  {
    title: "a column elsewhere has its row type",
    setup: "CREATE TABLE other (whole t)",
    alter: "ALTER k TYPE bigint",
    reason: "blocked",
    says: /column whole of table other/,
  },
  {
    title: "a function returns its rows",
    setup: "CREATE FUNCTION g() RETURNS SETOF t LANGUAGE sql AS 'SELECT * FROM t'",
    alter: "ALTER k TYPE bigint",
    reason: "blocked",
    says: /function g\(\)/,
  },
  {
    title: "a foreign key would not fit any more",
    setup: "CREATE TABLE child (k int REFERENCES t)",
    alter: "ALTER k TYPE text",
    reason: "blocked",
    says: /child_k_fkey of child references k, whose type changes from integer to text/,
  },
  {
    title: "a foreign key would lose its key",
    setup: "CREATE TABLE child (k int REFERENCES t)",
    alter: "DROP CONSTRAINT t_pkey",
    reason: "blocked",
    says: /child_k_fkey of child references \(k\), which would no longer be a key/,
  },
  {
    title: "NOT NULL meets NULL",
    setup: "INSERT INTO t VALUES (99, NULL)",
    alter: "ALTER body SET NOT NULL",
    reason: "failed",
    says: /could not copy the rows \(SQLSTATE 23502: .*"body".*The table is unchanged/,
  },
  {
    title: "a value does not convert",
    setup: "INSERT INTO t VALUES (99, 'a secret')",
    alter: "ALTER body TYPE int USING body::int",
    reason: "failed",
    says: /SQLSTATE 22P02: (?!.*secret)/,
  },
  {
    title: "a type needs USING",
    setup: "",
    alter: "ALTER body TYPE int",
    reason: "failed",
    says: /SQLSTATE 42804/,
  },
  {
    title: "a key is to be made of duplicates",
    setup: "INSERT INTO t VALUES (99, 'row 1')",
    alter: "DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (body)",
    reason: "failed",
    says: /SQLSTATE 23505: (?!.*row 1)/,
  },
  {
    title: "a foreign key is broken",
    setup: "CREATE TABLE p (id int PRIMARY KEY)",
    alter: "ADD FOREIGN KEY (k) REFERENCES p (id)",
    reason: "failed",
    says: /validate t_k_fkey \(SQLSTATE 23503/,
  },
  {
    title: "a foreign key references it and values differ each time",
    setup: "CREATE TABLE child (k int REFERENCES t); INSERT INTO child VALUES (1)",
    alter: "ALTER body TYPE uuid USING gen_random_uuid()",
    reason: "rows_changed",
    says: /The table is unchanged/,
  },
  {
    title: "values differ each time they are made",
    setup: "",
    alter: "ALTER body TYPE uuid USING gen_random_uuid()",
    reason: "rows_changed",
    says: /The table is unchanged/,
  },
];

for (const { title, setup, alter, reason, says } of REFUSALS) {
  Deno.test(
    `executeRecreation() refuses and leaves the table as it was when ${title}`,
    options,
    async () => {
      await withDatabase(async ({ db, script, rows }) => {
        await script(
          `CREATE TABLE t (k int PRIMARY KEY, body text); INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 20) AS i; ${setup}`,
        );
        const before = [await introspectTable(db, "t"), await rows("SELECT * FROM t ORDER BY k")];
        const error = await assertRejects(
          () => recreate(db, "t", `ALTER TABLE t ${alter}`, { batchRows: 9 }),
          RecreationError,
        );
        assertEquals([error.code, error.reason, error.table], ["MIGRATION", reason, "t"]);
        assert(says.test(error.message), error.message);
        assertEquals(
          [await introspectTable(db, "t"), await rows("SELECT * FROM t ORDER BY k")],
          before,
        );
        assertEquals(await rows(LEFTOVERS), []);
      });
    },
  );
}

const SMALL =
  "CREATE TABLE t (k int PRIMARY KEY, body text); INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 100) AS i";
const CHANGE = "ALTER TABLE t ALTER k TYPE bigint";

Deno.test(
  "introspectTable() gives the table as it was while a recreation has not ended",
  options,
  async () => {
    await withDatabase(async ({ db, script, rows }) => {
      await script(SMALL);
      const plan = await planFor(db, "t", CHANGE);
      for (
        const sign of [
          'RENAME TO "t__trellis_old"',
          'RENAME TO "t"',
          "DROP TABLE",
          "RENAME CONSTRAINT",
        ]
      ) {
        const watched = watch(db, (text) => {
          if (text.includes(sign)) throw Object.assign(new Error("stopped"), { code: "57014" });
        });
        await assertRejects(() => executeRecreation(watched, plan));
        assertEquals(await introspectTable(db, "t"), plan.current, sign);
        assertEquals((await planFor(db, "t", CHANGE)).steps, plan.steps);
      }
      const other = await planFor(db, "t", "ALTER TABLE t ALTER body SET NOT NULL");
      const error = await assertRejects(() => executeRecreation(db, other), RecreationError);
      assertEquals(error.reason, "unfinished");
      const result = await executeRecreation(db, JSON.parse(JSON.stringify(plan)));
      assertEquals([result.rows, result.resumed], [100, true]);
      assertEquals(await rows(LEFTOVERS), []);
      // once more: nothing is left to do, from the plan and from the beginning
      assertEquals((await executeRecreation(db, plan)).rows, 0);
      assertEquals((await planFor(db, "t", CHANGE)).steps, []);
    });
  },
);

Deno.test(
  "executeRecreation() refuses a plan for a table that changed since",
  options,
  async () => {
    await withDatabase(async ({ db, script, rows }) => {
      await script(SMALL);
      const plan = await planFor(db, "t", CHANGE);
      await script("CREATE INDEX late ON t (body)");
      let error = await assertRejects(() => executeRecreation(db, plan), RecreationError);
      assertEquals(error.reason, "schema_changed");
      assertStringIncludes(error.message, "indexes");
      await script(`DROP TABLE t; ${SMALL}`);
      error = await assertRejects(() => executeRecreation(db, plan), RecreationError);
      assertEquals(error.reason, "schema_changed");
      assertEquals(await rows("SELECT count(*)::int AS rows FROM t"), [{ rows: 100 }]);
    });
  },
);

/** Moments between the two changes of names. */
const NAMELESS = ['"t__trellis_old" AS', 'RENAME TO "t"'];

for (const moment of NAMELESS) {
  Deno.test(
    `executeRecreation() stops when something else takes the name before ${moment}`,
    options,
    async () => {
      await withDatabase(async ({ db, script, rows }, url) => {
        await script(`${SMALL}; CREATE TABLE child (k int REFERENCES t)`);
        const other = await openClient(url);
        const plan = await planFor(db, "t", CHANGE);
        const watched = watch(db, async (text) => {
          if (text.includes(moment)) {
            await other.script("CREATE TABLE IF NOT EXISTS t (nothing int)");
          }
        });
        const error = await assertRejects(() => executeRecreation(watched, plan), RecreationError);
        assertStringIncludes(error.message, "Another relation has taken the name");
        assertEquals(
          (await assertRejects(() => executeRecreation(db, plan), RecreationError)).reason,
          "unfinished",
        );
        await other.script("DROP TABLE t");
        await other.close();
        await executeRecreation(db, plan);
        assertEquals(await rows("SELECT count(*)::int AS rows FROM t"), [{ rows: 100 }]);
        assertEquals(await rows(LEFTOVERS), []);
      });
    },
  );
}

Deno.test(
  "executeRecreation() gives the name back when it cannot finish without it",
  options,
  async () => {
    await withDatabase(async ({ db, script, rows }, url) => {
      await script(
        `${SMALL}; CREATE TABLE a (k int REFERENCES t); CREATE TABLE b (k int REFERENCES t)`,
      );
      const other = await openClient(url);
      const watched = watch(db, async (text) => {
        if (text.includes('RENAME TO "t__trellis_old"')) await other.script("DROP TABLE b");
      });
      const error = await assertRejects(() => recreate(watched, "t", CHANGE), RecreationError);
      assertStringIncludes(
        error.message,
        "could not let b_k_fkey of b also reference the new table (SQLSTATE 42P01",
      );
      assertStringIncludes(error.message, "The table is unchanged");
      assertEquals(await rows(LEFTOVERS), []);
      assertEquals(
        await rows(
          "SELECT conname::text AS name FROM pg_constraint WHERE confrelid = 't'::regclass",
        ),
        [{ name: "a_k_fkey" }],
      );
      await other.close();
      assertEquals((await recreate(db, "t", CHANGE)).rows, 100);
    });
  },
);

const OPTION_CASES = [
  [{ batchRows: 0 }, "batchRows"],
  [{ batchRows: 3001 }, "3000, got 3001"],
  [{ batchBytes: 11 * 1024 * 1024 }, "batchBytes"],
  [{ jobTimeoutSeconds: NaN }, "jobTimeoutSeconds"],
] as const;

Deno.test(
  "executeRecreation() refuses options that the provider would not take",
  options,
  async () => {
    await withDatabase(async ({ db, script }) => {
      await script(SMALL);
      const plan = await planFor(db, "t", CHANGE);
      for (const [option, says] of OPTION_CASES) {
        const error = await assertRejects(() => executeRecreation(db, plan, undefined, option));
        assertStringIncludes((error as Error).message, says);
      }
    });
  },
);

Deno.test.afterAll(async () => {
  await stopServer();
});
