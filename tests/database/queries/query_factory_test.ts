import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { alias, integer, pgSchema, pgTable, text } from "drizzle-orm/pg-core";
import {
  closeDrizzleClient,
  createQueryFactory,
  type DatabaseConfig,
  DatabaseError,
  DatabaseOperation,
  executeRows,
  getDrizzleClient,
  withTransaction,
} from "../../../database/mod.ts";
import { UniqueViolationError } from "../../../errors/mod.ts";
import { asc, desc, eq, or, sql } from "../../../database/orm.ts";
import { ConfigurationError } from "../../../errors/mod.ts";
import { setLogOutput } from "../../../observability/mod.ts";
import { startPostgres } from "../../support/postgres.ts";
import { toWhere } from "../../support/relational_queries.ts";

const notes = pgTable("notes", { id: integer("id").primaryKey(), title: text("title").notNull() });
const schema = { notes };
const tables = [{ table: notes, operations: [DatabaseOperation.Select, DatabaseOperation.Insert] }];

Deno.test("defineQuery() carries name, tables and transaction, and refuses what is no declaration", () => {
  const { defineQuery } = createQueryFactory(() => Promise.reject(new Error("not called")));
  const named = defineQuery(
    { tables, transaction: true },
    async function findNote(_db, _id: number) {},
  );
  assertEquals([named.queryName, named.transaction], ["findNote", true]);
  assertEquals(named.tables, [{
    table: "notes",
    operations: [DatabaseOperation.Select, DatabaseOperation.Insert],
  }]);
  assertEquals(defineQuery({ tables, name: "given" }, async () => {}).queryName, "given");
  assertEquals(defineQuery({ tables }, async () => {}).queryName, "select insert notes");
  const other = pgSchema("app").table("tags", { id: integer("id") });
  const qualified = defineQuery(
    { tables: [{ table: other, operations: [DatabaseOperation.Delete] }] },
    async () => {},
  );
  assertEquals(qualified.tables[0].table, "app.tags");
  const error = assertThrows(
    () =>
      defineQuery({ tables: [{ table: "notes", operations: ["READ" as never] }] }, async () => {}),
    ConfigurationError,
  );
  assertStringIncludes(error.message, "READ");
  assertThrows(() => createQueryFactory({} as never), ConfigurationError, "createQueryFactory");
  const without = defineQuery({}, async () => {});
  assertEquals([without.queryName, without.tables], ["query", []]);
});

Deno.test("createQueryFactory() on PostgreSQL: transactions roll back, prepared statements live as long as the connection", async () => {
  const postgres = await startPostgres();
  const config: DatabaseConfig & { schema: typeof schema } = {
    provider: "serverless-pg",
    connectionString: postgres.url,
    instrument: false,
    schema,
  };
  const getDb = () => getDrizzleClient(config);
  const { defineQuery, definePreparedQuery } = createQueryFactory(getDb);
  const add = defineQuery(
    { tables, transaction: true },
    async function addNotes(db, ids: number[], fail: boolean) {
      for (const id of ids) await db.insert(notes).values({ id, title: `note ${id}` });
      if (fail) throw new Error("after the rows");
      return ids.length;
    },
  );
  const find = definePreparedQuery({ tables }, function findNote(db, id: number) {
    return db.select().from(notes).where(eq(notes.id, sql.placeholder("id"))).prepare("find")
      .execute({ id });
  });
  const findRelational = definePreparedQuery({ tables }, function findRelational(db, id: number) {
    return db.query.notes.findFirst({ where: toWhere(eq(notes.id, sql.placeholder("id"))) })
      .prepare("find")
      .execute({ id });
  });
  const previous = alias(notes, "previous");
  const listWithPrevious = definePreparedQuery({ tables }, function listWithPrevious(db) {
    return db.select().from(notes).leftJoin(previous, eq(previous.id, sql`${notes.id} - 1`))
      .orderBy(notes.id).prepare("list").execute();
  });
  const restore = setLogOutput(() => {});
  try {
    const db = await getDb();
    await db.execute(sql`CREATE TABLE notes (id int PRIMARY KEY, title text NOT NULL)`);
    assertEquals(await add([1, 2], false), 2);
    const [first, second] = [1, 2].map((id) => ({ id, title: `note ${id}` }));
    const joined = [{ notes: first, previous: null }, { notes: second, previous: first }];
    assertEquals(await listWithPrevious(), joined);
    await withTransaction(db, async (tx) => {
      assertEquals(await listWithPrevious.on(tx as unknown as typeof db), joined);
    });
    await assertRejects(() => add([3], true), DatabaseError);
    assertEquals(await db.$count(notes), 2);

    for (let i = 0; i < 5; i++) {
      assertEquals(await find(1), [{ id: 1, title: "note 1" }]);
      assertEquals(await findRelational(2), { id: 2, title: "note 2" });
    }
    const prepared = (): Promise<unknown> =>
      executeRows(
        db,
        sql`SELECT statement, (generic_plans + custom_plans)::int AS runs FROM pg_prepared_statements
            WHERE statement LIKE '%"notes"."id" = $1%' OR statement LIKE '%"id" = $1%' ORDER BY length(statement)`,
      );
    const kept = await prepared() as { runs: number }[];
    assertEquals(kept.map(({ runs }) => runs), [5, 5]);

    // a new connection gets them again, and the query goes on
    await assertRejects(() => db.execute(sql`SELECT pg_terminate_backend(pg_backend_pid())`));
    assertEquals(await find(1), [{ id: 1, title: "note 1" }]);
    assertEquals((await prepared() as { runs: number }[]).map(({ runs }) => runs), [1]);

    // as a part of the caller's transaction
    await withTransaction(db, async (tx) => {
      assertEquals(await add.on(tx as unknown as typeof db, [7], false), 1);
      assertEquals(await find.on(tx as unknown as typeof db, 7), [{ id: 7, title: "note 7" }]);
      throw new Error("undo");
    }).catch(() => {});
    assertEquals(await find(7), []);
    await closeDrizzleClient(config);
    assertEquals(await find(2), [{ id: 2, title: "note 2" }]);
  } finally {
    restore();
    await closeDrizzleClient(config);
    await postgres.stop();
  }
});

