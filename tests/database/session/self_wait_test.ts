import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import {
  closeDrizzleClient,
  createQueryFactory,
  DatabaseOperation,
  type DrizzleClient,
  executeRows,
  withQueryMetrics,
  withTransaction,
} from "../../../database/mod.ts";
import { TransactionMisuseError } from "../../../errors/mod.ts";
import { eq, sql } from "../../../database/orm.ts";
import { openFaultLab } from "../../support/fault_lab.ts";
import {
  LAB_OPTIONS,
  openWithTables,
  type ProviderTarget,
  shareProviders,
} from "../../support/provider_lab.ts";
import { isDrizzleOne } from "../../../database/session/drizzle_version.ts";

const notes = pgTable("notes", { id: integer("id").primaryKey(), title: text("title") });
const schema = { notes };
type Client = DrizzleClient<typeof schema>;

const getLab = shareProviders();
const NOTES = "CREATE TABLE notes (id int PRIMARY KEY, title text)";

async function onEachProvider(
  test: (db: Client, target: ProviderTarget) => Promise<void>,
  maxConnections?: number,
): Promise<void> {
  for (const target of (await getLab()).targets) {
    const { config } = target;
    const isPool = maxConnections !== undefined && target.name !== "embedded-pg" &&
      target.name !== "data-api";
    const own = isPool ? { ...config, maxConnections } : config;
    await test(await openWithTables({ ...own, schema }, NOTES), target);
    if (isPool) await closeDrizzleClient(own);
  }
}

/** Every way to use the outer client, and what the error must name. */
function getUses(db: Client): Record<string, [run: () => Promise<unknown>, name: string]> {
  const { defineQuery, definePreparedQuery } = createQueryFactory(() => db);
  const tables = [{ table: notes, operations: [DatabaseOperation.Select] }];
  const listNotes = defineQuery({ tables }, async function listNotes(client) {
    return await client.select().from(notes);
  });
  const findNote = definePreparedQuery({ tables }, function findNote(client, id: number) {
    return client.select().from(notes).where(eq(notes.id, sql.placeholder("id"))).prepare("find")
      .execute({ id });
  });
  const addNote = defineQuery({ tables, transaction: true }, async function addNote(client) {
    await client.insert(notes).values({ id: 99 });
  });
  const prepared = db.select().from(notes).prepare("all_notes");
  return {
    "execute": [() => db.execute(sql`INSERT INTO notes VALUES (99)`), "INSERT statement"],
    "insert": [() => db.insert(notes).values({ id: 99 }).execute(), "insert on notes"],
    "select": [() => db.select().from(notes).execute(), "select on notes"],
    "relational": [
      () => db.query.notes.findMany().execute(),
      isDrizzleOne ? "select on notes" : "SELECT statement",
    ],
    "prepared": [() => prepared.execute(), "all_notes"],
    "executeRows": [
      () => executeRows(db as never, sql`DELETE FROM notes RETURNING *`),
      "DELETE statement",
    ],
    "defined": [() => listNotes(), "listNotes"],
    "defined and prepared": [() => findNote(1), "findNote"],
    "defined in a transaction": [() => addNote(), "addNote"],
    "withQueryMetrics": [
      () => withQueryMetrics("countNotes", async () => await db.$count(notes)),
      "countNotes",
    ],
    "withTransaction": [
      () => withTransaction(db, (tx) => tx.insert(notes).values({ id: 99 })),
      "transaction",
    ],
    "transaction": [
      () => db.transaction((tx) => tx.insert(notes).values({ id: 99 })),
      "transaction",
    ],
  };
}

async function assertRefused(
  run: () => Promise<unknown>,
  name: string,
  what: string,
): Promise<void> {
  const startedAt = performance.now();
  const error = await assertRejects(run, Error, undefined, what);
  assertInstanceOf(error, TransactionMisuseError, what);
  assert(performance.now() - startedAt < 2000, `${what} took ${performance.now() - startedAt} ms`);
  for (const part of [name, "tx", ".on(tx, …)", "withTransaction"]) {
    assertStringIncludes(error.message, part, what);
  }
  assertEquals(error.message.includes("VALUES"), false, what);
}

Deno.test(
  "a query on the outer client in a transaction that holds the only connection is refused at once",
  LAB_OPTIONS,
  async () => {
    await onEachProvider(async (db, { name: provider }) => {
      for (const [use, [run, name]] of Object.entries(getUses(db))) {
        const what = `${provider}: ${use}`;
        await withTransaction(db, async (tx) => {
          await tx.insert(notes).values({ id: 1 });
          // there is no connection that would be held
          if (provider === "data-api") return;
          await assertRefused(run, name, what);
          await assertRefused(() => Promise.resolve().then(run), name, what);
          if (provider !== "distsql") await tx.transaction(() => assertRefused(run, name, what));
          // the transaction goes on
          await tx.insert(notes).values({ id: 2 });
        });
        assertEquals(await db.$count(notes), provider === "data-api" ? 1 : 2, what);
        await db.delete(notes);
      }
    });
  },
);

Deno.test(
  "the Data API runs a query on the outer client beside the transaction",
  LAB_OPTIONS,
  async () => {
    await onEachProvider(async (db, { name }) => {
      if (name !== "data-api") return;
      await withTransaction(db, async (tx) => {
        await tx.insert(notes).values({ id: 1 });
        assertEquals(await db.$count(notes), 0);
        await withTransaction(db, (other) => other.insert(notes).values({ id: 2 }));
      });
      assertEquals(await db.$count(notes), 2);
    });
  },
);

