import { assertEquals, assertStringIncludes } from "@std/assert";
import { decideBatch } from "../../../distsql/batches/batch_decision.ts";
import { declareFacts } from "../../../distsql/batches/declare_facts.ts";
import { readRowChange } from "../../../distsql/batches/row_change.ts";
import { emptyFacts, type SchemaFacts } from "../../../distsql/batches/schema_facts.ts";
import { StatementReader } from "../../../sql/statement_reader.ts";
import { splitStatements } from "../../../sql/statement.ts";

const SCHEMA = `
  CREATE TABLE t (id int PRIMARY KEY, a int, b int, code text UNIQUE, name text, g int GENERATED ALWAYS AS (b) STORED,
    email text, gone boolean, at timestamptz);
  CREATE UNIQUE INDEX t_email ON t (lower(email)) WHERE gone;
  CREATE TABLE u (id int PRIMARY KEY, tid int, x int, at timestamptz);
  CREATE TABLE "order" (id int PRIMARY KEY, total numeric(10,2));
  CREATE VIEW over_t AS SELECT id, a FROM t;
  CREATE VIEW over_view AS SELECT * FROM over_t;
  CREATE VIEW over_u AS SELECT id, tid, x FROM u;
  CREATE VIEW some_u AS SELECT id, tid, x FROM u LIMIT 10;
  CREATE VIEW called_u AS SELECT id, next_place(x) AS x FROM u;
  CREATE VIEW timed_u AS SELECT id FROM u WHERE at < now();
  CREATE FUNCTION next_place(int) RETURNS int LANGUAGE sql AS 'SELECT max(a) FROM t';
  CREATE TABLE parents (id int PRIMARY KEY, n int);
  CREATE TABLE children (id int PRIMARY KEY, pid int REFERENCES parents ON DELETE CASCADE, n int);
  CREATE TABLE nodes (id int PRIMARY KEY, up int REFERENCES nodes (id) ON DELETE SET NULL, n int);
  CREATE TABLE plain_nodes (id int PRIMARY KEY, up int REFERENCES plain_nodes (id), n int);
  CREATE TABLE owners (id int PRIMARY KEY, tag text, UNIQUE (tag));
  CREATE TABLE tagged (id int PRIMARY KEY, tag text REFERENCES owners (tag), n int);
  CREATE TABLE cyclic (id int PRIMARY KEY, other int);
  CREATE TABLE cyclic2 (id int PRIMARY KEY, other int REFERENCES cyclic ON DELETE CASCADE);
  ALTER TABLE cyclic ADD CONSTRAINT c FOREIGN KEY (other) REFERENCES cyclic2 ON DELETE SET NULL;
  CREATE TABLE loose (a int, b int);
  CREATE TABLE pair (a int, b int NOT NULL, c int NOT NULL, UNIQUE (b, c));
`;

function schema(sql = SCHEMA): SchemaFacts {
  const facts = emptyFacts();
  for (const { tokens } of splitStatements(sql)) declareFacts(facts, new StatementReader(tokens));
  return facts;
}

/** `key`, `row-id`, or the reason against. */
function decide(sql: string, facts: SchemaFacts = schema()): string {
  const change = readRowChange(sql);
  if (change === undefined) return "no change";
  const decision = decideBatch(change, facts);
  return decision.isBatchable ? decision.by : decision.reason;
}

