import { assertEquals, assertInstanceOf, assertRejects, assertStringIncludes } from "@std/assert";
import { AsyncLocalStorage } from "node:async_hooks";
import { count, gte, inArray, like } from "drizzle-orm";
import {
  boolean,
  customType,
  integer,
  jsonb,
  pgTable,
  text,
  timestamp,
  union,
  unique,
  uuid,
} from "drizzle-orm/pg-core";
import {
  closeDrizzleClient,
  createQueryFactory,
  type DatabaseConfig,
  DatabaseError,
  DatabaseOperation,
  getDrizzleClient,
  type Params,
  withTransaction,
} from "../../../database/mod.ts";
import type { StatementClient } from "../../../database/types.ts";
import { UniqueViolationError } from "../../../errors/mod.ts";
import { and, asc, desc, eq, or, sql } from "../../../database/orm.ts";
import { getRequestContext } from "../../../core/request_context.ts";
import { ConfigurationError } from "../../../errors/mod.ts";
import { setLogOutput } from "../../../observability/mod.ts";

let made = 0;
const notes = pgTable("notes", {
  id: integer("id").primaryKey(),
  owner: text("owner").notNull(),
  title: text("title"),
  isDone: boolean("is_done").notNull().default(false),
  due: timestamp("due", { withTimezone: true }),
  tags: text("tags").array(),
  data: jsonb("data").$type<{ id: string }>(),
  token: uuid("token").$defaultFn(() => crypto.randomUUID()),
  version: integer("version").$onUpdateFn(() => ++made),
}, (table) => [unique("notes_owner_title").on(table.owner, table.title)]);
const labels = pgTable("labels", { noteId: integer("note_id"), name: text("name") });
const schema = { notes, labels };

const config: DatabaseConfig & { schema: typeof schema } = {
  provider: "embedded-pg",
  connectionString: "memory://statements",
  instrument: false,
  schema,
};
const getDb = () => getDrizzleClient(config);
const { defineQuery, defineStatement } = createQueryFactory(getDb);
const restore = setLogOutput(() => {});
const db = await getDb();
await db.execute(sql`CREATE TABLE notes (id int PRIMARY KEY, owner text NOT NULL, title text,
  is_done boolean NOT NULL DEFAULT false, due timestamptz, tags text[], data jsonb, token uuid, version int,
  CONSTRAINT notes_owner_title UNIQUE (owner, title))`);
await db.execute(sql`CREATE TABLE labels (note_id int, name text)`);
await db.execute(sql`INSERT INTO notes (id, owner, title, due) VALUES
  (1, 'ada', 'one', '2026-01-01'), (2, 'ada', 'two', '2026-02-01'), (3, 'bob', 'three', NULL)`);
await db.execute(sql`INSERT INTO labels VALUES (1, 'red'), (1, 'blue')`);
Deno.test.afterAll(async () => {
  await closeDrizzleClient(config);
  restore();
});

const findByOwner = defineStatement(
  "findByOwner",
  (db, p: Params<{ owner: string; limit: number; offset: number }>) =>
    db.select({ id: notes.id, title: notes.title }).from(notes).where(eq(notes.owner, p.owner))
      .orderBy(desc(notes.id)).limit(p.limit).offset(p.offset),
);

Deno.test("defineStatement() gives the rows for the values of each call", async () => {
  const [one, two, three] = ["one", "two", "three"].map((title, at) => ({ id: at + 1, title }));
  assertEquals(await findByOwner({ owner: "ada", limit: 9, offset: 0 }), [two, one]);
  assertEquals(await findByOwner({ owner: "bob", limit: 9, offset: 0 }), [three]);
  assertEquals(await findByOwner({ owner: "ada", limit: 1, offset: 1 }), [one]);
  assertEquals([findByOwner.queryName, findByOwner.tables], ["findByOwner", []]);
  const all = defineStatement("all", (db) => db.select({ id: notes.id }).from(notes));
  assertEquals((await all()).length, 3);
});

