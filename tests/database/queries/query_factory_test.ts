import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { alias, integer, PgDialect, pgSchema, pgTable, text } from "drizzle-orm/pg-core";
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
import { eq, sql } from "../../../database/orm.ts";
import { ConfigurationError } from "../../../errors/mod.ts";
import { setLogOutput } from "../../../observability/mod.ts";
import { startPostgres } from "../../support/postgres.ts";

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
  assertThrows(() => defineQuery({} as never, async () => {}), ConfigurationError);
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
  let builds = 0;
  const find = definePreparedQuery({ tables }, function findNote(db, id: number) {
    const select = db.select().from(notes).where(eq(notes.id, sql.placeholder("id")));
    return (builds++, select).prepare("find").execute({ id });
  });
  const findRelational = definePreparedQuery({ tables }, function findRelational(db, id: number) {
    return db.query.notes.findFirst({ where: eq(notes.id, sql.placeholder("id")) }).prepare("find")
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

Deno.test("definePreparedQuery() builds a statement once for the client and all its transactions", async () => {
  const config: DatabaseConfig & { schema: typeof schema } = {
    provider: "embedded-pg",
    connectionString: "memory://prepared_in_transactions",
    instrument: false,
    schema,
  };
  const getDb = () => getDrizzleClient(config);
  const { definePreparedQuery } = createQueryFactory(getDb);
  const addAndFind = definePreparedQuery(
    { tables, transaction: true },
    async function addAndFind(tx, id: number, fail: boolean) {
      await tx.insert(notes).values({ id: sql.placeholder("id"), title: "new" }).prepare("add")
        .execute({ id });
      if (fail) throw new Error("after the row");
      return await tx.select().from(notes).where(eq(notes.id, sql.placeholder("id")))
        .prepare("find").execute({ id });
    },
  );
  let built = 0;
  const { sqlToQuery } = PgDialect.prototype;
  PgDialect.prototype.sqlToQuery = function countBuilds(...args) {
    built++;
    return sqlToQuery.apply(this, args);
  };
  const restore = setLogOutput(() => {});
  try {
    const db = await getDb();
    await db.execute(sql`CREATE TABLE notes (id int PRIMARY KEY, title text NOT NULL)`);
    assertEquals(await addAndFind(1, false), [{ id: 1, title: "new" }]);
    const builtOnce = built;
    assertEquals(await addAndFind(2, false), [{ id: 2, title: "new" }]);
    await assertRejects(() => addAndFind(3, true));
    await withTransaction(db, async (tx) => {
      assertEquals(await addAndFind.on(tx as unknown as typeof db, 4, false), [
        { id: 4, title: "new" },
      ]);
    });
    assertEquals(built, builtOnce);
    assertEquals((await db.select().from(notes)).map(({ id }) => id), [1, 2, 4]);
  } finally {
    restore();
    PgDialect.prototype.sqlToQuery = sqlToQuery;
    await closeDrizzleClient(config);
  }
});