Deno.test("decideBatch() cuts what reads its own row and tables that it does not change", () => {
  const statements = [
    "UPDATE t SET a = 1",
    "UPDATE ONLY t AS x SET a = x.a + 1 WHERE x.b IS NOT NULL AND b <> 3",
    "UPDATE public.t SET a = a * 2, (name, b) = (upper(t.name), 4) WHERE t.a > 3 RETURNING id",
    "UPDATE t SET a = CASE WHEN a IS DISTINCT FROM b THEN coalesce(a, b) ELSE -a END",
    "UPDATE t SET a = a::numeric(10, 2)::int, name = CAST(name AS varchar(20))",
    "UPDATE t SET a = (SELECT max(x) FROM u WHERE u.tid = t.id)",
    "UPDATE t SET (a, b) = (SELECT min(x), max(x) FROM u WHERE u.tid = t.id) WHERE EXISTS (SELECT FROM u WHERE tid = t.id)",
    "UPDATE t SET a = (SELECT x FROM u WHERE u.tid = t.id ORDER BY at DESC LIMIT 1)",
    "UPDATE t AS c SET name = (SELECT string_agg(u.x::text, ',' ORDER BY u.id) FROM u WHERE u.tid = c.id)",
    "UPDATE t SET a = over_u.x FROM over_u WHERE over_u.tid = t.id",
    "UPDATE t SET a = v.n FROM (VALUES (1, 2), (3, 4)) AS v(id, n) WHERE v.id = t.id",
    "UPDATE t SET a = v.n FROM (VALUES (1, 2), (3, 4)) v(id, n) WHERE v.id = t.id",
    "UPDATE t SET a = u.x FROM u JOIN parents p USING (id) LEFT JOIN children ON children.pid = p.id WHERE u.tid = t.id",
    "WITH best AS (SELECT tid, max(x) AS x FROM u GROUP BY tid) UPDATE t SET a = best.x FROM best WHERE best.tid = t.id",
    "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 9), s(m) AS MATERIALIZED (SELECT n FROM r) " +
    "DELETE FROM t USING s WHERE s.m = t.a",
    "DELETE FROM t WHERE a IN (SELECT x FROM u) AND NOT EXISTS (SELECT FROM parents WHERE parents.id = t.b)",
    "DELETE FROM t USING u WHERE u.tid = t.id",
    "UPDATE t SET at = now(), a = extract(year FROM CURRENT_DATE)::int WHERE at < LOCALTIMESTAMP(3) - interval '1 day'",
    "UPDATE t SET name = gen_random_uuid()::text, a = nextval('s'), b = floor(random() * 10)",
    "UPDATE t SET a = age(now(), at) > '1 day'",
    'UPDATE "order" SET total = (SELECT sum(x) FROM u WHERE u.tid = "order".id GROUP BY tid ORDER BY 1 LIMIT 1)',
    "UPDATE children SET pid = NULL, n = 1",
    "UPDATE nodes SET up = NULL",
    "DELETE FROM children WHERE n > 4",
    "DELETE FROM parents WHERE n > 4",
    "DELETE FROM tagged",
    "DELETE FROM cyclic2", // its rows are not deleted with those whose reference becomes NULL
    "UPDATE pair SET a = 3",
    "UPDATE unknown_table SET a = a + 1",
  ];
  for (const sql of statements) assertEquals(decide(sql), "key", sql);
});

Deno.test("decideBatch() rejects statements that read a table that they change", () => {
  const reads = "which it changes";
  const statements = [
    "UPDATE t SET a = a * 100 / (SELECT sum(a) FROM t)",
    "UPDATE t SET a = a + (SELECT max(a) FROM public.t)",
    "DELETE FROM t WHERE (SELECT count(*) FROM t x WHERE x.code = t.code) > 1",
    "UPDATE t SET a = -1 WHERE NOT EXISTS (SELECT 1 FROM t x WHERE x.a = -1)",
    'UPDATE t SET a = x.a FROM "t" AS x WHERE x.id = t.b',
    "UPDATE t AS y SET a = x.a FROM u, t AS x WHERE x.id = y.b",
    "UPDATE t AS y SET a = x.a FROM u CROSS JOIN (u AS z JOIN T AS x ON x.id = z.id) WHERE x.id = y.b",
    "DELETE FROM t USING t AS x WHERE x.id < t.id AND x.code = t.code",
    "WITH s AS (SELECT sum(a) AS n FROM t) UPDATE t SET a = s.n FROM s",
    "WITH q AS (SELECT 1), s AS (WITH z AS (TABLE t) SELECT * FROM z) DELETE FROM t USING s",
    "UPDATE t SET a = (SELECT max(a) FROM over_t)",
    "UPDATE t SET a = (SELECT max(a) FROM over_view)",
    "UPDATE t SET a = (SELECT max(n) FROM LATERAL (SELECT count(*) AS n FROM t) AS x)",
    "UPDATE t SET a = ((SELECT 1) UNION (SELECT a FROM t LIMIT 1))",
    "UPDATE t SET a = (SELECT 1 WHERE 3 IN (TABLE t))",
    "UPDATE t SET a = ARRAY_LENGTH(ARRAY(SELECT a FROM t), 1)",
    "UPDATE t SET b = 1 RETURNING (SELECT count(*) FROM t)",
    "DELETE FROM parents WHERE NOT EXISTS (SELECT FROM children WHERE children.pid = parents.id)",
  ];
  for (const sql of statements) assertStringIncludes(decide(sql), reads, sql);
  const renamed = schema(
    `${SCHEMA} ALTER TABLE t RENAME TO t2; CREATE VIEW late AS SELECT * FROM t2;`,
  );
  assertStringIncludes(decide("UPDATE t2 SET a = (SELECT count(*) FROM t2 AS x)", renamed), reads);
  assertStringIncludes(decide("UPDATE t2 SET a = (SELECT count(*) FROM late)", renamed), reads);
});

