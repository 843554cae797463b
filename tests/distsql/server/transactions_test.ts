import { assertArrayIncludes, assertEquals } from "@std/assert";
import type postgres from "postgres";
import { type DistSqlServer, startDistSqlServer } from "../../../distsql/server/server.ts";
import { connect, refusal, reserve } from "./connect.ts";

let server: DistSqlServer;
let sql: postgres.Sql;
let clockMs = 0;

Deno.test.beforeAll(async () => {
  server = await startDistSqlServer({ now: () => Date.now() + clockMs, surrenderAfterMs: 30 });
  sql = connect(server);
  await sql.unsafe("CREATE TABLE t (id int PRIMARY KEY, v text)");
  await sql.unsafe("CREATE TABLE parent (id int PRIMARY KEY)");
  await sql.unsafe(
    "CREATE TABLE child (id int PRIMARY KEY, parent_id int REFERENCES parent (id) ON DELETE CASCADE)",
  );
});

Deno.test.afterAll(async () => {
  await sql.end();
  await server.stop();
});

const ABORTED = {
  sqlstate: "25P02",
  message: "current transaction is aborted, commands ignored until end of transaction block",
};
const TWO_DDL = {
  sqlstate: "0A000",
  message: "multiple ddl statements not supported in a transaction",
};
const MIXED = {
  sqlstate: "0A000",
  message: "ddl and dml are not supported in the same transaction",
};
const TOO_MANY_ROWS = { sqlstate: "54000", message: "transaction row limit exceeded" };

async function count(table: string): Promise<number> {
  return (await sql.unsafe(`SELECT count(*)::int AS n FROM ${table}`))[0].n;
}

Deno.test("a transaction takes one DDL and nothing beside it", async () => {
  const cases: [string[], { sqlstate: string; message: string } | undefined][] = [
    [["CREATE TABLE a1 (id int)", "CREATE TABLE a2 (id int)"], TWO_DDL],
    [["CREATE TABLE a1 (id int)", "CREATE INDEX ASYNC i ON a1 (id)"], TWO_DDL],
    [["CREATE TABLE a1 (id int)", "INSERT INTO a1 VALUES (1)"], MIXED],
    [["INSERT INTO t VALUES (1)", "CREATE TABLE a1 (id int)"], MIXED],
    [["CREATE TABLE a1 (id int)", "GRANT SELECT ON a1 TO admin"], TWO_DDL],
    [["INSERT INTO t VALUES (1)", "SELECT 1", "DELETE FROM t"], undefined],
  ];
  for (const [statements, expected] of cases) {
    const inBlock = sql.begin(async (tx) => {
      for (const statement of statements) await tx.unsafe(statement);
    });
    assertEquals(await refusal(inBlock), expected, `BEGIN; ${statements.join("; ")}`);
    assertEquals(await refusal(sql.unsafe(statements.join("; "))), expected, statements.join("; "));
  }
  assertEquals((await sql`SELECT to_regclass('a1') AS found`)[0].found, null);
});

Deno.test("a failed transaction answers 25P02 until it ends, and COMMIT answers ROLLBACK", async () => {
  const tx = await reserve(sql);
  await tx`BEGIN`;
  assertEquals((await refusal(tx`TRUNCATE t`))?.message, "unsupported statement: Truncate");
  assertEquals(await refusal(tx`SELECT 1`), ABORTED);
  assertEquals(await refusal(tx`TRUNCATE t`), ABORTED);
  assertEquals((await tx`COMMIT`).command, "ROLLBACK");
  assertEquals((await tx`SELECT 1 AS a`)[0].a, 1);
  await tx`BEGIN`;
  assertEquals((await refusal(tx`SELECT 1 / 0`))?.sqlstate, "22012");
  assertEquals(await refusal(tx.unsafe("SELECT 1")), ABORTED);
  assertEquals((await tx`ROLLBACK`).command, "ROLLBACK");
  tx.release();
});