Deno.test("defineStatement() encodes a parameter as the column does that it is compared with", async () => {
  const dueSince = defineStatement(
    "dueSince",
    (db, p: Params<{ since: Date }>) =>
      db.select({ id: notes.id }).from(notes).where(gte(notes.due, p.since)),
  );
  assertEquals(await dueSince({ since: new Date("2026-01-15") }), [{ id: 2 }]);
  assertEquals(await dueSince({ since: new Date("2025-01-15") }), [{ id: 1 }, { id: 2 }]);
});

Deno.test("defineStatement() maps rows, joins and raw results as drizzle does", async () => {
  const withLabels = defineStatement(
    "withLabels",
    (db, p: Params<{ owner: string }>) =>
      db.select().from(notes).leftJoin(labels, eq(labels.noteId, notes.id))
        .where(eq(notes.owner, p.owner)).orderBy(notes.id, labels.name),
  );
  for (const owner of ["ada", "bob"]) {
    assertEquals(
      await withLabels({ owner }),
      await db.select().from(notes).leftJoin(labels, eq(labels.noteId, notes.id))
        .where(eq(notes.owner, owner)).orderBy(notes.id, labels.name),
    );
  }
  const countOf = defineStatement(
    "countOf",
    (db, p: Params<{ owner: string }>) =>
      db.execute<{ n: number }>(sql`select count(*)::int as n from notes where owner = ${p.owner}`),
    { map: ({ rows }) => rows[0].n },
  );
  assertEquals([await countOf({ owner: "ada" }), await countOf({ owner: "bob" })], [2, 1]);
});

Deno.test("defineStatement() runs the functions of columns at each call", async () => {
  const insert = defineStatement(
    "insert",
    (db, p: Params<{ id: number; tags: string[]; data: { id: string } }>) =>
      db.insert(notes).values({ id: p.id, owner: "eve", tags: p.tags, data: p.data })
        .onConflictDoUpdate({ target: notes.id, set: { tags: p.tags } }).returning(),
    { map: ([row]) => row },
  );
  const first = await insert({ id: 10, tags: ["a"], data: { id: "x" } });
  const second = await insert({ id: 11, tags: [], data: { id: "y" } });
  assertEquals([first.tags, first.data, second.data], [["a"], { id: "x" }, { id: "y" }]);
  assertEquals(typeof first.token === "string" && first.token !== second.token, true);
  const changed = await insert({ id: 10, tags: ["b"], data: { id: "z" } });
  assertEquals([changed.token, changed.tags], [first.token, ["b"]]);
  assertEquals(changed.version! > first.version!, true);
  const rename = defineStatement(
    "rename",
    (db, p: Params<{ id: number; title: string | null }>) =>
      db.update(notes).set({ title: p.title }).where(eq(notes.id, p.id)).returning(),
  );
  const versions = [];
  for (const title of ["x", null, "y"]) {
    const [row] = await rename({ id: 10, title });
    versions.push(row.version);
    assertEquals(row.title, title);
  }
  assertEquals(new Set(versions).size, 3);
  const remove = defineStatement(
    "remove",
    (db, p: Params<{ owner: string }>) => db.delete(notes).where(eq(notes.owner, p.owner)),
  );
  assertEquals((await remove({ owner: "eve" })).rowCount, 2);
});

Deno.test("defineStatement() takes part in a transaction with on()", async () => {
  const add = defineStatement(
    "add",
    (db, p: Params<{ id: number }>) => db.insert(notes).values({ id: p.id, owner: "tx" }),
  );
  const lock = defineStatement(
    "lock",
    (db, p: Params<{ owner: string }>) =>
      db.select({ id: notes.id }).from(notes).where(eq(notes.owner, p.owner)).for("update"),
  );
  const addBoth = defineQuery({ tables: [], transaction: true }, async function addBoth(tx) {
    await add.on(tx, { id: 20 });
    await add.on(tx, { id: 21 });
    return await lock.on(tx, { owner: "tx" });
  });
  assertEquals(await addBoth(), [{ id: 20 }, { id: 21 }]);
  await withTransaction(db, async (tx) => {
    await add.on(tx, { id: 22 });
    throw new Error("undo");
  }).catch(() => {});
  assertEquals((await lock({ owner: "tx" })).length, 2);
  await db.delete(notes).where(eq(notes.owner, "tx"));
});

