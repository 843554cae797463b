/** The order of enums that are text: queries on texts beside the same queries on enums, on PostgreSQL. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import postgres from "postgres";
import { translateForDistSql } from "../../../distsql/translate/sanitize.ts";
import { startPostgres } from "../../support/postgres.ts";
import { RandomQueries, TABLES } from "./random_queries.ts";
import { createRandom, type Random } from "../../support/random.ts";
import { testSeed } from "../../support/seed.ts";

const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const QUERIES = isFull ? 20_000 : 250;
const seed = testSeed;

const LABELS = ["low", "medium", "high", "a", "B", "it's", "ä", "z z", "日本"];
const ORDERED =
  "CREATE TYPE st AS ENUM ('low', 'medium', 'high'); CREATE TABLE t (id int PRIMARY KEY, s st, n int, late boolean);";
/** Statements about an enum whose order they do not use. */
const SAFE = [
  "SELECT * FROM t WHERE s::text > 'low' AND n > 1",
  "SELECT * FROM t WHERE s = 'low' AND n BETWEEN 1 AND 3 ORDER BY n, id DESC",
  "DELETE FROM t WHERE s IN ('low', 'high') AND id < 9",
  "DELETE FROM t WHERE s <> 'low' AND length(s::text) < n",
  "UPDATE t SET n = n + 1 WHERE s IS DISTINCT FROM 'low' AND (SELECT count(*) FROM t) > n",
  "UPDATE t SET n = (SELECT max(n) FROM t) WHERE id > 0",
  "SELECT s FROM t ORDER BY array_position(ARRAY['low', 'medium', 'high'], s::text)",
  "SELECT s, count(*) AS c FROM t GROUP BY s HAVING count(*) > 2",
  "DELETE FROM t WHERE id IN (SELECT id FROM t ORDER BY (s = 'low') DESC, s IS NULL, NOT (s IN ('low')), n LIMIT 2)",
];

for (const sql of SAFE) {
  Deno.test(`translateForDistSql() takes ${sql}`, () => {
    const { declared } = translateForDistSql(ORDERED, { enums: "check" });
    const { statements, warnings, refusals } = translateForDistSql(sql, {
      enums: "check",
      declared,
    });
    assertEquals([statements.map((statement) => statement.sql), warnings, refusals], [
      [sql],
      [],
      [],
    ]);
  });
}

Deno.test("translateForDistSql() does not take numbers for enums when a window is sorted by one", () => {
  const { declared } = translateForDistSql(ORDERED, { enums: "check" });
  const sql =
    "DELETE FROM t WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY n ORDER BY " +
    "CASE s WHEN 'high' THEN 0 WHEN 'low' THEN 1 END, id) AS rn FROM t) ranked WHERE rn > 1 AND 2 <= rn)";
  const { statements, refusals, warnings } = translateForDistSql(sql, { enums: "check", declared });
  assertEquals([statements.map((statement) => statement.sql), refusals, warnings], [[sql], [], []]);
});

const WARNED = [
  "SELECT * FROM t WHERE s > 'low'",
  "SELECT * FROM t ORDER BY s DESC, id",
  "SELECT max(s) FROM t",
  "SELECT DISTINCT s FROM t ORDER BY s",
  "SELECT s FROM t ORDER BY 1",
  "SELECT x FROM (SELECT s AS x FROM t) d WHERE x > 'low'",
  "SELECT * FROM t WHERE (s, n) > ('low', 1)",
  "SELECT s FROM t UNION SELECT s FROM t ORDER BY s",
  "SELECT mode() WITHIN GROUP (ORDER BY s) FROM t",
];

for (const sql of WARNED) {
  Deno.test(`translateForDistSql() warns that texts are ordered otherwise in ${sql}`, () => {
    const { declared } = translateForDistSql(ORDERED, { enums: "check" });
    const { warnings } = translateForDistSql(sql, { enums: "check", declared });
    const [message] = warnings.filter(({ id }) => id === "type-enum-order").map((warning) =>
      warning.message
    );
    assertStringIncludes(message, "the enum st is ordered by position");
  });
}