Deno.test("an error in a query of several statements undoes them all", async () => {
  await refusal(sql.unsafe("INSERT INTO t VALUES (900); SELECT 1 / 0"));
  assertEquals(await count("t WHERE id = 900"), 0);
  await sql.unsafe("INSERT INTO t VALUES (900); SELECT 1");
  assertEquals(await count("t WHERE id = 900"), 1);
  await sql`DELETE FROM t`;
});

Deno.test("a refused statement outside a transaction spoils nothing", async () => {
  await refusal(sql`TRUNCATE t`);
  assertEquals((await sql`SELECT 1 AS a`)[0].a, 1);
});

Deno.test("BEGIN takes options, SET TRANSACTION is refused and aborts", async () => {
  assertEquals((await sql.begin("READ ONLY", (tx) => tx`SELECT 1 AS a`))[0].a, 1);
  assertEquals(
    (await refusal(sql.begin("READ ONLY", (tx) => tx`INSERT INTO t VALUES (1)`)))?.sqlstate,
    "25006",
  );
  assertEquals(
    (await sql.begin("ISOLATION LEVEL REPEATABLE READ", (tx) => tx`SHOW transaction_isolation`))[0]
      .transaction_isolation,
    "repeatable read",
  );
  const tx = await reserve(sql);
  await tx`BEGIN`;
  assertEquals(
    (await refusal(tx`SET TRANSACTION READ ONLY`))?.message,
    'setting configuration parameter "TRANSACTION" not supported',
  );
  assertEquals(await refusal(tx`SELECT 1`), ABORTED);
  await tx`ROLLBACK`;
  tx.release();
});

Deno.test("a transaction changes at most 3,000 rows", async () => {
  const insert = (rows: number): string =>
    `INSERT INTO t SELECT g FROM generate_series(1, ${rows}) g`;
  assertEquals(await refusal(sql.unsafe(insert(3001))), TOO_MANY_ROWS);
  assertEquals(await count("t"), 0);
  assertEquals(await refusal(sql.unsafe(insert(3000))), undefined);
  assertEquals(await refusal(sql.unsafe("UPDATE t SET v = 'x'")), undefined);
  const twice = sql.begin(async (tx) => {
    await tx`UPDATE t SET v = 'y' WHERE id <= 2000`;
    await tx`DELETE FROM t WHERE id > 1999`;
  });
  assertEquals(await refusal(twice), TOO_MANY_ROWS);
  assertEquals(
    await refusal(
      sql.unsafe("WITH u AS (UPDATE t SET v = 'z' RETURNING id) INSERT INTO t VALUES (0)"),
    ),
    TOO_MANY_ROWS,
  );
  assertEquals(await count("t WHERE v = 'x'"), 3000);
  await sql`DELETE FROM t`;
});

Deno.test("rows that a foreign key deletes count too", async () => {
  await sql`INSERT INTO parent VALUES (1), (2)`;
  await sql`INSERT INTO child SELECT g, 1 FROM generate_series(1, 3000) g`;
  assertEquals(await refusal(sql`DELETE FROM parent WHERE id = 1`), TOO_MANY_ROWS);
  await sql`DELETE FROM child WHERE id = 1`;
  assertEquals(await refusal(sql`DELETE FROM parent WHERE id = 1`), undefined);
});

Deno.test("a transaction writes at most 10 MiB, which COMMIT checks", async () => {
  const insert = (values: number, bytes: number): Promise<unknown> =>
    sql.begin(async (tx) => {
      for (let id = 0; id < values; id++) {
        await tx`INSERT INTO t VALUES (${id}, ${"x".repeat(bytes)})`;
      }
    });
  assertEquals(await refusal(insert(11, 1_000_000)), {
    sqlstate: "54000",
    message: "transaction size limit 10mb exceeded",
  });
  assertEquals(await count("t"), 0);
  assertEquals(await refusal(insert(10, 1_000_000)), undefined);
  await sql`DELETE FROM t`;
});