Deno.test(
  "a query on the outer client is fine while a connection is free",
  LAB_OPTIONS,
  async () => {
    await onEachProvider(async (db, { name }) => {
      if (name === "embedded-pg") return;
      await withTransaction(db, async (tx) => {
        await tx.insert(notes).values({ id: 1 });
        assertEquals(await db.$count(notes), 0, name);
        await withTransaction(db, (other) => other.insert(notes).values({ id: 2 }));
        assertEquals(await Promise.all([db.$count(notes), db.$count(notes), db.$count(notes)]), [
          1,
          1,
          1,
        ], name);
      });
      assertEquals(await db.$count(notes), 2, name);

      // each holds a connection and wants another one: one gives in, and the other goes on
      const both = await Promise.allSettled([3, 4].map((id) =>
        withTransaction(db, async (tx) => {
          await tx.insert(notes).values({ id });
          await new Promise((resolve) => setTimeout(resolve, 50));
          return await db.$count(notes);
        })
      ));
      if (name === "data-api") return;
      const failures = both.filter((outcome) => outcome.status === "rejected");
      assertEquals(failures.length, 1, name);
      assertInstanceOf(failures[0].reason, TransactionMisuseError, name);
      assertStringIncludes(failures[0].reason.message, "all 2 connections", name);
      assertEquals(await db.$count(notes), 3, name);
    }, 2);
  },
);

Deno.test(
  "requests that wait for each other's transactions are not refused",
  LAB_OPTIONS,
  async () => {
    await onEachProvider(async (db, { name }) => {
      async function request(id: number): Promise<void> {
        if (id % 3 === 0) await db.insert(notes).values({ id });
        else {
          await withTransaction(db, async (tx) => {
            await tx.insert(notes).values({ id });
            // something slow that is not the database's
            await new Promise((resolve) => setTimeout(resolve, 20));
            await tx.update(notes).set({ title: "done" }).where(eq(notes.id, id));
          });
        }
        assertEquals((await db.select().from(notes).where(eq(notes.id, id))).length, 1);
      }
      await Promise.all(Array.from({ length: 30 }, (_, id) => request(id)));
      assertEquals(await db.$count(notes), 30, name);
    });
  },
);

Deno.test(
  "work that a transaction began and that comes after it is not refused",
  LAB_OPTIONS,
  async () => {
    await onEachProvider(async (db, { name }) => {
      let later: Promise<number> = Promise.resolve(-1);
      await withTransaction(db, async (tx) => {
        await tx.insert(notes).values({ id: 1 });
        later = new Promise((resolve) => setTimeout(resolve, 50)).then(() => db.$count(notes));
      });
      const other = withTransaction(db, async (tx) => {
        await new Promise((resolve) => setTimeout(resolve, 100));
        await tx.insert(notes).values({ id: 2 });
      });
      assertEquals(await later, name === "data-api" ? 1 : 2, name);
      await other;
    });
  },
);

Deno.test(
  "in a handler the mistake is a 500 at once, and the log names the query",
  LAB_OPTIONS,
  async () => {
    const lab = openFaultLab();
    try {
      await onEachProvider(async (db, { name }) => {
        if (name === "data-api") return;
        const [findNote] = getUses(db)["defined and prepared"];
        const seen = await lab.request("", () => withTransaction(db, () => findNote()), 3000);
        assertEquals([seen.status, seen.code, seen.error], [
          500,
          "TRANSACTION_MISUSE",
          "TransactionMisuseError",
        ], name);
        assert(seen.ms < 1500, `${name} took ${seen.ms} ms`);
        const line = lab.lines.findLast(({ message }) => message === "request failed");
        assertStringIncludes(JSON.stringify(line), "findNote", name);
        assertEquals((await lab.request("", () => db.execute(sql`select 1`))).status, 200, name);
      });
    } finally {
      lab.close();
    }
  },
);

/** Runs work in the asynchronous context in which the queue was made, as loaders and pools of workers do. */
function createQueue(): <T>(work: () => Promise<T>) => Promise<T> {
  let wake = (): void => {};
  const jobs: (() => Promise<void>)[] = [];
  void (async () => {
    for (;;) {
      while (jobs.length === 0) await new Promise<void>((resolve) => wake = resolve);
      await jobs.shift()!();
    }
  })();
  return (work) =>
    new Promise((resolve, reject) => {
      jobs.push(() => work().then(resolve, reject));
      wake();
    });
}

Deno.test(
  "a query whose context is lost is refused after the transaction was idle for a while",
  LAB_OPTIONS,
  async () => {
    async function tryOne({ name, config }: ProviderTarget): Promise<void> {
      if (name === "data-api") return;
      const db = await openWithTables({ ...config, schema }, NOTES);
      const enqueue = createQueue();
      await withTransaction(db, async (tx) => {
        await tx.insert(notes).values({ id: 1 });
        const startedAt = performance.now();
        const error = await assertRejects(() =>
          enqueue(() => withQueryMetrics("lostQuery", () => db.$count(notes)))
        );
        assertInstanceOf(error, TransactionMisuseError, name);
        for (const part of ["lostQuery", "tx", ".on(tx, …)"]) {
          assertStringIncludes(error.message, part, name);
        }
        const waitedMs = performance.now() - startedAt;
        assert(waitedMs > 4000 && waitedMs < 20_000, `${name} waited ${waitedMs} ms`);
        await tx.insert(notes).values({ id: 2 });
      });
      assertEquals(await db.$count(notes), 2, name);
    }
    await Promise.all((await getLab()).targets.map(tryOne));
  },
);