const REFUSED = [
  "UPDATE t SET late = s > 'low'",
  "UPDATE t SET late = CASE WHEN n > 1 THEN s ELSE 'high' END < 'low'",
  "DELETE FROM t WHERE 'medium' >= t.s",
  "UPDATE t SET n = 1 WHERE s NOT BETWEEN 'low' AND 'medium'",
  "UPDATE t SET n = 1 WHERE coalesce(s, 'low') < (CASE WHEN n > 1 THEN s ELSE 'high' END)",
  "INSERT INTO t SELECT id + 9, max(s), 1 FROM t GROUP BY id",
  "DELETE FROM t WHERE id IN (SELECT id FROM t ORDER BY s LIMIT 2)",
  "DELETE FROM t WHERE id IN (SELECT id FROM t ORDER BY (s, s = 'low') LIMIT 2)",
  "DELETE FROM t WHERE id IN (SELECT id FROM t ORDER BY (SELECT s FROM t u WHERE u.id = t.id) LIMIT 2)",
  "DELETE FROM t WHERE id IN (SELECT id FROM t ORDER BY (CASE WHEN n = 1 THEN s ELSE 'high' END) LIMIT 2)",
  "DELETE FROM t WHERE id IN (SELECT id FROM t ORDER BY coalesce(s, 'low') LIMIT 2)",
  "WITH d (a, b) AS (SELECT id, s FROM t) DELETE FROM t USING d WHERE d.b > 'low'",
  "INSERT INTO t SELECT id + 9, b, n FROM (SELECT id, s b, n FROM t) d WHERE b > 'low'",
  "INSERT INTO t SELECT id + 9, n, 1 FROM (SELECT id, s n FROM t) d WHERE n > 'low'",
  "DELETE FROM t AS q(a, b, c) WHERE b > 'low'",
  "CREATE VIEW v AS SELECT * FROM t WHERE s > 'low'",
  "CREATE TABLE u (id int PRIMARY KEY, s st, late boolean GENERATED ALWAYS AS (s > 'low') STORED)",
  "DELETE FROM t WHERE (s, n) > ('low', 1)",
  "UPDATE t SET n = 1 WHERE s > ANY (ARRAY['low', 'medium']::st[])",
  "INSERT INTO t SELECT id, x, n FROM (SELECT id + 9 AS id, s AS x, n FROM t) d WHERE x > 'low'",
  "WITH d AS (DELETE FROM t WHERE (s, n) > ('low', 1) RETURNING id) SELECT * FROM d",
  "ALTER TABLE t ADD CHECK ((s, n) > ('low', 1))",
  "CREATE INDEX i ON t (n) WHERE (s, n) > ('low', 1)",
];

for (const sql of REFUSED) {
  Deno.test(`translateForDistSql() refuses to decide rows by the order of texts in ${sql}`, () => {
    const { declared } = translateForDistSql(ORDERED, { enums: "check" });
    const { refusals } = translateForDistSql(sql, { enums: "check", declared });
    assertEquals([...new Set(refusals.map(({ id }) => id))], ["type-enum-unproven"]);
  });
}

const WRONG = [
  "SELECT * FROM t WHERE s = 'none'",
  "SELECT * FROM t WHERE s <> 'none'",
  "DELETE FROM t WHERE s IN ('low', 'none')",
  "UPDATE t SET s = 'none'",
  "INSERT INTO t VALUES (1, 'low', 2), (2, 'none', 3)",
  "INSERT INTO t (s, id) VALUES ('none', 3)",
  "SELECT * FROM t WHERE s > 'none'",
  "SELECT * FROM t WHERE 'none' = t.s",
];

for (const sql of WRONG) {
  Deno.test(`translateForDistSql() refuses a value that is no label in ${sql}`, () => {
    const { declared } = translateForDistSql(ORDERED, { enums: "check" });
    const { refusals } = translateForDistSql(sql, { enums: "check", declared });
    assertEquals(refusals.map(({ id }) => id), ["type-enum-label"]);
  });
}

Deno.test("translateForDistSql() warns of a column whose labels are not in the order of their texts, once it is so", () => {
  const warned = (sql: string): string[] =>
    translateForDistSql(sql, { enums: "check" }).warnings.map(({ id }) => id).filter((id) =>
      id === "type-enum-order"
    );
  const sorted = "CREATE TYPE st AS ENUM ('a', 'b'); CREATE TABLE t (id int PRIMARY KEY, s st);";
  assertEquals(warned(sorted), []);
  assertEquals(warned(`${sorted} ALTER TYPE st ADD VALUE 'c'`), []);
  assertEquals(warned(`${sorted} ALTER TYPE st ADD VALUE 'A'`), ["type-enum-order"]);
});

