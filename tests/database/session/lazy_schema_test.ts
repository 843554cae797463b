import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { relations } from "drizzle-orm";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { ConnectionSlots } from "../../../database/session/connection_slots.ts";
import {
  type SqlDriver,
  type StatementResult,
  withSavepoints,
} from "../../../database/session/driver.ts";
import { createSessionClient } from "../../../database/session/client.ts";

const authors = pgTable("authors", { id: integer("id").primaryKey(), name: text("name") });
const notes = pgTable("notes", { id: integer("id").primaryKey(), authorId: integer("author_id") });
const notesRelations = relations(notes, ({ one }) => ({
  author: one(authors, { fields: [notes.authorId], references: [authors.id] }),
}));

/** Creates a driver without a server, and a schema that counts how often it is read. */
function createClient() {
  const sent: string[] = [];
  const empty: StatementResult = { columns: [], rows: [], command: "SELECT", rowCount: 0 };
  const run: SqlDriver["run"] = ({ text }) => {
    sent.push(text);
    return Promise.resolve(empty);
  };
  const driver: SqlDriver = {
    client: undefined,
    run,
    transaction: (work) => work(withSavepoints({ run })),
  };
  let reads = 0;
  const schema = new Proxy({ authors, notes, notesRelations }, {
    ownKeys: (target) => (reads++, Reflect.ownKeys(target)),
  });
  const db = createSessionClient(driver, new ConnectionSlots(1), { schema });
  return { db: db as unknown as TestClient, sent, schema, countReads: () => reads };
}

interface TestClient {
  readonly query: Record<string, { findMany(options: object): { toSQL(): { sql: string } } }>;
  readonly _: { fullSchema: object; tableNamesMap: object; schema: Record<string, unknown> };
  select(): { from(table: object): Promise<unknown> };
  transaction<T>(work: (tx: TestClient) => Promise<T>): Promise<T>;
}

Deno.test("createSessionClient() reads the relations of a schema when they are first used", async () => {
  const { db, sent, schema, countReads } = createClient();
  await db.select().from(notes);
  await db.transaction((tx) => tx.transaction((inner) => inner.select().from(notes)));
  assertEquals([db._.fullSchema, countReads(), sent.length], [schema, 0, 4]);

  assertStrictEquals(db.query, db.query);
  assertEquals(countReads(), 0);
  const text = db.query.notes.findMany({ with: { author: true } }).toSQL().sql;
  const onceRead = countReads();
  assertEquals([Object.keys(db.query), "notes" in db.query, "users" in db.query], [
    ["authors", "notes"],
    true,
    false,
  ]);
  assert(text.includes('from "authors"'), text);
  const inTransaction = await db.transaction((tx) =>
    tx.transaction((inner) =>
      Promise.resolve(inner.query.notes.findMany({ with: { author: true } }).toSQL().sql)
    )
  );
  assertEquals(inTransaction, text);
  assertEquals(Object.keys(db._.schema), ["authors", "notes"]);
  assertEquals(db._.tableNamesMap, { "public.authors": "authors", "public.notes": "notes" });
  assertEquals(countReads(), onceRead);
});
