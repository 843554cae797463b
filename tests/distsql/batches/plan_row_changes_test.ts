import { assertEquals, assertStringIncludes } from "@std/assert";
import { splitStatements } from "../../../sql/statement.ts";
import { translateStatements } from "../../../distsql/translate/translate_text.ts";
import {
  type PlannedStatement,
  planRowChanges,
} from "../../../distsql/batches/plan_row_changes.ts";
import { foldStatement } from "../../../distsql/schema/fold_statement.ts";
import { StatementReader } from "../../../sql/statement_reader.ts";
import { declare } from "./declared_scope.ts";
import { withMigrationLab } from "../../database/migrations/migration_support.ts";

const SETUP = [
  "CREATE TABLE big (id int PRIMARY KEY, a int, k int)",
  "INSERT INTO big SELECT n, n, n / 2 FROM generate_series(1, 3000) AS n",
  "CREATE TABLE small (id int PRIMARY KEY, a int, up int REFERENCES small ON DELETE SET NULL)",
  "INSERT INTO small SELECT n, n, nullif(n - 1, 0) FROM generate_series(1, 2000) AS n",
  "CREATE TABLE bare (a int)",
  "INSERT INTO bare SELECT n FROM generate_series(1, 3000) AS n",
  "CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree ON DELETE CASCADE)",
  "INSERT INTO tree SELECT n, nullif(n / 2, 0) FROM generate_series(1, 3500) AS n",
  "CREATE TABLE parents (id int PRIMARY KEY, n int)",
  "INSERT INTO parents SELECT n, n FROM generate_series(1, 3500) AS n",
  "CREATE TABLE children (id int PRIMARY KEY, pid int REFERENCES parents ON DELETE CASCADE)",
  "INSERT INTO children SELECT n, n % 10 + 1 FROM generate_series(1, 3500) AS n",
  "CREATE TABLE loop (id int PRIMARY KEY, up int REFERENCES loop ON DELETE SET NULL)",
  "INSERT INTO loop SELECT n, nullif(n - 1, 0) FROM generate_series(1, 3500) AS n",
  "CREATE VIEW over_small AS SELECT * FROM small",
];

const DECLARED = declare(SETUP.join(";"));

/** The statements of a text, with what is declared before each. */
function toStatements(text: string, before = DECLARED): PlannedStatement[] {
  let schema = before;
  return splitStatements(text).map(({ text, tokens }) => {
    const statement = { sql: text, before: schema };
    schema = foldStatement(schema, new StatementReader(tokens));
    return statement;
  });
}

/** The refused statements, each as its place and the reason. */
async function plan(...texts: string[]): Promise<string[][]> {
  const found: string[][] = [];
  await withMigrationLab({ setup: SETUP }, async ({ rows }) => {
    for (const text of texts) {
      const refusals = await planRowChanges(toStatements(text), rows);
      found.push(
        refusals.map(({ index, summary }) => `${index}: ${/because (.*)$/.exec(summary)?.[1]}`),
      );
    }
  });
  return found;
}

Deno.test("planRowChanges() refuses what neither fits a transaction nor can be cut, with the table and the advice", async () => {
  await withMigrationLab({ setup: SETUP }, async ({ rows }) => {
    const statements = toStatements(
      "UPDATE big SET a = 1; UPDATE public.big SET a = a * 100 / (SELECT sum(a) FROM big); " +
        "DELETE FROM tree WHERE id > 1",
    );
    const refusals = await planRowChanges(statements, rows);
    assertEquals(refusals.map(({ index }) => index), [1, 2]);
    const [{ table, summary, advice }] = refusals;
    assertEquals(table, "public.big");
    assertEquals(
      summary,
      "UPDATE public.big: not supported: an UPDATE or DELETE of 3,000 rows or more that cannot be split into batches, " +
        "because it has a subquery",
    );
    assertStringIncludes(
      advice,
      "Write the new values into a helper table with a primary key first",
    );
  });
});

