import { PGlite } from "@electric-sql/pglite";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { loadEmptySnapshot } from "../../testing/embedded_snapshot.ts";
import "../support/embedded_pool.ts";

async function open(): Promise<PGlite> {
  return await PGlite.create({ loadDataDir: await loadEmptySnapshot("a test") });
}

/** Returns a number that begins with the database, and grows with each change. */
async function readAge(pglite: PGlite): Promise<number> {
  const { rows: [{ age }] } = await pglite.query<{ age: string }>(
    "SELECT txid_current()::text AS age",
  );
  return Number(age);
}

/** Opens a database, closes it after some work, and reports whether the next one is the same one. */
async function isReused(work: (pglite: PGlite) => unknown): Promise<boolean> {
  const first = await open();
  for (let count = 0; count < 50; count++) await readAge(first);
  const age = await readAge(first);
  await work(first);
  await first.close();
  await assertRejects(async () => await first.query("SELECT 1"), Error, "PGlite is closed");
  const second = await open();
  const { rows } = await second.query(
    "SELECT oid FROM pg_class WHERE oid >= 16384 UNION ALL SELECT oid FROM pg_roles WHERE oid >= 16384",
  );
  assertEquals(rows, []);
  const isSame = await readAge(second) > age;
  await second.close();
  return isSame;
}

Deno.test("PGlite.create() of the pool opens a closed database again, empty", async () => {
  assert(
    await isReused(async (pglite) => {
      await pglite.exec(
        `CREATE TYPE mood AS ENUM ('calm'); CREATE SCHEMA app; SET search_path = app;
      CREATE TABLE notes (id serial, mood public.mood); PREPARE p AS SELECT 1; BEGIN; COMMIT`,
      );
    }),
  );
});

/** Work whose effects a dropped schema does not end. */
const LEFT: Record<string, (pglite: PGlite) => unknown> = {
  "a role": (pglite) => pglite.exec("CREATE ROLE app"),
  "a setting of the database": (pglite) =>
    pglite.exec("ALTER DATABASE postgres SET timezone = 'Asia/Tokyo'"),
  "default rights": (pglite) =>
    pglite.exec("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC"),
  "a listener": (pglite) => pglite.listen("news", () => {}),
  "a message of the protocol": (pglite) => pglite.execProtocolRaw(new Uint8Array([83, 0, 0, 0, 4])),
};

for (const [name, work] of Object.entries(LEFT)) {
  Deno.test(`PGlite.create() of the pool opens a new database after ${name}`, async () => {
    assertEquals(await isReused(work), false);
  });
}

Deno.test("PGlite.create() of the pool keeps what a test replaces to the database that it has opened", async () => {
  const first = await open();
  first.query = () => Promise.reject(new Error("replaced"));
  await assertRejects(() => first.query("SELECT 1"), Error, "replaced");
  await first.close();
  const second = await open();
  assertEquals((await second.query("SELECT 1 AS n")).rows, [{ n: 1 }]);
  await second.close();
});
