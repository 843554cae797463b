import { assertEquals, assertStringIncludes } from "@std/assert";
import { decideBatch } from "../../../distsql/batches/decide_batch.ts";
import { readRowChange } from "../../../distsql/batches/row_change.ts";
import { declare, scopeOf } from "./declared_scope.ts";

const SCHEMA = `
  CREATE TABLE t (id int PRIMARY KEY, a int, b int, code text UNIQUE, name text, g int GENERATED ALWAYS AS (b) STORED,
    email text, gone boolean, at timestamptz);
  CREATE UNIQUE INDEX t_email ON t (lower(email)) WHERE gone;
  CREATE TABLE u (id int PRIMARY KEY, tid int, x int, at timestamptz);
  CREATE TABLE "order" (id int PRIMARY KEY, total numeric(10,2));
  CREATE VIEW over_t AS SELECT id, a FROM t;
  CREATE VIEW over_u AS SELECT id, tid, x FROM u;
  CREATE TABLE parents (id int PRIMARY KEY, n int);
  CREATE TABLE children (id int PRIMARY KEY, pid int REFERENCES parents ON DELETE CASCADE, n int);
  CREATE TABLE nodes (id int PRIMARY KEY, up int REFERENCES nodes (id) ON DELETE SET NULL, n int);
  CREATE TABLE plain_nodes (id int PRIMARY KEY, up int REFERENCES plain_nodes (id), n int);
  CREATE TABLE owners (id int PRIMARY KEY, tag text, UNIQUE (tag));
  CREATE TABLE tagged (id int PRIMARY KEY, tag text REFERENCES owners (tag), n int);
  CREATE TABLE loose (a int, b int);
  CREATE TABLE pair (a int, b int NOT NULL, c int NOT NULL, UNIQUE (b, c));
  CREATE TABLE half (a int NOT NULL, b int);
  CREATE UNIQUE INDEX half_a ON half (a) WHERE b > 0;
`;

/** The columns of the key, or the reason against. */
function decide(
  sql: string,
  schema = declare(SCHEMA),
  functions: ReadonlySet<string> = new Set(["next_place"]),
): string {
  const change = readRowChange(sql);
  if (change === undefined) return "no change";
  const decision = decideBatch(change, scopeOf(sql, schema, functions));
  return decision.isBatchable ? decision.key.map(({ name }) => name).join(", ") : decision.reason;
}

Deno.test("decideBatch() cuts what reads its own row, and one row of another table by its key", () => {
  const statements = [
    "UPDATE t SET a = 1",
    "UPDATE ONLY t AS x SET a = x.a + 1 WHERE x.b IS NOT NULL AND b <> 3",
    "UPDATE public.t SET a = a * 2, (name, b) = (upper(t.name), 4) WHERE t.a > 3 RETURNING id",
    "UPDATE t SET a = CASE WHEN a IS DISTINCT FROM b THEN coalesce(a, b) ELSE -a END",
    "UPDATE t SET a = a::numeric(10, 2)::int, name = CAST(name AS varchar(20))",
    "UPDATE t SET at = now(), a = extract(year FROM CURRENT_DATE)::int WHERE at < LOCALTIMESTAMP(3) - interval '1 day'",
    "UPDATE t SET name = gen_random_uuid()::text, a = nextval('s'), b = floor(random() * 10)",
    "UPDATE t SET a = age(now(), at) > '1 day'",
    "UPDATE t SET a = pg_catalog.abs(a)",
    'UPDATE "order" SET total = total + 1',
    "UPDATE children SET pid = NULL, n = 1",
    "UPDATE nodes SET up = NULL",
    "DELETE FROM children WHERE n > 4",
    "DELETE FROM tagged",
    "UPDATE t SET a = u.x FROM u WHERE u.id = t.a",
    "UPDATE t AS c SET a = j.x FROM u AS j WHERE c.a = j.id AND j.x > 3 AND c.b IS NOT NULL",
    "UPDATE t SET a = owners.id FROM owners WHERE t.name = owners.tag",
    "UPDATE t SET a = pair.a FROM pair WHERE pair.b = t.a AND t.b = pair.c",
    "DELETE FROM t USING public.u WHERE u.id = t.b",
  ];
  for (const sql of statements) assertEquals(decide(sql), "id", sql);
  assertEquals(decide("UPDATE pair SET a = 3"), "b, c");
});