Deno.test("a value has at most 1 MiB", async () => {
  const long = "x".repeat(1_048_577);
  const message = "datatype limit greater than 1048576 bytes not supported for text";
  assertEquals(await refusal(sql`INSERT INTO t VALUES (1, ${long})`), {
    sqlstate: "0A000",
    message,
  });
  assertEquals(await refusal(sql.unsafe(`INSERT INTO t VALUES (1, '${long}')`)), {
    sqlstate: "0A000",
    message,
  });
  assertEquals(await refusal(sql`INSERT INTO t VALUES (1, ${long.slice(1)})`), undefined);
  await sql`DELETE FROM t`;
});

Deno.test("a transaction is at most 300 seconds old", async () => {
  const old = sql.begin(async (tx) => {
    await tx`INSERT INTO t VALUES (1)`;
    clockMs += 300_000;
    await tx`SELECT 1`;
    clockMs += 1_000;
    await tx`SELECT 1`;
  });
  assertEquals(await refusal(old), {
    sqlstate: "54000",
    message: "transaction age limit of 300s exceeded",
  });
  clockMs = 0;
  assertEquals(await count("t"), 0);
});

Deno.test("a message over 10 MiB closes the connection without an answer", async () => {
  const other = connect(server);
  // a client whose first query is cut tries again for ever
  await other`SELECT 1`;
  const lost = await refusal(other`SELECT ${"x".repeat(11 * 1024 * 1024)}`);
  // The client may still be writing when the connection goes.
  assertArrayIncludes(["CONNECTION_CLOSED", "EPIPE", "ECONNRESET"], [lost?.sqlstate]);
  await other.end({ timeout: 1 });
});

Deno.test("pg_prepared_statements lists the session's own statements and no others", async () => {
  const [one, two] = [connect(server), connect(server)];
  const names = async (client: postgres.Sql): Promise<string[]> =>
    (await client.unsafe("SELECT statement FROM pg_prepared_statements ORDER BY 1")).map((row) =>
      row.statement
    );
  for (let round = 0; round < 3; round++) {
    assertEquals((await one`SELECT ${1}::int AS first`)[0].first, 1);
    assertEquals((await two`SELECT ${2}::int AS second`)[0].second, 2);
  }
  assertEquals(await names(one), ["SELECT $1::int AS first"]);
  assertEquals(await names(two), ["SELECT $1::int AS second"]);
  await one.unsafe("DEALLOCATE ALL");
  assertEquals(await names(one), []);
  await Promise.all([one.end(), two.end()]);
});

Deno.test("a session keeps its settings while others work", async () => {
  const [one, two] = [connect(server), connect(server)];
  await one`SET timezone = 'Asia/Tokyo'`;
  assertEquals((await two`SHOW timezone`)[0].TimeZone, "UTC");
  assertEquals((await one`SHOW timezone`)[0].TimeZone, "Asia/Tokyo");
  await Promise.all([one.end(), two.end()]);
});

Deno.test("a cursor reads a result in parts", async () => {
  const parts: number[][] = [];
  await sql`SELECT * FROM generate_series(1, 5) g`.cursor(2, (rows) => {
    parts.push(rows.map((row) => row.g));
  });
  assertEquals(parts, [[1, 2], [3, 4], [5]]);
});

Deno.test("COPY goes to STDOUT, and from STDIN only with a real PostgreSQL", async () => {
  await sql`INSERT INTO t VALUES (1, 'a')`;
  let text = "";
  for await (const chunk of await sql`COPY t TO STDOUT`.readable()) text += chunk;
  assertEquals(text, "1\ta\n");
  assertEquals((await refusal(sql.unsafe("COPY t FROM STDIN")))?.sqlstate, "0A000");
  await sql`DELETE FROM t`;
});

Deno.test("with PGlite a transaction that keeps another client waiting is given up", async () => {
  const [one, two] = [connect(server), connect(server)];
  const lost = one.begin(async (tx) => {
    await tx`INSERT INTO t VALUES (1, 'one')`;
    await two`INSERT INTO t VALUES (2, 'two')`;
  });
  assertEquals(await refusal(lost), {
    sqlstate: "40001",
    message: "change conflicts with another transaction (OC000)",
  });
  assertEquals([...await sql`SELECT v FROM t`], [{ v: "two" }]);
  await sql`DELETE FROM t`;
  await Promise.all([one.end(), two.end()]);
});