Deno.test("definePreparedQuery() gives the rows of drizzle for the values of each call", async () => {
  const config: DatabaseConfig & { schema: typeof schema } = {
    provider: "embedded-pg",
    connectionString: "memory://prepared_values",
    instrument: false,
    schema,
  };
  const getDb = () => getDrizzleClient(config);
  const { definePreparedQuery } = createQueryFactory(getDb);
  type Client = Awaited<ReturnType<typeof getDb>>;
  type Args = [title: string, id: number, isDescending: boolean];
  const queries: Record<string, (db: Client, ...args: Args) => Promise<unknown>> = {
    "an argument without a placeholder": (db, title) =>
      db.select().from(notes).where(eq(notes.title, title)).prepare("by").execute(),
    "a placeholder beside an argument": (db, title, id) =>
      db.select().from(notes).where(or(eq(notes.title, title), eq(notes.id, sql.placeholder("id"))))
        .orderBy(notes.id).prepare("by").execute({ id }),
    "an argument that decides the form": (db, _title, id, isDescending) =>
      db.select().from(notes).orderBy(isDescending ? desc(notes.id) : asc(notes.id)).limit(id)
        .prepare("by").execute(),
    "a relational query": (db, title) =>
      db.query.notes.findMany({ where: toWhere(eq(notes.title, title)) }).prepare("by").execute(),
    "a condition that is left out": (db, title, id) =>
      db.select().from(notes).where(id > 1 ? eq(notes.title, title) : undefined).orderBy(notes.id)
        .prepare("by").execute(),
  };
  const restore = setLogOutput(() => {});
  try {
    const db = await getDb();
    await db.execute(sql`CREATE TABLE notes (id int PRIMARY KEY, title text NOT NULL)`);
    await db.insert(notes).values(["ada", "bob", "eve"].map((title, id) => ({ id, title })));
    for (const [name, fn] of Object.entries(queries)) {
      const query = definePreparedQuery({ tables }, fn);
      for (const args of [["ada", 1, false], ["bob", 2, true], ["eve", 1, true]] as Args[]) {
        assertEquals(await query(...args), await fn(db, ...args), `${name}: ${args}`);
        await withTransaction(db, async (tx) => {
          assertEquals(
            await query.on(tx, ...args),
            await fn(tx as unknown as Client, ...args),
            `${name}: ${args}`,
          );
        });
      }
    }
    const find = definePreparedQuery({ tables }, queries["an argument without a placeholder"]);
    assertEquals(await find("ada", 0, false), [{ id: 0, title: "ada" }]);
    assertEquals(await find("bob", 0, false), [{ id: 1, title: "bob" }]);
  } finally {
    restore();
    await closeDrizzleClient(config);
  }
});

Deno.test("definePreparedQuery() rejects a transaction that hid an error", async () => {
  const config: DatabaseConfig = {
    provider: "embedded-pg",
    connectionString: "memory://hidden_error",
    instrument: false,
  };
  const db = await getDrizzleClient(config);
  const restore = setLogOutput(() => {});
  await db.execute(sql`CREATE TABLE notes (id int PRIMARY KEY, title text)`);
  const { definePreparedQuery } = createQueryFactory(() => db);
  const addTwice = definePreparedQuery(
    { tables, transaction: true },
    async function addTwice(tx, id: number) {
      const add = tx.insert(notes).values({ id: sql.placeholder("id"), title: "x" }).prepare("add");
      await add.execute({ id });
      await add.execute({ id }).catch(() => {});
    },
  );
  for (const id of [1, 2, 3]) await assertRejects(() => addTwice(id), UniqueViolationError);
  assertEquals(await executeRows(db, sql`SELECT * FROM notes`), []);
  restore();
  await closeDrizzleClient(config);
});
