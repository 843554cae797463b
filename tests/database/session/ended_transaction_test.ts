import { assertEquals, assertInstanceOf, assertRejects, assertStringIncludes } from "@std/assert";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import {
  closeDrizzleClient,
  createQueryFactory,
  DatabaseOperation,
  type DrizzleClient,
  executeRows,
  type TransactionClient,
  withTransaction,
} from "../../../database/mod.ts";
import { TransactionMisuseError } from "../../../errors/mod.ts";
import { eq, sql } from "../../../database/orm.ts";
import { getSqlState } from "../../../errors/driver_error.ts";
import { findInCauseChain } from "../../../errors/mod.ts";
import {
  LAB_OPTIONS,
  openWithTables,
  type ProviderTarget,
  shareProviders,
} from "../../support/provider_lab.ts";

const notes = pgTable("notes", { id: integer("id").primaryKey(), title: text("title") });
const schema = { notes };
type Schema = typeof schema;
type Tx = TransactionClient<Schema>;

const { defineQuery, definePreparedQuery } = createQueryFactory<Schema>(() =>
  Promise.reject(new Error("not called"))
);
const tables = [{ table: notes, operations: [DatabaseOperation.Select, DatabaseOperation.Insert] }];
const addNote = defineQuery({ tables }, async function addNote(db, id: number) {
  await db.insert(notes).values({ id });
});
const addNoteAlone = defineQuery(
  { tables, transaction: true },
  async function addNoteAlone(db, id: number) {
    await db.insert(notes).values({ id });
  },
);
const findNote = definePreparedQuery({ tables }, function findNote(db, id: number) {
  return db.select().from(notes).where(eq(notes.id, sql.placeholder("id"))).prepare("find_note")
    .execute({ id });
});

interface Prepared {
  execute(values: Record<string, unknown>): Promise<unknown>;
}

/** Every way to use a client. Each would write, or read, a row with the id 99. */
const USES: Record<string, (tx: Tx, prepared: Prepared) => Promise<unknown>> = {
  "execute": (tx) => tx.execute(sql`INSERT INTO notes VALUES (99)`),
  "insert": (tx) => tx.insert(notes).values({ id: 99 }).execute(),
  "insert returning": (tx) => tx.insert(notes).values({ id: 99 }).returning().execute(),
  "update": (tx) => tx.update(notes).set({ title: "late" }).execute(),
  "delete": (tx) => tx.delete(notes).execute(),
  "select": (tx) => tx.select().from(notes).execute(),
  "$count": (tx) => Promise.resolve(tx.$count(notes)),
  "relational": (tx) => tx.query.notes.findMany().execute(),
  "prepared": (_tx, prepared) => prepared.execute({ id: 99 }),
  "prepared late": (tx) => tx.select().from(notes).prepare("late").execute(),
  "savepoint": (tx) => tx.transaction((inner) => inner.insert(notes).values({ id: 99 })),
  "withTransaction": (tx) =>
    withTransaction(tx as never, (inner) => inner.execute(sql`INSERT INTO notes VALUES (99)`)),
  "defined": (tx) => addNote.on(tx as unknown as DrizzleClient<Schema>, 99),
  "defined in a transaction": (tx) => addNoteAlone.on(tx as unknown as DrizzleClient<Schema>, 99),
  "defined and prepared": (tx) => findNote.on(tx as unknown as DrizzleClient<Schema>, 99),
  "executeRows": (tx) => executeRows(tx as never, sql`DELETE FROM notes RETURNING id`),
};

const getLab = shareProviders();
const NOTES = "CREATE TABLE notes (id int PRIMARY KEY, title text)";

