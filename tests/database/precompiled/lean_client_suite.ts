// Run by lean_client_system_test.ts, with an import map that replaces the modules of a bundle without drizzle.
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import { DrizzleQueryError, is } from "drizzle-orm";
import { integer, PgDatabase, pgTable, PgTransaction, text } from "drizzle-orm/pg-core";
import {
  closeDrizzleClient,
  createQueryFactory,
  type DatabaseConfig,
  DatabaseOperation,
  type DrizzleClient,
  getDrizzleClient,
  sendAhead,
  TransactionMisuseError,
  UniqueViolationError,
  withTransaction,
} from "../../../database/mod.ts";
import { sql } from "../../../database/orm.ts";
import { DataApiDialect } from "../../../database/precompiled/data_api_dialect.ts";
import { definePrecompiledSchema } from "../../../database/precompiled/schema.ts";
import { definePrecompiledStatement } from "../../../database/precompiled/statement.ts";
import { definePrecompiledTable } from "../../../database/precompiled/table.ts";
import { createSessionClient } from "../../../database/session/client.ts";
import { ConnectionSlots } from "../../../database/session/connection_slots.ts";
import { type SqlDriver, withSavepoints } from "../../../database/session/driver.ts";
import { setLogOutput } from "../../../observability/mod.ts";
import { loads, schemas, statements } from "../../support/lean_drizzle.ts";

const notes = pgTable("notes", { id: integer("id").primaryKey(), title: text("title") });
schemas["tests#schema"] = { notes };
statements["tests#add"] = (db) =>
  (db as DrizzleClient).insert(notes).values({
    id: sql.placeholder("id"),
    title: sql.placeholder("title"),
  } as never).prepare("add");

type Prepared = {
  execute(values?: Record<string, unknown>): Promise<Record<string, unknown>[]>;
};

const create = definePrecompiledStatement({
  name: "create",
  text: "create table notes (id int primary key, title text)",
  params: [],
}, "");
const add = definePrecompiledStatement({
  name: "add",
  text: 'insert into "notes" ("id", "title") values ($1, $2)',
  params: [{ placeholder: "id" }, { placeholder: "title" }],
}, "tests#add");
const list = definePrecompiledStatement({
  name: "list",
  text: 'select "id" from "notes" order by "id"',
  params: [],
  cells: [{ path: ["id"] }],
}, "");

function prepare(statement: (db: object) => object, db: object): Prepared {
  return statement(db) as Prepared;
}

const table = definePrecompiledTable("notes", { id: "id", title: "title" });
const writes = { tables: [{ table: table as never, operations: [DatabaseOperation.Insert] }] };

async function withClient(name: string, test: (db: DrizzleClient) => Promise<void>): Promise<void> {
  const config: DatabaseConfig = {
    provider: "embedded-pg",
    connectionString: `memory://${name}`,
    instrument: false,
    schema: definePrecompiledSchema("tests#schema"),
  };
  const restore = setLogOutput(() => {});
  try {
    const db = await getDrizzleClient(config);
    assertStrictEquals(await getDrizzleClient({ ...config }), db);
    await prepare(create, db).execute();
    await test(db);
  } finally {
    restore();
    await closeDrizzleClient(config);
  }
}

async function listIds(db: object): Promise<unknown[]> {
  return (await prepare(list, db).execute()).map(({ id }) => id);
}

Deno.test("the client runs compiled statements and transactions without loading drizzle", async () => {
  const before = loads;
  await withClient("lean_statements", async (db) => {
    await prepare(add, db).execute({ id: 1, title: "a" });
    const { definePreparedQuery } = createQueryFactory(() => db);
    const addTwo = definePreparedQuery(
      {
        ...writes,
        transaction: true,
        constraints: { notes_pkey: { field: "id", message: "is taken" } },
      },
      async function addTwo(tx, id: number, next: number) {
        await prepare(add, tx).execute({ id, title: "b" });
        sendAhead(tx, add(tx) as never, { id: next, title: null });
        return next;
      },
    );
    assertEquals(addTwo.tables, [{ table: "notes", operations: [DatabaseOperation.Insert] }]);
    assertEquals(await addTwo(2, 3), 3);
    const taken = await assertRejects(() => addTwo(4, 1), UniqueViolationError);
    assertEquals(taken.errors, { id: ["is taken"] });
    await withTransaction(db, async (tx) => {
      await prepare(add, tx).execute({ id: 5, title: null });
      await assertRejects(() =>
        withTransaction(tx, async (inner) => {
          await prepare(add, inner).execute({ id: 6, title: null });
          await prepare(add, inner).execute({ id: 1, title: null });
        })
      );
      await withTransaction(tx, (inner) => prepare(add, inner).execute({ id: 7, title: null }));
    });
    await db.transaction((tx) => prepare(add, tx).execute({ id: 8, title: null }));
    let kept: object | undefined;
    await withTransaction(db, (tx) => Promise.resolve(kept = tx));
    await assertRejects(() => prepare(list, kept!).execute(), TransactionMisuseError);
    assertEquals(await listIds(db), [1, 2, 3, 5, 7, 8]);
  });
  assertEquals(loads, before);
});

