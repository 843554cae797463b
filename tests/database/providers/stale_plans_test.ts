import { assertEquals, assertRejects } from "@std/assert";
import { sql } from "../../../database/session/plain_sql.ts";
import postgres from "postgres";
import {
  closeDrizzleClient,
  getDrizzleClient,
  withQueryMetrics,
  withTransaction,
} from "../../../database/mod.ts";
import { runSql, runSqlRows } from "../../../database/session/run_sql.ts";
import { setLogOutput } from "../../../observability/mod.ts";
import { startPostgres } from "../../support/postgres.ts";

Deno.test("a transaction works after ALTER TYPE, with each of its statements", async () => {
  const server = await startPostgres();
  const config = {
    provider: "serverless-pg",
    connectionString: server.url,
    maxConnections: 1,
    instrument: false,
  } as const;
  const other = postgres(server.url, { max: 1, onnotice: () => {} });
  const change = (type: string) =>
    other.unsafe(`ALTER TABLE notes ALTER n TYPE ${type} USING n::${type}`);
  try {
    await other.unsafe("CREATE TABLE notes (id int, n int); INSERT INTO notes VALUES (1, 7)");
    const db = await getDrizzleClient(config);
    const find = sql`SELECT n FROM notes WHERE id = ${1}`;
    let runs = 0;
    const findFirst = () =>
      withTransaction(db, async (tx) => {
        runs++;
        return await runSqlRows(tx, find);
      }, { isolationLevel: "serializable" });
    assertEquals(await findFirst(), [{ n: 7 }]);
    await change("text");
    assertEquals([await findFirst(), await findFirst()], [[{ n: "7" }], [{ n: "7" }]]);
    // the function did not run again
    assertEquals(runs, 3);

    let level: unknown;
    const findSecond = () =>
      withTransaction(db, async (tx) => {
        runs++;
        [level] = await runSqlRows(tx, sql`SHOW transaction_isolation`);
        await runSql(tx, sql`UPDATE notes SET id = id WHERE id = ${1}`);
        return await runSqlRows(tx, find);
      });
    assertEquals(await findSecond(), [{ n: "7" }]);
    await change("int");
    await assertRejects(findSecond);
    assertEquals(await findSecond(), [{ n: 7 }]);
    await change("text");
    runs = 0;
    setLogOutput(() => {});
    assertEquals(await withQueryMetrics("findNote", findSecond), [{ n: "7" }]);
    assertEquals([runs, level], [2, { transaction_isolation: "repeatable read" }]);
  } finally {
    await closeDrizzleClient(config);
    await other.end();
    await server.stop();
  }
});
