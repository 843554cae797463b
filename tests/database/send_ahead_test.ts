import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import {
  closeDrizzleClient,
  createQueryFactory,
  type DatabaseConfig,
  DatabaseOperation,
  executeRows,
  getDrizzleClient,
  sendAhead,
  TransactionMisuseError,
  UniqueViolationError,
  withTransaction,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { startPostgres } from "../support/postgres.ts";
import { countRoundTrips } from "../support/round_trips.ts";

const notes = pgTable("notes", { id: integer("id").primaryKey(), title: text("title") });

const postgres = await startPostgres();
const proxy = await countRoundTrips(await postgres.createDatabase("send_ahead"));
const configs: DatabaseConfig[] = [
  { provider: "serverless-pg", connectionString: proxy.url, instrument: false },
  { provider: "embedded-pg", connectionString: "memory://send_ahead", instrument: false },
];
for (const config of configs) {
  const db = await getDrizzleClient(config);
  await db.execute(sql`create table notes (id int primary key, title text)`);
}
const restore = setLogOutput(() => {});
Deno.test.afterAll(async () => {
  restore();
  for (const config of configs) await closeDrizzleClient(config);
  await proxy.stop();
  await postgres.stop();
});

const writes = { tables: [{ table: notes, operations: [DatabaseOperation.Insert] }] };

for (const config of configs) {
  const { provider } = config;
  const getDb = () => getDrizzleClient(config);
  const { definePreparedQuery } = createQueryFactory(getDb);
  const addTwo = definePreparedQuery(
    { ...writes, transaction: true },
    async function addTwo(tx, id: number, next: number) {
      const add = tx.insert(notes).values({
        id: sql.placeholder("id"),
        title: sql.placeholder("title"),
      }).prepare("add_note");
      await add.execute({ id, title: "first" });
      sendAhead(tx, add, { id: next, title: null });
      return next;
    },
  );
  const list = async (): Promise<unknown[]> =>
    (await executeRows(await getDb(), sql`select id from notes order by id`)).map(({ id }) => id);

  Deno.test(`sendAhead() writes with the transaction on ${provider}`, async () => {
    const db = await getDb();
    await db.delete(notes);
    assertEquals([await addTwo(1, 2), await addTwo(3, 4)], [2, 4]);
    await withTransaction(db, (tx) => {
      sendAhead(tx, tx.insert(notes).values({ id: 5 }));
      sendAhead(tx, sql`update notes set id = 6 where id = ${5}`);
      return Promise.resolve();
    });
    assertEquals(await list(), [1, 2, 3, 4, 6]);
  });

  Deno.test(`sendAhead() rolls back if its statement fails on ${provider}`, async () => {
    const db = await getDb();
    await db.delete(notes);
    for (const id of [1, 2, 3]) {
      await assertRejects(() => addTwo(id, id), UniqueViolationError);
    }
    assertEquals(await list(), []);
  });

  Deno.test(`definePreparedQuery() rejects a transaction that hid an error on ${provider}`, async () => {
    await (await getDb()).delete(notes);
    const addTwice = definePreparedQuery(
      { ...writes, transaction: true },
      async function addTwice(tx, id: number) {
        const add = tx.insert(notes).values({ id: sql.placeholder("id") }).prepare("add");
        await add.execute({ id });
        await add.execute({ id }).catch(() => {});
      },
    );
    for (const id of [1, 2, 3]) await assertRejects(() => addTwice(id), UniqueViolationError);
    assertEquals(await list(), []);
  });

  Deno.test(`sendAhead() refuses a client without a transaction on ${provider}`, async () => {
    const db = await getDb();
    assertThrows(() => sendAhead(db, sql`select 1`), TransactionMisuseError);
    const ended = await withTransaction(db, (tx) => Promise.resolve(tx));
    assertThrows(() => sendAhead(ended, sql`select 1`), TransactionMisuseError);
  });
}

Deno.test("sendAhead() takes no round trip", async () => {
  const [config] = configs;
  const { definePreparedQuery } = createQueryFactory(() => getDrizzleClient(config));
  const add = definePreparedQuery(
    { ...writes, transaction: true },
    async function add(tx, id: number, count: number) {
      const insert = tx.insert(notes).values({ id: sql.placeholder("id") }).prepare("insert");
      await insert.execute({ id });
      for (let n = 1; n <= count; n++) sendAhead(tx, insert, { id: id + n });
    },
  );
  await add(100, 0);
  for (const count of [0, 1, 5]) {
    const before = proxy.count();
    await add(200 + 10 * count, count);
    assertEquals(proxy.count() - before, 3);
  }
});