Deno.test("the client forwards everything else to drizzle's client on the same transaction", async () => {
  await withClient("lean_forwards", async (db) => {
    const before = loads;
    await withTransaction(db, async (tx) => {
      await prepare(add, tx).execute({ id: 1, title: "a" });
      assertEquals(await tx.select().from(notes), [{ id: 1, title: "a" }]);
      assert(loads > before);
      assertEquals(await tx.$count(notes), 1);
      const query = (tx as unknown as DrizzleClient<{ notes: typeof notes }>).query;
      assertEquals(await query.notes.findMany(), [{ id: 1, title: "a" }]);
      await tx.transaction(async (inner) => {
        await inner.execute("insert into notes values (2)" as never);
        await inner._.session.transaction((innermost) =>
          prepare(add, innermost).execute({ id: 3, title: null })
        );
        inner.rollback();
      }).catch((error) => assertEquals(error.message, "Rollback"));
      assertEquals(await listIds(tx), [1]);
    });
    await db._.session.transaction((tx) => prepare(add, tx).execute({ id: 4, title: null }));
    const failed = await assertRejects(() => db.execute("select nothing" as never), Error);
    assert(failed.message.startsWith("Failed query: select nothing\nparams: "));
    assertEquals(await listIds(db), [1, 4]);
  });
});

/** Lists the names of an object's members, and of those that it inherits. */
function listMembers(value: object): PropertyKey[] {
  const names = new Set<PropertyKey>();
  for (let at = value; at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const name of Reflect.ownKeys(at)) names.add(name);
  }
  return [...names];
}

Deno.test("the clients have every member of drizzle's classes, and their kind", async () => {
  await withClient("lean_members", async (db) => {
    const plain = new PgDatabase({} as never, {} as never, undefined);
    for (const name of listMembers(plain)) {
      assert(name in db, String(name));
      assertEquals(typeof Reflect.get(db, name), typeof Reflect.get(plain, name), String(name));
    }
    assert(is(db, PgDatabase) && db instanceof PgDatabase && !is(db, PgTransaction));
    await withTransaction(db, (tx) => {
      const Plain = PgTransaction as unknown as new (...parts: unknown[]) => object;
      const plain = new Plain({}, {}, undefined, 0);
      for (const name of listMembers(plain)) {
        assert(name in tx, String(name));
        assertEquals(typeof Reflect.get(tx, name), typeof Reflect.get(plain, name), String(name));
      }
      assert(is(tx, PgTransaction) && tx instanceof PgTransaction);
      return Promise.resolve();
    });
    const own = Object.keys(plain);
    assertEquals(own.filter((name) => !Object.keys(db).includes(name)), []);
    assertEquals(own.filter((name) => !(name in { ...db })), []);
    assert("$client" in db && Reflect.get(db, "then") === undefined);
  });
});

Deno.test("the client keeps what the application changes of it", async () => {
  await withClient("lean_changes", async (db) => {
    const client = db as unknown as Record<string, unknown>;
    client.own = 1;
    Object.defineProperty(client, "fixed", { value: 2 });
    assertEquals([client.own, client.fixed, Object.keys(client).includes("own")], [1, 2, true]);
    client.transaction = () => "mine";
    assertEquals((client.transaction as () => string)(), "mine");
    delete client.transaction;
    delete client.own;
    await db.transaction((tx) => prepare(add, tx).execute({ id: 1, title: null }));
    assertEquals([await listIds(db), "own" in client], [[1], false]);
  });
});

Deno.test("the error of a failed statement has the members of drizzle's", async () => {
  await withClient("lean_errors", async (db) => {
    const values = { id: 1, title: "a" };
    await prepare(add, db).execute(values);
    const error = await assertRejects(() => prepare(add, db).execute(values), Error);
    const cause = error.cause as Error;
    const drizzle = new DrizzleQueryError(
      'insert into "notes" ("id", "title") values ($1, $2)',
      [1, "a"],
      cause,
    );
    assertEquals([error.message, error.name, Object.entries(error)], [
      drizzle.message,
      drizzle.name,
      Object.entries(drizzle),
    ]);
    assertInstanceOf(cause, Error);
  });
});

Deno.test("a statement is built by drizzle for a server with a text of its own", async () => {
  const sent: string[] = [];
  const run: SqlDriver["run"] = ({ text }) => {
    sent.push(text);
    return Promise.resolve({ columns: [], rows: [], command: "INSERT", rowCount: 1 });
  };
  const driver: SqlDriver = {
    client: undefined,
    run,
    transaction: (work) => work(withSavepoints({ run })),
  };
  const restore = setLogOutput(() => {});
  const dialect = new DataApiDialect();
  const db = createSessionClient(driver, new ConnectionSlots(1), { schema: undefined, dialect });
  const { definePreparedQuery } = createQueryFactory(() => db);
  const addOne = definePreparedQuery(
    writes,
    (client, id: number) => prepare(add, client).execute({ id, title: null }),
  );
  await addOne(1);
  await withTransaction(db, (tx) => addOne.on(tx, 2));
  restore();
  const cast = 'insert into "notes" ("id", "title") values (cast(:1 as integer), cast(:2 as text))';
  assertEquals(sent, [cast, cast]);
});