Deno.test("decideBatch() refuses joins that are not by the key of one other table", () => {
  const cases: [sql: string, part: string][] = [
    ["UPDATE t SET a = u.x FROM u WHERE u.tid = t.id", "another way than by the key of u"],
    ["UPDATE t SET a = u.x FROM u WHERE u.id = id", "another way"], // whose id?
    ["UPDATE t SET a = u.x FROM u WHERE u.id = t.a OR u.x = 1", "another way"],
    ["UPDATE t SET a = u.x FROM u WHERE t.b BETWEEN 1 AND u.id = t.a", "another way"],
    ["UPDATE t SET a = u.x FROM u WHERE NOT u.id = t.a", "another way"],
    ["UPDATE t SET a = u.x FROM u WHERE (u.id = t.a) IS FALSE", "another way"],
    ["UPDATE t SET a = u.x FROM u WHERE u.id = u.tid", "another way"],
    ["UPDATE t SET a = pair.a FROM pair WHERE pair.b = t.a", "another way"],
    ["UPDATE t SET a = half.b FROM half WHERE half.a = t.a", "another way"], // unique for some rows
    ["UPDATE t SET a = u.x FROM u, parents WHERE u.id = t.a", "which is not one table"],
    ["UPDATE t SET a = u.x FROM u JOIN parents USING (id) WHERE u.id = t.a", "not one table"],
    ["UPDATE t SET a = over_u.x FROM over_u WHERE over_u.id = t.id", "which is not one table"],
    ["UPDATE t SET a = x.n FROM unknown_table AS x WHERE x.id = t.id", "not one table"],
    ['UPDATE t SET a = x.a FROM "t" AS x WHERE x.id = t.b', "it reads t, which it changes"],
    ["DELETE FROM t USING t AS x WHERE x.id = t.a", "it reads t, which it changes"],
  ];
  for (const [sql, part] of cases) assertStringIncludes(decide(sql), part, sql);
});

Deno.test("decideBatch() refuses subqueries and WITH", () => {
  const statements = [
    "UPDATE t SET a = a * 100 / (SELECT sum(a) FROM t)",
    "UPDATE t SET a = (SELECT max(x) FROM u WHERE u.tid = t.id)",
    "UPDATE t SET (a, b) = (SELECT min(x), max(x) FROM u WHERE u.tid = t.id)",
    "UPDATE t SET a = -1 WHERE NOT EXISTS (SELECT 1 FROM t x WHERE x.a = -1)",
    "UPDATE t SET a = ((SELECT 1) UNION (SELECT a FROM t LIMIT 1))",
    "UPDATE t SET b = 1 WHERE a IN (TABLE u)",
    "UPDATE t SET b = 1 WHERE a IN (VALUES (1), (2))",
    "UPDATE t SET a = v.n FROM (VALUES (1, 2), (3, 4)) AS v(id, n) WHERE v.id = t.id",
    "UPDATE t SET a = s.n FROM LATERAL (WITH z AS (TABLE t) TABLE z) AS s(n)",
    "UPDATE t SET a = ARRAY_LENGTH(ARRAY(SELECT a FROM t), 1)",
    "UPDATE t SET b = 1 RETURNING (SELECT count(*) FROM t)",
    "DELETE FROM t WHERE a IN (SELECT x FROM u)",
  ];
  for (const sql of statements) assertEquals(decide(sql), "it has a subquery", sql);
  for (
    const sql of [
      "WITH best AS (SELECT tid, max(x) AS x FROM u GROUP BY tid) UPDATE t SET a = best.x FROM best WHERE best.tid = t.id",
      "WITH d AS (DELETE FROM u RETURNING id) UPDATE t SET a = 1",
      "WITH d AS (DELETE FROM u RETURNING id) INSERT INTO t SELECT id FROM d",
      "WITH d AS (UPDATE u SET x = 1 RETURNING id) SELECT * FROM d",
      "WITH d AS (WITH e AS (SELECT 1) DELETE FROM u) SELECT 1",
    ]
  ) assertEquals(decide(sql), "it has a WITH clause", sql);
});

Deno.test("decideBatch() refuses functions that are not known to leave tables alone", () => {
  const cases: [sql: string, name: string][] = [
    ["UPDATE t SET a = next_place(a)", "next_place"],
    ["UPDATE t SET a = public.next_place(a)", "next_place"],
    ['UPDATE t SET a = "next_place"(a)', "next_place"],
    ["UPDATE t SET a = u.next_place FROM u WHERE u.id = t.a", "next_place"], // next_place(u)
    ["UPDATE t SET a = s.n FROM next_place(1) AS s (n)", "next_place"],
    ["UPDATE t SET a = unknown_function(a)", "unknown_function"],
    [
      "UPDATE t SET name = query_to_xml('SELECT sum(a) FROM t', true, false, '')::text",
      "query_to_xml",
    ],
    ["UPDATE t SET a = currval('s')", "currval"],
    ["UPDATE t SET name = current_setting('a.b')", "current_setting"],
    ["UPDATE t SET a = pg_relation_size('t')", "pg_relation_size"],
    ["DELETE FROM t WHERE other.lower(name) = 'a'", "lower"],
  ];
  for (const [sql, name] of cases) assertStringIncludes(decide(sql), `it calls ${name}()`, sql);
  // a function of the same name as one of PostgreSQL's may be called in its place
  const own = (sql: string): string => decide(sql, declare(SCHEMA), new Set(["round"]));
  assertStringIncludes(own("UPDATE t SET a = round(a, 2)"), "it calls round()");
  assertEquals(own("UPDATE t SET a = pg_catalog.round(a, 2)"), "id");
});

