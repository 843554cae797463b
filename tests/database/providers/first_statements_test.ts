/** The first statements of a pool, which follow the check of the server. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  executeRows,
  getDrizzleClient,
  withTransaction,
} from "../../../database/mod.ts";
import { sql } from "../../../database/orm.ts";
import { startPostgres } from "../../support/postgres.ts";
import { countRoundTrips } from "../../support/round_trips.ts";
import { startTcpProxy } from "../../support/tcp_proxy.ts";

const postgres = await startPostgres();
Deno.test.afterAll(() => postgres.stop());

const config = (connectionString: string): DatabaseConfig => ({
  provider: "serverless-pg",
  connectionString,
  maxConnections: 1,
  instrument: false,
});
const viaPort = (port: number) =>
  config(`postgres://postgres@127.0.0.1:${port}/postgres?application_name=first_statements`);

Deno.test("getDrizzleClient() takes two round trips, and a prepared statement one after its first", async () => {
  const proxy = await countRoundTrips(postgres.url);
  const database = config(proxy.url);
  try {
    const db = await getDrizzleClient(database);
    // the login and the check
    assertEquals(proxy.count(), 2);
    const add = (n: number) => executeRows(db, sql`select ${7}::int + ${n}::int as n`);
    // the driver asks for the types of the parameters once
    assertEquals(await add(1), [{ n: 8 }]);
    assertEquals(proxy.count(), 4);
    assertEquals(await add(2), [{ n: 9 }]);
    assertEquals(proxy.count(), 5);
    await withTransaction(db, (tx) => tx.execute(sql`select ${7}::int + ${1}::int as n`));
    assertEquals(proxy.count(), 8);
  } finally {
    await closeDrizzleClient(database);
    await proxy.stop();
  }
});

Deno.test("statements that start together before the answer all get their own rows", async () => {
  for (const maxConnections of [1, 3]) {
    const database = { ...config(postgres.url), maxConnections };
    const db = await getDrizzleClient(database);
    const numbers = Array.from({ length: 20 }, (_, n) => n);
    const rows = await Promise.all(
      numbers.map((n) =>
        n % 5 === 4
          ? withTransaction(db, (tx) => executeRows(tx as never, sql`select ${n}::int as n`))
          : executeRows(db, sql`select ${n}::int as n`)
      ),
    );
    assertEquals(rows, numbers.map((n) => [{ n }]));
    await closeDrizzleClient(database);
  }
});

Deno.test("a statement that fails before the answer rejects alone", async () => {
  const database = config(postgres.url);
  const db = await getDrizzleClient(database);
  const [failed, worked] = await Promise.allSettled([
    db.execute(sql`select ${1}::int / 0`),
    executeRows(db, sql`select ${2}::int as n`),
  ]);
  assertEquals(failed.status, "rejected");
  assertEquals(worked.status === "fulfilled" && worked.value, [{ n: 2 }]);
  await closeDrizzleClient(database);
});

Deno.test("getDrizzleClient() rejects if the connection ends before the answer, and the next call connects again", async () => {
  let isBroken = true;
  let messages = 0;
  const proxy = await startTcpProxy(postgres.port, () => {
    let own = 0;
    return {
      onSent(pass): void {
        // the first message is the login, the second the check
        messages++;
        if (!isBroken || ++own < 2) pass();
        else void stopConnections();
      },
      onAnswered: (pass) => pass(),
    };
  });
  async function stopConnections(): Promise<void> {
    isBroken = false;
    const { default: connect } = await import("postgres");
    const client = connect(postgres.url, { max: 1 });
    await client`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'first_statements'`;
    await client.end();
  }
  const database = viaPort(proxy.port);
  try {
    await assertRejects(() => getDrizzleClient(database));
    assert(messages >= 2);
    const db = await getDrizzleClient(database);
    assertEquals(await executeRows(db, sql`select ${2}::int as n`), [{ n: 2 }]);
    await withTransaction(db, (tx) => tx.execute(sql`select 1`));
  } finally {
    await closeDrizzleClient(database);
    await proxy.stop();
  }
});

Deno.test("getDrizzleClient() rejects if the server refuses the connection", async () => {
  const database = config(postgres.url.replace(/\/postgres$/, "/missing"));
  await assertRejects(() => getDrizzleClient(database), Error, "missing");
});