Deno.test("defineStatement() maps constraints and declares tables", async () => {
  const add = defineStatement(
    "add",
    (db, p: Params<{ id: number; title: string }>) =>
      db.insert(notes).values({ id: p.id, owner: "ada", title: p.title }),
    {
      constraints: { notes_owner_title: { field: "title", message: "is taken" } },
      tables: [{ table: notes, operations: [DatabaseOperation.Insert] }],
      retry: false,
    },
  );
  assertEquals(add.tables, [{ table: "notes", operations: [DatabaseOperation.Insert] }]);
  const error = await assertRejects(() => add({ id: 30, title: "one" }), UniqueViolationError);
  assertEquals(error.errors, { title: ["is taken"] });
});

Deno.test("defineStatement() builds the statement for a value that changes its text", async () => {
  const byTitle = defineStatement(
    "byTitle",
    (db, p: Params<{ title: unknown }>) =>
      db.select({ id: notes.id }).from(notes).where(sql`${notes.title} = ${p.title}`),
  );
  assertEquals(await byTitle({ title: "one" }), [{ id: 1 }]);
  assertEquals(await byTitle({ title: sql`lower(${"TWO"})` }), [{ id: 2 }]);
  assertEquals(await byTitle({ title: "three" }), [{ id: 3 }]);
});

Deno.test("defineStatement() refuses a call without a value", async () => {
  const error = await assertRejects(
    () => findByOwner({ owner: "ada", limit: undefined as never, offset: 0 }),
    DatabaseError,
  );
  assertStringIncludes(String((error.cause as Error).message), "p.limit is undefined");
  const own = defineStatement(
    "own",
    (db, p: Params<{ toString: string }>) =>
      db.select().from(notes).where(eq(notes.owner, p.toString as never)),
  );
  await assertRejects(() => own({} as never), DatabaseError);
});

const tenants = new AsyncLocalStorage<string>();
const unlessAdmin = (role: string) => role === "admin" ? undefined : eq(notes.owner, role);
const isAdmin = (decision: boolean, role: string) => decision ? undefined : eq(notes.owner, role);
const getToday = () =>
  "Temporal" in globalThis ? Temporal.Now.plainDateISO().toString() : new Date().toISOString();