Deno.test("decideBatch() refuses what differs between transactions", () => {
  const cases: [sql: string, part: string][] = [
    ["UPDATE t SET at = 'now'", "the clock"],
    ["UPDATE t SET at = TIMESTAMPTZ '10:00 tomorrow'", "the clock"],
    ["UPDATE t SET a = age(at) > '1 day'", "the clock"],
    ["DELETE FROM t WHERE xmin::text = '700'", "it reads xmin"],
    ["DELETE FROM t WHERE ctid > '(3,1)'", "it reads ctid"],
    ["UPDATE t SET a = DEFAULT", "DEFAULT"],
    ["UPDATE t SET (a, b) = (1, DEFAULT)", "DEFAULT"],
    ['UPDATE t SET a = U&"\\0061" + 1', "Unicode escapes"],
  ];
  for (const [sql, part] of cases) assertStringIncludes(decide(sql), part, sql);
});

Deno.test("decideBatch() refuses changes of columns that decide about other rows", () => {
  const cases: [sql: string, part: string][] = [
    ["UPDATE t SET id = id + 1", "it changes the primary key of t"],
    ["UPDATE t SET a = 1, ID = 2", "it changes the primary key of t"],
    ['UPDATE t SET (a, "id") = (1, 2)', "it changes the primary key of t"],
    ["UPDATE t SET code = code || 'x'", "a unique index (code)"],
    ["UPDATE t SET email = 'x'", "a unique index (email, gone)"],
    ["UPDATE t SET gone = true", "a unique index"],
    ["UPDATE owners SET tag = tag || 'x'", "a unique index (tag)"],
    ["UPDATE pair SET b = 3", "a unique index (b, c)"],
  ];
  for (const [sql, part] of cases) assertStringIncludes(decide(sql), part, sql);
  // a computed column of a key follows the column that is set
  const computed = declare(
    "CREATE TABLE t (a int, b int, k int GENERATED ALWAYS AS (a) STORED PRIMARY KEY)",
  );
  assertStringIncludes(decide("UPDATE t SET a = 1", computed), "it changes the primary key of t");
});

Deno.test("decideBatch() refuses deletes from a table that a foreign key references", () => {
  const cases = [["nodes", "nodes"], ["plain_nodes", "plain_nodes"], ["parents", "children"]];
  for (const [table, by] of [...cases, ["owners", "tagged"]]) {
    assertStringIncludes(
      decide(`DELETE FROM ${table} WHERE id > 3`),
      `a foreign key of ${by} references ${table}`,
    );
  }
});

Deno.test("decideBatch() refuses a table with triggers", () => {
  const sql = "UPDATE children SET n = 1";
  const change = readRowChange(sql)!;
  const scope = scopeOf(sql, declare(SCHEMA), new Set());
  if (typeof scope.table !== "object") throw new Error("children is not declared");
  scope.table.dependents = ["trigger seen on table children"];
  const decision = decideBatch(change, scope);
  assertEquals(
    decision.isBatchable || decision.reason,
    "children has a trigger seen on table children",
  );
});

Deno.test("decideBatch() refuses a table without a key for all rows", () => {
  for (const table of ["loose", "half"]) {
    const none = `${table} has no primary key and no unique index over NOT NULL columns`;
    assertStringIncludes(decide(`DELETE FROM ${table} WHERE b > 4`), none);
  }
  assertStringIncludes(
    decide("UPDATE loose SET b = 1 WHERE b IS NULL"),
    "loose has no primary key",
  );
});

Deno.test("decideBatch() refuses statements that are more than one UPDATE or DELETE of a table", () => {
  const cases: [sql: string, part: string][] = [
    ["UPDATE t SET a = 1 WHERE CURRENT OF c", "it uses a cursor"],
    ["UPDATE t SET a = 1 b = 2 FROM", "its clauses cannot be parsed"],
    ["UPDATE over_t SET a = 1", "over_t is not an ordinary table"],
    ["UPDATE unknown_table SET a = a + 1", "there is no table unknown_table"],
    ["INSERT INTO t VALUES (1)", "no change"],
    [
      "WITH d AS (INSERT INTO u VALUES (1) RETURNING id) INSERT INTO t SELECT id FROM d",
      "no change",
    ],
    ["WITH d AS (SELECT 1) SELECT * FROM d", "no change"],
    ["SELECT 1", "no change"],
    ["CREATE TABLE update_t (id int)", "no change"],
  ];
  for (const [sql, part] of cases) assertStringIncludes(decide(sql), part, sql);
});
