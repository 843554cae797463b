import { assertEquals, assertRejects } from "@std/assert";
import connect from "postgres";
import { createTextQuery } from "../../../database/providers/postgres_js_driver.ts";
import { startPostgres } from "../../support/postgres.ts";

const postgres = await startPostgres();
const sql = connect(postgres.url, { max: 1, fetch_types: false, onnotice() {} });
Deno.test.afterAll(() => postgres.stop());

Deno.test("createTextQuery() gives the rows and the metadata of postgres.js", async () => {
  const text = "select $1::int as n, $2::text as t from generate_series(1, 3)";
  for (const prepare of [false, true, true]) {
    const expected = await sql.unsafe(text, [7, "a"] as never, { prepare });
    const rows = await createTextQuery(sql, text, ["7", "a"], prepare) as typeof expected;
    assertEquals([...rows], [...expected]);
    assertEquals([rows.count, rows.command], [expected.count, expected.command]);
    const values = await createTextQuery(sql, text, ["7", null], prepare).values();
    assertEquals([...values as unknown[]], Array(3).fill([7, null]));
  }
});

Deno.test("createTextQuery() sends the statement once, when it is first awaited", async () => {
  await sql`create table sent (n int)`;
  const query = createTextQuery(sql, "insert into sent values ($1)", ["1"], false);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assertEquals([...await sql`select n from sent`], []);
  await Promise.all([query.then(), query.then(), query]);
  assertEquals([...await sql`select n from sent`], [{ n: 1 }]);
});

Deno.test("createTextQuery() rejects with the server's error, and nothing else", async () => {
  const text = "select 1 / $1::int";
  const error = await assertRejects(() => createTextQuery(sql, text, ["0"], true).then());
  assertEquals((error as { code?: string }).code, "22012");
  assertEquals((error as { query?: string }).query, text);
  const several = () => createTextQuery(sql, "select 1; select 2", [], false).then();
  assertEquals((await assertRejects(several) as { code?: string }).code, "42601");
  assertEquals([...await createTextQuery(sql, text, ["1"], true).values() as unknown[]], [[1]]);
});

Deno.test("createTextQuery() fails the transaction that it is a part of", async () => {
  await sql`create table parts (n int)`;
  const error = await assertRejects(() =>
    sql.begin(async (tx) => {
      await createTextQuery(tx, "insert into parts values ($1)", ["1"], true);
      // the program ignores the error
      await createTextQuery(tx, "insert into parts values ($1)", ["none"], true).then(
        null,
        () => {},
      );
    })
  );
  assertEquals((error as { code?: string }).code, "22P02");
  assertEquals([...await sql`select n from parts`], []);
});

Deno.test("createTextQuery() is sent again with another plan after its table has changed", async () => {
  await sql`create table changing (a int)`;
  await sql`insert into changing values (1)`;
  const read = async () => [
    ...await createTextQuery(sql, "select * from changing", [], true).values() as unknown[],
  ];
  assertEquals(await read(), [[1]]);
  assertEquals(await read(), [[1]]);
  await sql`alter table changing add b int default 2`;
  assertEquals(await read(), [[1, 2]]);
});

Deno.test("createTextQuery() rejects after the connections were closed", async () => {
  await sql.end();
  const error = await assertRejects(() => createTextQuery(sql, "select 1", [], false).then());
  assertEquals((error as { code?: string }).code, "CONNECTION_ENDED");
});