const anyP = (p: unknown): Record<string, never> => p as Record<string, never>;
type AnyBuilder = (db: StatementClient, p: Params<Record<string, never>>) => PromiseLike<unknown>;
const from = (db: StatementClient) => db.select().from(notes);
const REFUSED: Record<string, [reason: string, builder: AnyBuilder]> = {
  "arithmetic": ["p.limit decides", (db, p) => from(db).limit(p.limit + 1 as never)],
  "a condition": [
    "p.archived decides",
    (db, p) => from(db).where(p.archived ? eq(notes.isDone, true) : undefined),
  ],
  "a template literal": [
    "p.q decides",
    (db, p) => from(db).where(like(notes.title, `%${p.q}%`)),
  ],
  "a spread": ["p cannot be spread", (db, p) => db.insert(notes).values({ ...p } as never)],
  "a listed p": ["p cannot be spread", (db, p) => db.insert(notes).values(p as never)],
  "a property": ["p.user decides", (db, p) => from(db).where(eq(notes.owner, anyP(p.user).id))],
  "an optional property": [
    "p.user decides",
    (db, p) => from(db).where(eq(notes.owner, (p.user as { id: string } | null)?.id as string)),
  ],
  "a method": ["p.q decides", (db, p) => from(db).where(eq(notes.owner, (p.q as string).trim()))],
  "a default": ["p.q decides", (db, p) => from(db).where(eq(notes.owner, p.q ?? "none"))],
  "a comparison": [
    "p.role decides",
    (db, p) => from(db).where(p.role as unknown === "admin" ? undefined : eq(notes.id, 1)),
  ],
  "a lookup": [
    "p.role decides",
    (db, p) => from(db).where(["admin"].includes(p.role) ? undefined : eq(notes.id, 1)),
  ],
  "a comparison beside a use": [
    "p.owner decides",
    (db, p) =>
      from(db).where(
        and(eq(notes.owner, p.owner), p.owner as unknown === "ada" ? undefined : eq(notes.id, 1)),
      ),
  ],
  "a comparison of a renamed parameter": [
    "gets another name",
    (db, p) => {
      const { role } = p;
      return from(db).where(isAdmin(role === "admin", role));
    },
  ],
  "a comparison of a renamed member": [
    "gets another name",
    (db, p) => {
      const role = p.role as string;
      switch (role) {
        case "admin":
          return from(db);
        default:
          return from(db).where(eq(notes.owner, role));
      }
    },
  ],
  "a lookup of a destructured parameter": [
    "gets another name",
    (db, { role }) =>
      from(db).where(isAdmin((["admin"] as readonly string[]).includes(role), role)),
  ],
  "a conjunction": [
    "p.mine decides",
    (db, p) => from(db).where((p.mine && eq(notes.owner, "ada")) as undefined),
  ],
  "a copied list": [
    "p.ids decides",
    (db, p) => from(db).where(inArray(notes.id, [...p.ids as number[]])),
  ],
  "raw SQL": ["p.order decides", (db, p) => from(db).orderBy(sql.raw(p.order))],
  "a name in SQL": [
    "p.column decides",
    (db, p) => from(db).where(sql`${sql.identifier(p.column)} is null`),
  ],
  "the parameters as JSON": [
    "p cannot be spread",
    (db, p) => from(db).where(eq(notes.title, JSON.stringify(p))),
  ],
  "the context of a request": [
    "reads the context of a request",
    (db) => from(db).where(tenants.getStore() ? eq(notes.owner, tenants.getStore()!) : undefined),
  ],
  "the invocation": [
    "reads the context of a request",
    (db) => from(db).where(getRequestContext() ? eq(notes.owner, "x") : undefined),
  ],
  "the calendar": [
    "reads the clock",
    (db) => from(db).where(eq(notes.title, getToday())),
  ],
  "no value": ["binds undefined", (db) => from(db).where(eq(notes.owner, undefined as never))],
  "a type": [
    "p.q decides",
    (db, p) => from(db).where(typeof p.q === "string" ? eq(notes.id, 1) : undefined),
  ],
  "an unused parameter": ["p.q decides", (db, p) => (p.q, from(db))],
  "a list": ["p.ids decides", (db, p) => from(db).where(inArray(notes.id, p.ids))],
  "a key": ["p.by decides", (db, p) => from(db).orderBy(({ id: notes.id } as never)[p.by])],
  "a part of a json value": [
    "p.id decides",
    (db, p) => db.insert(notes).values({ id: 1, owner: "a", data: { id: p.id } }),
  ],
  "a part of an array": [
    "p.tag decides",
    (db, p) => db.insert(notes).values({ id: 1, owner: "a", tags: [p.tag] }),
  ],
  "the clock": ["reads the clock", (db) => from(db).where(gte(notes.due, new Date()))],
  "the clock as a number": [
    "reads the clock",
    (db) => from(db).where(gte(notes.due, new Date(Date.now() - 86_400_000))),
  ],
  "a random number": ["a random number", (db) => from(db).limit(Math.random() > 0.5 ? 1 : 2)],
  "a random id": [
    "differs from run to run",
    (db) => from(db).where(eq(notes.token, crypto.randomUUID())),
  ],
  "a promise": ["returns a promise", async (db) => await Promise.resolve(from(db))],
  "no statement": ["must return a statement", () => undefined as never],
  "a relational query": [
    "findMany",
    (db) => anyP((db as unknown as { query: object }).query).notes,
  ],
};

Deno.test("defineStatement() refuses what a value, the clock or chance decides", async () => {
  for (const [name, [reason, builder]] of Object.entries(REFUSED)) {
    const statement = defineStatement<Record<string, never>>(name, builder as never);
    const run = () => tenants.run("the tenant of the first request", () => statement({}));
    for (let call = 0; call < 2; call++) {
      const error = await assertRejects(run, ConfigurationError, undefined, name);
      if (name === "a relational query") continue;
      assertStringIncludes(error.message, reason, name);
      assertStringIncludes(error.message, `defineStatement("${name}")`, name);
    }
  }
  assertEquals(typeof new Date().getTime(), "number");
  assertEquals(tenants.run("a", () => tenants.getStore()), "a");
  assertEquals(getToday().length >= 10, true);
});