async function onEachProvider(
  test: (db: DrizzleClient<Schema>, target: ProviderTarget) => Promise<void>,
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

function prepareInsert(tx: Tx): Prepared {
  return tx.insert(notes).values({ id: sql.placeholder("id") }).prepare("insert_note");
}

async function assertRefused(use: () => Promise<unknown>, what: string): Promise<void> {
  const error = await assertRejects(use, Error, undefined, what);
  assertInstanceOf(error, TransactionMisuseError, `${what}: ${(error as Error).message}`);
  assertStringIncludes(error.message, "await", what);
  assertEquals(error.message.includes("INSERT INTO notes VALUES"), false, what);
}

/** On distsql a transaction has no savepoints, which is said first. */
function usesOn({ name }: ProviderTarget): [string, (typeof USES)[string]][] {
  return Object.entries(USES).filter(([use]) =>
    name !== "distsql" ||
    !["savepoint", "withTransaction", "defined in a transaction"].includes(use)
  );
}

Deno.test(
  "a transaction's client refuses every use after its end, and sends nothing",
  LAB_OPTIONS,
  async () => {
    await onEachProvider(async (db, target) => {
      for (const outcome of ["committed", "rolled back"]) {
        let kept: Tx | undefined;
        let prepared: Prepared | undefined;
        await withTransaction(db, async (tx) => {
          kept = tx;
          prepared = prepareInsert(tx);
          await tx.execute(sql`select 1`);
          if (outcome === "rolled back") throw new Error("undo");
        }).catch(() => {});
        for (const [use, run] of usesOn(target)) {
          const what = `${target.name}, ${outcome}: ${use}`;
          await assertRefused(() => run(kept!, prepared!), what);
          // neither inside another request's transaction, which is rolled back, nor by itself
          await withTransaction(db, async (other) => {
            await other.insert(notes).values({ id: 1 });
            await assertRefused(() => run(kept!, prepared!), what);
            assertEquals(await other.$count(notes), 1, what);
            throw new Error("undo");
          }).catch((error) => assertEquals((error as Error).message, "undo", what));
          assertEquals(await db.$count(notes), 0, what);
        }
      }
    });
  },
);

Deno.test(
  "a savepoint's client refuses every use after the savepoint's end",
  LAB_OPTIONS,
  async () => {
    await onEachProvider(async (db, target) => {
      if (target.name === "distsql") return;
      for (const outcome of ["released", "rolled back"]) {
        await withTransaction(db, async (tx) => {
          let kept: Tx | undefined;
          let prepared: Prepared | undefined;
          await tx.transaction(async (inner) => {
            kept = inner;
            prepared = prepareInsert(inner);
            await inner.execute(sql`select 1`);
            if (outcome === "rolled back") throw new Error("undo");
          }).catch(() => {});
          for (const [use, run] of Object.entries(USES)) {
            await assertRefused(() => run(kept!, prepared!), `${target.name}, ${outcome}: ${use}`);
          }
          assertEquals(await tx.$count(notes), 0, target.name);
        });
        assertEquals(await db.$count(notes), 0, target.name);
      }
    });
  },
);

Deno.test("a forgotten await does not commit half of the work", LAB_OPTIONS, async () => {
  await onEachProvider(async (db, { name }) => {
    const late: Promise<unknown>[] = [];
    const error = await assertRejects(() =>
      withTransaction(db, async (tx) => {
        await tx.insert(notes).values({ id: 1 });
        late.push((async () => {
          for (let id = 2; id < 6; id++) await tx.insert(notes).values({ id });
        })());
        late[0].catch(() => {});
      })
    );
    assertInstanceOf(error, TransactionMisuseError, name);
    await assertRejects(() => late[0], TransactionMisuseError);
    assertEquals(await db.$count(notes), 0, name);

    // one statement, which was sent before the end, belongs to the transaction
    await withTransaction(db, async (tx) => {
      await tx.insert(notes).values({ id: 1 });
      tx.insert(notes).values({ id: 2 }).execute();
    });
    assertEquals(await db.$count(notes), 2, name);
    // and its failure is the transaction's
    const failed = await assertRejects(() =>
      withTransaction(db, async (tx) => {
        await tx.insert(notes).values({ id: 3 });
        late.push(tx.insert(notes).values({ id: 1 }).execute().catch(() => "caught"));
      })
    );
    assertEquals(
      getSqlState(findInCauseChain(failed, (link) => getSqlState(link) !== undefined)),
      "23505",
      name,
    );
    assertEquals(await late.at(-1), "caught");
    assertEquals(await db.$count(notes), 2, name);
  });
});

Deno.test(
  "an inner transaction that nobody waited for is rolled back, and the outer one with it",
  LAB_OPTIONS,
  async () => {
    await onEachProvider(async (db, { name }) => {
      if (name === "distsql") return;
      let inner: Promise<unknown> = Promise.resolve();
      const error = await assertRejects(() =>
        withTransaction(db, async (tx) => {
          await tx.insert(notes).values({ id: 1 });
          inner = tx.transaction(async (nested) => {
            await nested.insert(notes).values({ id: 2 });
            await new Promise((resolve) => setTimeout(resolve, 100));
            await nested.insert(notes).values({ id: 3 });
          });
          inner.catch(() => {});
          await new Promise((resolve) => setTimeout(resolve, 30));
        })
      );
      assertInstanceOf(error, TransactionMisuseError, name);
      await assertRejects(() => inner, TransactionMisuseError);
      await new Promise((resolve) => setTimeout(resolve, 150));
      assertEquals(await db.$count(notes), 0, name);
    });
  },
);

Deno.test(
  "requests that overlap keep their transactions apart, whatever one of them forgot",
  LAB_OPTIONS,
  async () => {
    await onEachProvider(async (db, target) => {
      const refused: unknown[] = [];
      async function request(id: number): Promise<void> {
        await withTransaction(db, async (tx) => {
          await tx.insert(notes).values({ id });
          // work that goes on after the answer
          setTimeout(() => {
            tx.insert(notes).values({ id: 1000 + id }).execute().catch((error) =>
              refused.push(error)
            );
          }, 5 + id % 7);
          await new Promise((resolve) => setTimeout(resolve, id % 3));
          if (id % 2 === 0) throw new Error("undo");
        }).catch(() => {});
      }
      await Promise.all(Array.from({ length: 40 }, (_, id) => request(id)));
      await new Promise((resolve) => setTimeout(resolve, 50));
      const rows = await db.select({ id: notes.id }).from(notes).orderBy(notes.id);
      const ids = rows.map(({ id }) => id);
      // what was sent while its transaction was open belongs to it; what came later was refused
      const expected = Array.from({ length: 40 }, (_, id) => id).filter((id) => id % 2 === 1);
      assertEquals(ids.filter((id) => id < 1000), expected, target.name);
      assertEquals(ids.filter((id) => id >= 1000 && id % 2 === 0), [], target.name);
      assertEquals(
        refused.every((error) => error instanceof TransactionMisuseError),
        true,
        target.name,
      );
      assertEquals(refused.length > 0, true, target.name);
    }, 3);
  },
);