Deno.test("decideBatch() compares names as PostgreSQL does: folded, and cut to 63 bytes", () => {
  const long = "t".repeat(70);
  const facts = schema(`CREATE TABLE ${long.slice(0, 63)} (id int PRIMARY KEY, a int)`);
  const read = `UPDATE ${long.slice(0, 63)} SET a = (SELECT max(a) FROM ${long})`;
  assertStringIncludes(decide(read, facts), "which it changes");
  assertEquals(decide('UPDATE t SET a = (SELECT max(a) FROM "T")'), "key"); // another table
  assertStringIncludes(
    decide('UPDATE t SET a = (SELECT max(a) FROM U&"\\0074")'),
    "Unicode escapes",
  );
});

Deno.test("decideBatch() refuses functions that are not known to leave tables alone", () => {
  const cases: [sql: string, name: string][] = [
    ["UPDATE t SET a = next_place(a)", "next_place"],
    ["UPDATE t SET a = public.next_place(a)", "next_place"],
    ['UPDATE t SET a = "next_place"(a)', "next_place"],
    ["UPDATE t SET a = (SELECT u.next_place FROM u)", "next_place"], // next_place(u)
    [
      "UPDATE t SET a = (SELECT DISTINCT ON (u.tid) next_place(x) FROM u WHERE u.tid = t.id)",
      "next_place",
    ],
    ["UPDATE t SET a = (SELECT next_place(x) AS y FROM u LIMIT 1)", "next_place"],
    ["UPDATE t SET a = s.n FROM next_place(1) AS s (n)", "next_place"],
    ["UPDATE t SET a = (SELECT max(x) FROM called_u)", "next_place"],
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
  assertEquals(decide("UPDATE t SET a = pg_catalog.abs(a)"), "key");
  // a function of the same name as one of PostgreSQL's may be called in its place
  const own = schema(
    `${SCHEMA} CREATE FUNCTION round(real, int) RETURNS real LANGUAGE sql AS 'SELECT 1';`,
  );
  assertStringIncludes(decide("UPDATE t SET a = round(a, 2)", own), "it calls round()");
  assertEquals(decide("UPDATE t SET a = pg_catalog.round(a, 2)", own), "key");
});

Deno.test("decideBatch() refuses queries that may give other rows each time", () => {
  const cases: [sql: string, part: string][] = [
    ["UPDATE t SET a = 1 WHERE id IN (SELECT tid FROM u LIMIT 5)", "LIMIT"],
    ["UPDATE t SET a = 1 WHERE id IN (SELECT tid FROM u OFFSET 5)", "OFFSET"],
    ["UPDATE t SET a = 1 WHERE id IN (SELECT tid FROM u FETCH FIRST 5 ROWS ONLY)", "FETCH"],
    [
      "UPDATE t SET a = r.n FROM (SELECT tid, row_number() OVER (ORDER BY x) AS n FROM u) r WHERE r.tid = t.id",
      "row_number()",
    ],
    [
      "UPDATE t SET a = r.n FROM (SELECT tid, sum(x) OVER (ORDER BY at) AS n FROM u) r WHERE r.tid = t.id",
      "OVER",
    ],
    [
      "WITH r AS (SELECT DISTINCT ON (tid) tid, x FROM u) UPDATE t SET a = r.x FROM r WHERE r.tid = t.id",
      "DISTINCT",
    ],
    ["UPDATE t SET name = (SELECT string_agg(x::text, ',') FROM u)", "string_agg()"],
    ["UPDATE t SET a = 1 WHERE id = ANY (ARRAY(SELECT tid FROM u))", "ARRAY"],
    ["UPDATE t SET a = some_u.x FROM some_u WHERE some_u.tid = t.id", "LIMIT"],
    ["UPDATE t SET a = 1 WHERE id IN (SELECT tid FROM u FOR UPDATE SKIP LOCKED)", "SKIP"],
    // the inner query is not run for each row, though the outer one is
    [
      "UPDATE t SET a = (SELECT x FROM u WHERE u.tid = t.id AND u.id IN (SELECT n FROM parents LIMIT 9))",
      "LIMIT",
    ],
    // the name of the changed table stands for another one
    ["UPDATE t AS c SET a = (SELECT c.x FROM u AS c LIMIT 1)", "LIMIT"],
    ["UPDATE t AS c SET a = (SELECT max(id) FROM c.things LIMIT 1)", "LIMIT"],
  ];
  for (const [sql, part] of cases) assertStringIncludes(decide(sql), `${part} in a query`, sql);
  assertStringIncludes(
    decide("UPDATE t SET a = (SELECT random())"),
    "it calls random() in a query",
  );
  assertStringIncludes(
    decide("UPDATE t SET a = nextval('s') WHERE (SELECT last_value FROM s) < 9"),
    "nextval()",
  );
});

Deno.test("decideBatch() refuses what differs between transactions", () => {
  const cases: [sql: string, part: string][] = [
    ["UPDATE t SET at = 'now'", "the clock"],
    ["UPDATE t SET at = TIMESTAMPTZ '10:00 tomorrow'", "the clock"],
    ["UPDATE t SET a = age(at) > '1 day'", "the clock"],
    ["DELETE FROM t WHERE id IN (SELECT id FROM timed_u)", "the clock"],
    ["DELETE FROM t WHERE xmin::text = '700'", "it reads xmin"],
    ["UPDATE t SET a = (SELECT reltuples FROM pg_class WHERE relname = 't')", "the catalog"],
    ["UPDATE t SET a = (SELECT count(*) FROM information_schema.columns)", "the catalog"],
    ["UPDATE t SET a = DEFAULT", "DEFAULT"],
    ["UPDATE t SET (a, b) = (1, DEFAULT)", "DEFAULT"],
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
  const computed = schema(
    "CREATE TABLE t (a int, b int, k int GENERATED ALWAYS AS (a) STORED PRIMARY KEY)",
  );
  assertStringIncludes(decide("UPDATE t SET a = 1", computed), "it changes the primary key of t");
});

Deno.test("decideBatch() refuses deletes whose foreign keys change or check further rows of the same tables", () => {
  const part = "a foreign key makes deleted rows";
  for (
    const sql of [
      "DELETE FROM nodes WHERE up IS NULL",
      "DELETE FROM plain_nodes",
      "DELETE FROM cyclic WHERE id > 3",
    ]
  ) {
    assertStringIncludes(decide(sql), part, sql);
  }
  const checked = schema(
    `${SCHEMA} CREATE TABLE notes (id int PRIMARY KEY, cid int REFERENCES children,
    pid int REFERENCES parents ON DELETE CASCADE);`,
  );
  assertStringIncludes(decide("DELETE FROM parents", checked), part);
  const watched = schema();
  watched.tables.find(({ name }) => name === "children")!.hasTriggers = true;
  assertEquals(decide("DELETE FROM parents", watched), "children has triggers");
  assertEquals(decide("UPDATE children SET n = 1", watched), "children has triggers");
});

Deno.test("decideBatch() takes a table without a key when no row is met twice", () => {
  assertEquals(decide("UPDATE loose SET a = 1 WHERE a IS NULL"), "row-id");
  assertEquals(decide('UPDATE loose SET "a" = b + 1 WHERE A IS NULL'), "row-id");
  assertEquals(decide("DELETE FROM loose WHERE b > 4"), "row-id");
  const none = "loose has no primary key and no unique index";
  assertStringIncludes(decide("UPDATE loose SET a = 1"), none);
  assertStringIncludes(decide("UPDATE loose SET a = 1 WHERE b IS NULL"), none);
  assertStringIncludes(decide("UPDATE loose SET a = 1, b = 2 WHERE a IS NULL"), none);
  assertStringIncludes(decide("UPDATE loose SET a = 1 WHERE a IS NULL AND b = 2"), none);
  assertStringIncludes(decide("DELETE FROM loose WHERE random() < 0.5"), none);
});

Deno.test("decideBatch() refuses statements that are more than one UPDATE or DELETE of a table", () => {
  const cases: [sql: string, part: string][] = [
    ["WITH d AS (DELETE FROM u RETURNING id) UPDATE t SET a = 1", "its WITH clause changes rows"],
    [
      "WITH d AS (DELETE FROM u RETURNING id) INSERT INTO t SELECT id FROM d",
      "its WITH clause changes rows",
    ],
    ["WITH d AS (UPDATE u SET x = 1 RETURNING id) SELECT * FROM d", "its WITH clause changes rows"],
    ["WITH d AS (WITH e AS (SELECT 1) DELETE FROM u) SELECT 1", "its WITH clause changes rows"],
    ["UPDATE t SET a = 1 WHERE CURRENT OF c", "it uses a cursor"],
    ["UPDATE t SET a = 1 b = 2 FROM", "its clauses cannot be parsed"],
    ["UPDATE over_t SET a = 1", "over_t is not an ordinary table"],
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