Deno.test("planRowChanges() lets pass what fits a transaction by the rows of its table or of its condition", async () => {
  const fitting = [
    "UPDATE small SET a = a * 100 / (SELECT sum(a) FROM small)",
    "UPDATE small SET id = id + 5000",
    "UPDATE over_small SET a = 1",
    "UPDATE big SET a = (SELECT max(a) FROM big) WHERE id < 3000",
    "UPDATE big SET id = -id WHERE id < 10",
    "UPDATE big AS b SET a = o.a FROM big AS o, (VALUES (1), (2)) AS twice WHERE o.id = b.k AND b.id < 3000",
    "DELETE FROM big WHERE NOT EXISTS (SELECT FROM big AS o WHERE o.k = big.id) AND id < 3000",
    "DELETE FROM small WHERE up IS NULL",
    "DELETE FROM parents WHERE id > 10 AND id NOT IN (SELECT pid FROM children) AND id < 3000",
    "WITH gone AS (DELETE FROM small WHERE id < 9 RETURNING id) SELECT id FROM gone",
    "UPDATE bare SET a = 1 WHERE a < 3000",
    "UPDATE bare SET a = 1 WHERE a IS NULL",
    "UPDATE nowhere SET a = (SELECT 1)",
    "SELECT 1",
  ];
  assertEquals(await plan(...fitting), fitting.map(() => []));
});

Deno.test("planRowChanges() counts what foreign keys change too", async () => {
  assertEquals(
    await plan(
      "DELETE FROM parents WHERE id < 8 AND NOT EXISTS (SELECT FROM children WHERE pid < 0)", // with 2,450 children
      "DELETE FROM parents WHERE id < 10 AND NOT EXISTS (SELECT FROM children WHERE pid < 0)", // with 3,150
      "DELETE FROM tree WHERE id = 3500",
      "WITH gone AS (DELETE FROM small RETURNING id) INSERT INTO bare SELECT id FROM gone", // 2,000 of each
    ),
    [
      [],
      ["0: a foreign key of children references parents, so a later batch could fail or change further rows"],
      ["0: a foreign key of tree references tree, so a later batch could fail or change further rows"],
      ["0: it has a WITH clause"],
    ],
  );
});

Deno.test("planRowChanges() refuses a large DELETE from a table that another one references", async () => {
  const setup = [
    "CREATE TABLE owners (id int PRIMARY KEY)",
    "CREATE TABLE notes (id int, owner int REFERENCES owners)",
    "INSERT INTO owners SELECT n FROM generate_series(1, 3100) AS n",
  ];
  await withMigrationLab({ setup }, async ({ rows }) => {
    const find = async (text: string): Promise<string[]> =>
      (await planRowChanges(toStatements(text, declare(setup.join(";"))), rows))
        .map(({ summary }) => summary);
    const [refusal] = await find("DELETE FROM owners");
    assertStringIncludes(refusal, "a foreign key of notes references owners");
    assertEquals(await find("DELETE FROM owners WHERE id > 300"), []); // in one transaction
    assertEquals(await find("DROP TABLE notes; DELETE FROM owners"), []);
  });
});

Deno.test("planRowChanges() follows what earlier statements declare", async () => {
  const self = "because it reads";
  const refused = [
    "CREATE VIEW late AS SELECT id, a FROM big; UPDATE big SET a = (SELECT max(a) FROM late)",
    "ALTER TABLE big RENAME TO large; UPDATE large SET a = (SELECT max(a) FROM large)",
    "ALTER TABLE small RENAME TO old; ALTER TABLE big RENAME TO small; UPDATE small SET id = id + 1 WHERE id < 5000",
    "CREATE FUNCTION top() RETURNS int LANGUAGE sql AS 'SELECT max(a) FROM big'; UPDATE big SET a = top()",
    "CREATE UNIQUE INDEX ASYNC ON big (a); UPDATE big SET a = a + 1",
    "UPDATE big SET a = 0; UPDATE big SET a = (SELECT count(*) FROM big) WHERE a = 1",
  ];
  for (const [place, found] of (await plan(...refused)).entries()) {
    assertEquals(found.length, 1, `${refused[place]} ${self}`);
  }
});