Deno.test("defineStatement() refuses a call whose values give another statement", async () => {
  const byRole = defineStatement(
    "byRole",
    (db, p: Params<{ role: string }>) => from(db as never).where(unlessAdmin(p.role)),
  );
  await byRole({ role: "ada" });
  const error = await assertRejects(() => byRole({ role: "admin" }), ConfigurationError);
  assertStringIncludes(error.message, 'defineStatement("byRole"): the values of this call give');
  let owner = "ada";
  const ofOwner = defineStatement(
    "ofOwner",
    (db) => from(db as never).where(eq(notes.owner, owner)),
  );
  await ofOwner();
  await ofOwner();
  owner = "bob";
  await ofOwner(); // the third call is not compared
  await assertRejects(() => ofOwner(), ConfigurationError, "has changed");
});

Deno.test("defineStatement() accepts encoders that differ, an offset of 0 and values that change the text", async () => {
  let salt = 0;
  const salted = customType<{ data: string; driverData: string }>({
    dataType: () => "text",
    toDriver: (value) => `${value} ${++salt}`,
  });
  const table = pgTable("notes", { id: integer("id"), owner: salted("owner") });
  const update = defineStatement(
    "salted",
    (db, p: Params<{ id: number; owner: string }>) =>
      db.update(table).set({ owner: p.owner }).where(eq(table.id, p.id)),
  );
  for (let call = 0; call < 8; call++) await update({ id: 999, owner: "ada" });
  for (const offset of [0, 0, 1, 0]) await findByOwner({ owner: "ada", limit: 0, offset });
});

Deno.test("defineStatement() accepts sets, common tables, subqueries and several uses", async () => {
  const statement = defineStatement(
    "many",
    (db, p: Params<{ a: string; b: string; n: number }>) => {
      const own = db.$with("own").as(db.select().from(notes).where(eq(notes.owner, p.a)));
      const { n } = p;
      const both = or(eq(notes.owner, p.a), eq(notes.owner, p.b));
      return db.with(own).select({ id: notes.id, n: sql<number>`${n}::int` }).from(notes)
        .innerJoin(own, eq(own.id, notes.id)).where(both).orderBy(asc(notes.id)).limit(n);
    },
  );
  assertEquals(await statement({ a: "ada", b: "x", n: 1 }), [{ id: 1, n: 1 }]);
  assertEquals(await statement({ a: "bob", b: "x", n: 2 }), [{ id: 3, n: 2 }]);
  const set = defineStatement("set", (db, p: Params<{ a: string; b: string }>) =>
    union(
      db.select({ id: notes.id }).from(notes).where(eq(notes.owner, p.a)),
      db.select({ id: notes.id }).from(notes).where(eq(notes.owner, p.b)),
    ).orderBy(sql`1`));
  assertEquals(await set({ a: "ada", b: "bob" }), [{ id: 1 }, { id: 2 }, { id: 3 }]);
  const grouped = defineStatement(
    "grouped",
    (db, p: Params<{ least: number }>) =>
      db.select({ owner: notes.owner, n: count() }).from(notes).groupBy(notes.owner)
        .having(gte(count(), p.least)).orderBy(notes.owner),
  );
  assertEquals(await grouped({ least: 2 }), [{ owner: "ada", n: 2 }]);
});

Deno.test("defineStatement() refuses a definition without name or builder", () => {
  for (const args of [["", () => {}], [undefined, () => {}], ["x", undefined]]) {
    let thrown: unknown;
    try {
      (defineStatement as (...args: unknown[]) => unknown)(...args);
    } catch (error) {
      thrown = error;
    }
    assertInstanceOf(thrown, ConfigurationError);
  }
});

// what TypeScript refuses
export function checkTypes(): void {
  defineStatement("types", (db, p: Params<{ owner: string; id: number }>) => {
    // @ts-expect-error a number does not fit where a text belongs
    eq(notes.owner, p.id);
    return from(db as never).limit(p.id);
  });
  // @ts-expect-error a parameter is missing
  void findByOwner({ owner: "ada", limit: 1 });
  // @ts-expect-error no parameters are given
  void findByOwner();
}