Deno.test("translateForDistSql() refuses to store the order of labels that are in the order of their texts", () => {
  const refused = (sql: string): string[] =>
    translateForDistSql(sql, { enums: "check" }).refusals.map(({ id }) => id);
  const type = "CREATE TYPE st AS ENUM ('a', 'b');";
  const table = `${type} CREATE TABLE t (id int PRIMARY KEY, s st);`;
  assertEquals(refused(`${type} CREATE TABLE t (id int PRIMARY KEY, s st CHECK (s < 'b'));`), [
    "type-enum-unproven",
  ]);
  assertEquals(refused(`${table} CREATE VIEW v AS SELECT * FROM t WHERE s > 'a';`), [
    "type-enum-unproven",
  ]);
  assertEquals(refused(`${table} CREATE INDEX i ON t (s); ALTER TYPE st ADD VALUE 'A'`), []);
});

Deno.test("translateForDistSql() reads labels that are in the order of their texts without a warning", () => {
  const { declared } = translateForDistSql(
    "CREATE TYPE st AS ENUM ('a', 'b'); CREATE TABLE t (id int PRIMARY KEY, s st);",
    { enums: "check" },
  );
  const { warnings, refusals } = translateForDistSql("SELECT * FROM t WHERE s > 'a' ORDER BY s", {
    enums: "check",
    declared,
  });
  assertEquals([warnings, refusals], [[], []]);
});

/** Shuffles labels into an order of an enum. */
function shuffle(random: Random, labels: readonly string[]): string[] {
  const left = [...labels];
  const result: string[] = [];
  while (left.length > 0 && (result.length < 2 || random.chance(0.8))) {
    result.push(...left.splice(random.below(left.length), 1));
  }
  return result;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function createTables(type: string): string {
  return Object.entries(TABLES).map(([name, columns]) => {
    const list = Object.entries(columns).map(([column, kind]) =>
      `${column} ${kind === "enum" ? type : kind}`
    );
    return `CREATE TABLE ${name} (${list.join(", ")})`;
  }).join("; ");
}

function inserts(random: Random, labels: readonly string[]): string {
  return Object.entries(TABLES).map(([name, columns]) => {
    const rows = Array.from({ length: 8 }, (_, id) => {
      const values = Object.entries(columns).map(([column, kind]) => {
        if (column === "id") return String(id);
        if (kind === "int") return String(random.below(4));
        return random.chance(0.2) ? "NULL" : quote(random.pick(labels));
      });
      return `(${values.join(", ")})`;
    });
    return `INSERT INTO ${name} VALUES ${rows.join(", ")}`;
  }).join("; ");
}

Deno.test(`translateForDistSql() gives the rows of enums on texts, or warns, for random queries, seed ${seed}`, async () => {
  const server = await startPostgres();
  const options = { max: 1, onnotice: () => {}, prepare: false };
  const native = postgres(await server.createDatabase("native"), options);
  const texts = postgres(await server.createDatabase("texts"), options);
  const read = async (sql: postgres.Sql, query: string): Promise<string> =>
    JSON.stringify(
      (await sql.unsafe(query)).map((row) =>
        Object.entries(row).map(([name, value]) => [name, String(value)])
      ),
    );
  const count = { equal: 0, warned: 0, differs: 0 };
  try {
    for (let done = 0, folder = 0; done < QUERIES; folder++) {
      const random = createRandom(seed + folder);
      const labels = shuffle(random, LABELS);
      const type = `CREATE TYPE mood AS ENUM (${labels.map(quote).join(", ")})`;
      const rows = inserts(random, labels);
      await native.unsafe(
        `DROP SCHEMA public CASCADE; CREATE SCHEMA public; ${type}; ${
          createTables("mood")
        }; ${rows}`,
      );
      await texts.unsafe(
        `DROP SCHEMA public CASCADE; CREATE SCHEMA public; ${createTables("text")}; ${rows}`,
      );
      const { declared } = translateForDistSql(`${type}; ${createTables("mood")}`, {
        enums: "check",
      });
      const queries = new RandomQueries(random, labels);
      for (let i = 0; i < 50; i++, done++) {
        const query = queries.next();
        let expected: string;
        try {
          expected = await read(native, query);
        } catch {
          continue; // PostgreSQL refuses it, such as an ambiguous column
        }
        const { statements, warnings, refusals } = translateForDistSql(query, {
          enums: "check",
          declared,
        });
        assertEquals(refusals, [], query);
        const found = await read(texts, statements[0].sql).catch((error) => String(error));
        if (warnings.some(({ id }) => id === "type-enum-order")) count.warned++;
        else if (found === expected) count.equal++;
        else assertEquals(found, expected, `labels ${labels}\n${query}\n${statements[0].sql}`);
      }
    }
  } finally {
    await native.end();
    await texts.end();
    await server.stop();
  }
  // deno-lint-ignore no-console
  console.log(`${QUERIES} queries: ${count.equal} equal, ${count.warned} warned, 0 differ`);
});