Deno.test("planRowChanges() counts by a condition that earlier statements leave alone", async () => {
  const fitting = [
    "UPDATE big SET id = id + 9000 WHERE a <= 1500; UPDATE big SET id = id + 9000 WHERE a > 1500",
    "UPDATE big SET a = a + (SELECT max(a) FROM big) WHERE id < 99; UPDATE big SET a = (SELECT max(k) FROM big) WHERE id > 99",
    "INSERT INTO big (id) VALUES (9001), (9002); UPDATE big SET id = -id WHERE id < 2000",
    "ALTER TABLE big ADD COLUMN b int; UPDATE big SET b = (SELECT max(a) FROM big) WHERE id < 2000",
    "ALTER TABLE loop DROP CONSTRAINT loop_up_fkey; DELETE FROM loop WHERE up IS NOT NULL",
    "CREATE UNIQUE INDEX big_a ON big (a); DROP INDEX big_a; UPDATE big SET a = a + 1",
    "DELETE FROM loop WHERE id < 1400; DELETE FROM loop WHERE id >= 1400 AND id < 2600",
  ];
  const refused = [
    "UPDATE big SET id = id - 4000 WHERE id > 2500; UPDATE big SET a = (SELECT max(a) FROM big) WHERE id < 2000",
    "UPDATE big SET a = 0; UPDATE big SET id = -id WHERE NOT EXISTS (SELECT FROM big AS o WHERE o.a = big.k)",
    "INSERT INTO big SELECT n + 9000 FROM generate_series(1, 1500) AS n; UPDATE big SET id = -id WHERE id < 2000",
    "DELETE FROM big WHERE id < 9; UPDATE big SET id = -id WHERE NOT EXISTS (SELECT FROM big AS o WHERE o.id = 5)",
    "UPDATE over_small SET a = 1; UPDATE big SET id = -id WHERE id IN (SELECT a FROM small)",
    "ALTER TABLE big RENAME COLUMN a TO b; UPDATE big SET id = -id WHERE b < 2000",
    "WITH gone AS (DELETE FROM small RETURNING id) UPDATE big SET k = 1 FROM gone WHERE gone.id = big.id AND big.id < 9",
    "UPDATE loop SET up = NULL WHERE id > 3; DELETE FROM loop WHERE id < 2000",
  ];
  assertEquals(await plan(...fitting), fitting.map(() => []));
  for (const [place, found] of (await plan(...refused)).entries()) {
    assertEquals(found.length, 1, refused[place]);
  }
});

Deno.test("planRowChanges() adds up the rows that earlier statements may insert", async () => {
  const create =
    "CREATE TABLE fresh (id int PRIMARY KEY, a int); CREATE TABLE source (id int PRIMARY KEY, a int); ";
  const update = "; UPDATE fresh SET a = (SELECT max(a) FROM fresh)";
  const reason = "it has a subquery";
  const series = (from: number, to: number): string =>
    `INSERT INTO fresh SELECT n, n FROM generate_series(${from}, ${to}) AS n`;
  assertEquals(
    await plan(
      create + "INSERT INTO fresh (id) VALUES (1), (2), (3)" + update,
      create + series(1, 2999) + update, // a statement cannot insert more
      `${create}${series(1, 2000)}; ${series(2001, 4000)}${update}`,
      `${create}${series(1, 2000)}; DELETE FROM fresh; ${series(1, 2000)}${update}`,
      `${create}${series(1, 2999)}; INSERT INTO fresh SELECT id, a FROM small${update}`,
      `${create}${series(1, 2999)}; INSERT INTO fresh DEFAULT VALUES${update}`,
      `INSERT INTO small (id) VALUES (5000); UPDATE small SET a = (SELECT max(a) FROM small)`,
      `INSERT INTO small (id) SELECT n + 9000 FROM generate_series(1, 1000) AS n; UPDATE small SET id = id + 1`,
    ),
    [
      ...[[], [], [`4: ${reason}`], []],
      ...[[`4: ${reason}`], [`4: ${reason}`], []],
      [
        "1: it changes the primary key of small",
      ],
    ],
  );
});

