import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { eq, exists, is, sql } from "drizzle-orm";
import { integer, PgSelectBase, pgTable, text } from "drizzle-orm/pg-core";
import { drizzle } from "drizzle-orm/postgres-js";
import type { DrizzleClient } from "../../../database/mod.ts";
import { type PreparedByName, reusePrepared } from "../../../database/queries/reuse_prepared.ts";

const notes = pgTable("notes", { id: integer("id").primaryKey(), title: text("title") });
const tags = pgTable("tags", { noteId: integer("note_id"), name: text("name") });
const schema = { notes, values: tags };
type Client = DrizzleClient<typeof schema>;

function connect(): Client {
  return drizzle.mock({ schema }) as unknown as Client;
}

/** A client whose steps are counted: every method gives the same builder, and `prepare` the number of its call. */
function counted(): { db: Client; steps: string[] } {
  const steps: string[] = [];
  const step = (name: string, result: () => unknown) => (): unknown => (steps.push(name), result());
  const builder: Record<string, unknown> = {};
  for (const name of ["from", "where", "limit"]) builder[name] = step(name, () => builder);
  builder.prepare = step("prepare", () => ({ number: steps.length }));
  return { db: { select: step("select", () => builder) } as unknown as Client, steps };
}

Deno.test("reusePrepared() builds a statement once for each name", () => {
  const { db, steps } = counted();
  const prepared: PreparedByName = new Map();
  const find = (name: string) =>
    reusePrepared(db, prepared).select().from(notes).where(sql`true`).limit(1).prepare(name);
  const first = find("a");
  assertEquals(steps, ["select", "from", "where", "limit", "prepare"]);
  assertStrictEquals(find("a"), first);
  assertEquals(steps.length, 5);
  find("b");
  assertEquals(steps.length, 10);
});

Deno.test("reusePrepared() keeps to the order of calls also where a step's result is dropped", () => {
  const { db, steps } = counted();
  const query = reusePrepared(db, new Map()).select().from(notes);
  query.where(sql`true`);
  query.limit(1);
  query.prepare("a");
  assertEquals(steps, ["select", "from", "where", "limit", "prepare"]);
});

Deno.test("reusePrepared() gives the SQL of the client itself", () => {
  const queries: Record<string, (db: Client) => { toSQL(): unknown }> = {
    "a chain": (db) =>
      db.select().from(notes).where(eq(notes.id, 1)).orderBy(notes.title).limit(2).for("update"),
    "chosen columns": (db) =>
      db.selectDistinct({ id: notes.id }).from(notes).leftJoin(tags, eq(tags.noteId, notes.id)),
    "refined in place": (db) => {
      const query = db.select().from(notes).$dynamic();
      query.where(eq(notes.id, 7));
      return query;
    },
    "a subquery in a condition": (db) =>
      db.select().from(notes).where(
        exists(db.select().from(tags).where(eq(tags.noteId, notes.id))),
      ),
    "a subquery with a name": (db) => {
      const named = db.select({ id: tags.noteId }).from(tags).as("named");
      return db.select().from(named).where(eq(named.id, 1));
    },
    "with": (db) => {
      const few = db.$with("few").as(db.select().from(notes).limit(3));
      return db.with(few).select().from(few);
    },
    "union": (db) => db.select().from(notes).union(db.select().from(notes)),
    "insert": (db) =>
      db.insert(notes).values({ id: 1 }).onConflictDoNothing().returning({ id: notes.id }),
    "update": (db) =>
      db.update(notes).set({ title: "x" }).from(tags).where(eq(tags.noteId, notes.id)),
    "delete": (db) => db.delete(notes).where(eq(notes.id, 1)),
    "relational": (db) =>
      db.query.notes.findMany({ where: (note, ops) => ops.eq(note.id, 1), limit: 1 }),
    "a table named as a step": (db) => db.query.values.findFirst({ columns: { name: true } }),
  };
  for (const [name, query] of Object.entries(queries)) {
    assertEquals(
      query(reusePrepared(connect(), new Map())).toSQL(),
      query(connect()).toSQL(),
      name,
    );
  }
});

Deno.test("reusePrepared() gives steps that pass for drizzle's own", () => {
  const db = reusePrepared(connect(), new Map());
  const query = db.select().from(notes);
  assert(is(query, PgSelectBase));
  assertInstanceOf(query, PgSelectBase);
  assert("where" in query);
  assertEquals((db.query as Record<string, unknown>).unknown, undefined);
  assertEquals((db as unknown as Record<string, unknown>).prepare, undefined);
});

Deno.test("reusePrepared() throws what a step throws when the statement is prepared", () => {
  const db = reusePrepared(connect(), new Map());
  const doubled = db.select().from(notes).leftJoin(tags, sql`true`).leftJoin(tags, sql`true`);
  assertThrows(() => doubled.prepare("a"), Error, 'Alias "tags" is already used');
});