Deno.test("planRowChanges() refuses to fill a column of a large table that nothing orders", async () => {
  const fill =
    "ALTER TABLE bare ADD COLUMN c int; ALTER TABLE bare ALTER COLUMN c SET DEFAULT 1; UPDATE bare SET c = 1 WHERE c IS NULL";
  await withMigrationLab({ setup: SETUP }, async ({ rows }) => {
    const statements = toStatements(fill);
    const [refusal] = await planRowChanges(statements, rows);
    assertStringIncludes(
      refusal.summary,
      "bare has no primary key and no unique index over NOT NULL columns",
    );
    await rows("DELETE FROM bare WHERE a = 1"); // 2,999 are left
    assertEquals(await planRowChanges(statements, rows), []);
  });
});

Deno.test("planRowChanges() passes over statements that have nothing to do", async () => {
  const declared = declare(SETUP[0]);
  const plan = (text: string): PlannedStatement[] =>
    translateStatements(text, { declared }).statements.flatMap(({ steps, before }) =>
      steps.map((step) => ({ ...step, before }))
    );
  const add = (table: string, column: string): string =>
    `ALTER TABLE IF EXISTS ${table} ADD COLUMN IF NOT EXISTS ${column} int DEFAULT own();`;
  const setup = [...SETUP, "CREATE FUNCTION own() RETURNS int LANGUAGE sql AS 'SELECT 1'"];
  await withMigrationLab({ setup }, async ({ rows }) => {
    const count = async (text: string): Promise<number> =>
      (await planRowChanges(plan(text), rows)).length;
    assertEquals(await count(add("nowhere", "a")), 0);
    assertEquals(await count(add("big", "a")), 0);
    assertEquals(await count(add("big", "a") + add("big", "b") + add("big", "b")), 1);
    assertEquals(await count(`ALTER TABLE big DROP COLUMN a;${add("big", "a")}`), 1);
  });
});

Deno.test("planRowChanges() takes the three ways out of a refusal that the guide shows", async () => {
  const guide = Deno.readTextFileSync(
    new URL("../../../docs/guides/migrations.md", import.meta.url),
  );
  const [, examples] = /ways out of a refusal:\n\n```sql\n([\s\S]*?)```/.exec(guide)!;
  const setup = [
    "CREATE TABLE t (id int PRIMARY KEY, a int, code int, CONSTRAINT t_code_key UNIQUE (code))",
    "INSERT INTO t SELECT n, n, n FROM generate_series(1, 5000) AS n",
  ];
  await withMigrationLab({ setup }, async ({ rows }) => {
    const ways = examples.split(/^-- \d\. .*$/m).slice(1);
    assertEquals(ways.length, 3);
    for (const way of ways) {
      assertEquals(
        await planRowChanges(toStatements(way, declare(setup[0])), rows),
        [],
        way,
      );
    }
    const refused = [
      "UPDATE t SET a = a * 100 / (SELECT sum(a) FROM t)",
      "UPDATE t SET code = code + 1",
    ];
    for (const sql of refused) {
      assertEquals((await planRowChanges(toStatements(sql), rows)).length, 1);
    }
  });
});

Deno.test("planRowChanges() adds up what the migrations themselves insert into an empty database", async () => {
  const refusals = async (text: string): Promise<number[]> =>
    (await planRowChanges(toStatements(text))).map(({ index }) => index);
  const create = "CREATE TABLE t (id int PRIMARY KEY, a int);";
  const fill = "INSERT INTO t SELECT n, n FROM generate_series(1, 2000) AS n;";
  const update = "UPDATE t SET a = (SELECT max(a) FROM t);";
  assertEquals(await refusals(create + fill + update), []);
  assertEquals(await refusals(create + fill + fill + update), [3]);
  assertEquals(await refusals(create + fill + fill + "UPDATE t SET a = a + 1;"), []);
  assertEquals(await refusals(update), []); // of a table that is not among the migrations nothing is known
});

Deno.test("planRowChanges() asks nothing of the database when no rows change", async () => {
  const refusals = await planRowChanges(
    toStatements("CREATE TABLE a (id int); INSERT INTO a VALUES (1)"),
    () => {
      throw new Error("asked");
    },
  );
  assertEquals(refusals, []);
});
