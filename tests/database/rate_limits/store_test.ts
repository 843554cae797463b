import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import type { PGlite } from "@electric-sql/pglite";
import { bigint, integer, pgSchema, pgTable, text } from "drizzle-orm/pg-core";
import { drizzle } from "drizzle-orm/pglite";
import type { RateLimitDecision, RateLimitStore } from "../../../core/rate_limit/rate_limit.ts";
import { getDrizzleClient, rateLimits } from "../../../database/mod.ts";
import { sql } from "../../../database/orm.ts";
import { RATE_LIMIT_MIGRATION_SQL } from "../../../database/rate_limits/migration.ts";
import { createRateLimitStore } from "../../../database/rate_limits/store.ts";
import { RATE_LIMIT_COLUMNS } from "../../../database/rate_limits/table.ts";
import { ConfigurationError } from "../../../errors/mod.ts";
import { createRandom } from "../../support/random.ts";
import { LAB_OPTIONS, shareProviders } from "../../support/provider_lab.ts";
import { testSeed } from "../../support/seed.ts";
import { isDrizzleOne } from "../../../database/session/drizzle_version.ts";

const lab = shareProviders();
const RULE = { limit: 3, windowSeconds: 60 };

interface Counted {
  readonly store: RateLimitStore;
  /** Moves the start of a key's window into the past. */
  age(key: string, seconds: number): Promise<void>;
  read(key: string): Promise<{ count: number; lastRequest: number } | undefined>;
}

/** Runs a test on every provider. */
function testStore(name: string, run: (counted: Counted) => Promise<void>): void {
  Deno.test({
    name,
    ...LAB_OPTIONS,
    fn: async (test) => {
      for (const target of (await lab()).targets) {
        await test.step({
          name: target.name,
          ...LAB_OPTIONS,
          fn: async () => {
            const db = await getDrizzleClient(target.config);
            await db.execute(sql`drop table if exists rate_limits`);
            await db.execute(sql.raw(RATE_LIMIT_MIGRATION_SQL));
            await run({
              store: createRateLimitStore(db),
              age: async (key, seconds) => {
                await db.update(rateLimits).set({
                  lastRequest: sql`${rateLimits.lastRequest} - ${seconds * 1_000}`,
                }).where(sql`${rateLimits.key} = ${key}`);
              },
              read: async (key) => {
                const [row] = await db.select().from(rateLimits)
                  .where(sql`${rateLimits.key} = ${key}`);
                return row;
              },
            });
          },
        });
      }
    },
  });
}

function summarize({ allowed, remaining }: RateLimitDecision): string {
  return `${allowed ? "allowed" : "refused"}, ${remaining} remaining`;
}

testStore("take() allows the limit and refuses more", async ({ store, read }) => {
  const decisions: RateLimitDecision[] = [];
  for (let i = 0; i < 5; i++) decisions.push(await store.take("a", RULE));
  assertEquals(decisions.map(summarize), [
    "allowed, 2 remaining",
    "allowed, 1 remaining",
    "allowed, 0 remaining",
    "refused, 0 remaining",
    "refused, 0 remaining",
  ]);
  for (const { resetSeconds } of decisions) assert(resetSeconds >= 1 && resetSeconds <= 60);
  assertEquals((await read("a"))?.count, 3);
});

testStore("take() counts each key by itself", async ({ store }) => {
  for (let i = 0; i < 3; i++) await store.take("a", RULE);
  assert(!(await store.take("a", RULE)).allowed);
  assert((await store.take("b", RULE)).allowed);
});

testStore("take() starts a new window when the first has ended", async ({ store, age, read }) => {
  for (let i = 0; i < 4; i++) await store.take("a", RULE);
  const before = (await read("a"))!.lastRequest;
  await age("a", 59);
  assert(!(await store.take("a", RULE)).allowed);
  await age("a", 1);
  assertEquals(summarize(await store.take("a", RULE)), "allowed, 2 remaining");
  assert((await read("a"))!.lastRequest >= before);
});

testStore("take() tells when the window ends", async ({ store, age }) => {
  await store.take("a", { limit: 1, windowSeconds: 60 });
  await age("a", 20);
  const { allowed, resetSeconds } = await store.take("a", { limit: 1, windowSeconds: 60 });
  assert(!allowed);
  assert(resetSeconds > 20 && resetSeconds <= 40, `${resetSeconds}`);
});

testStore("take() refuses when the limit of a key was lowered", async ({ store }) => {
  for (let i = 0; i < 3; i++) await store.take("a", RULE);
  assert(!(await store.take("a", { limit: 2, windowSeconds: 60 })).allowed);
  assert((await store.take("a", { limit: 4, windowSeconds: 60 })).allowed);
});

testStore("giveBack() frees one request of its window only", async ({ store, age, read }) => {
  const first = await store.take("a", { limit: 1, windowSeconds: 60 });
  await store.giveBack("a", first);
  assertEquals((await read("a"))?.count, 0);
  await store.giveBack("a", first);
  assertEquals((await read("a"))?.count, 0);
  assert((await store.take("a", { limit: 1, windowSeconds: 60 })).allowed);
  await age("a", 60);
  await store.take("a", { limit: 1, windowSeconds: 60 });
  await store.giveBack("a", first);
  assertEquals((await read("a"))?.count, 1);
});

testStore("take() keeps keys of any characters apart", async ({ store }) => {
  const keys = ["a'b", 'a"b', "a\\b", "ä€😀", "a".repeat(300), " a", "a "];
  for (const key of keys) {
    assertEquals(
      summarize(await store.take(key, RULE)),
      "allowed, 2 remaining",
      key,
    );
  }
});

testStore("take() is exact when requests are concurrent", async ({ store, read }) => {
  const decisions = await Promise.all(
    Array.from({ length: 40 }, () => store.take("a", { limit: 7, windowSeconds: 60 })),
  );
  assertEquals(decisions.filter(({ allowed }) => allowed).length, 7);
  assertEquals((await read("a"))?.count, 7);
});

testStore("takeInOrder() counts a request up to the key that refuses it", async (counted) => {
  const { store, read } = counted;
  const counts = [["a", { ...RULE, limit: 4 }], ["b", RULE], ["c", RULE]] as const;
  const decisions: string[][] = [];
  for (let i = 0; i < 5; i++) decisions.push((await store.takeInOrder(counts)).map(summarize));
  assertEquals(decisions.slice(2), [
    ["allowed, 1 remaining", "allowed, 0 remaining", "allowed, 0 remaining"],
    ["allowed, 0 remaining", "refused, 0 remaining"],
    ["refused, 0 remaining"],
  ]);
  for (const [key, count] of [["a", 4], ["b", 3], ["c", 3]] as const) {
    assertEquals((await read(key))?.count, count, key);
  }
});

testStore("takeInOrder() decides as take() of one key after the other", async ({ store, read }) => {
  const { below } = createRandom(testSeed);
  const runs = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 2_000 : 10;
  for (let run = 0; run < runs; run++) {
    const keys = ["a", "b", "c", "d"].slice(below(3)).map((key) => `${key}${below(3)}`);
    const counts = keys.map((key) => [key, { limit: 1 + below(12), windowSeconds: 60 }] as const);
    const expected: string[] = [];
    for (const [key, rule] of counts) {
      const decision = await store.take(`one by one ${key}`, rule);
      expected.push(summarize(decision));
      if (!decision.allowed) break;
    }
    const decisions = await store.takeInOrder(counts);
    assertEquals(decisions.map(summarize), expected, `seed ${testSeed}, run ${run}`);
    for (const key of keys) {
      assertEquals((await read(key))?.count, (await read(`one by one ${key}`))?.count, key);
    }
  }
});

testStore("takeInOrder() is exact when requests are concurrent", async ({ store, read }) => {
  const owners = ["a", "b", "c", "d", "e"];
  const decisions = await Promise.all(
    Array.from({ length: 30 }, (_, i) =>
      store.takeInOrder([
        [owners[i % 5], { limit: 3, windowSeconds: 60 }],
        ["all", { limit: 7, windowSeconds: 60 }],
      ])),
  );
  const countAllowed = (at: number) => decisions.filter((each) => each[at]?.allowed).length;
  assertEquals([countAllowed(0), countAllowed(1)], [15, 7]);
  for (const owner of owners) assertEquals((await read(owner))?.count, 3, owner);
  assertEquals((await read("all"))?.count, 7);
});

Deno.test({
  name: "take() names the missing table and what creates it",
  ...LAB_OPTIONS,
  fn: async () => {
    const [embedded] = (await lab()).targets;
    const db = await getDrizzleClient(embedded.config);
    await db.execute(sql`drop table if exists rate_limits`);
    const error = await assertRejects(
      () => createRateLimitStore(db).take("a", RULE),
      ConfigurationError,
      "The table rate_limits does not exist",
    );
    assert(error.message.includes("Run `trellis db tables rate-limits`"));
  },
});

Deno.test({
  name: "createRateLimitStore() takes a table of another name with a text id and other columns",
  ...LAB_OPTIONS,
  fn: async () => {
    const [embedded] = (await lab()).targets;
    const db = await getDrizzleClient(embedded.config);
    await db.execute(sql.raw(
      "create table my_limits (pk text primary key, key text unique not null, count int not null, " +
        "last_request bigint not null, note text)",
    ));
    const id = () => text("pk").primaryKey();
    // a default of drizzle is none of the database
    for (const column of [id(), id().$defaultFn(() => "not used")]) {
      const columns = { ...RATE_LIMIT_COLUMNS, id: column, note: text("note") };
      const table = pgTable("my_limits", columns);
      const store = createRateLimitStore(db, table);
      assert((await store.take("a", RULE)).allowed);
      const rows = await db.delete(table).returning({ id: table.id });
      assertEquals(rows.map(({ id }) => id.length), [36]);
    }
  },
});

Deno.test({
  name: "createRateLimitStore() takes the names that a client of drizzle derives, and a schema",
  ...LAB_OPTIONS,
  // the tables of 1.0 derive them
  ignore: isDrizzleOne,
  fn: async () => {
    const [embedded] = (await lab()).targets;
    const db = await getDrizzleClient(embedded.config);
    await db.execute(sql`create schema limits`);
    await db.execute(sql.raw(
      'create table limits."per client" (id uuid primary key default ' +
        "gen_random_uuid(), key text unique not null, count int not null, last_request bigint not null)",
    ));
    const table = pgSchema("limits").table("per client", {
      key: text().notNull(),
      count: integer().notNull(),
      lastRequest: bigint({ mode: "number" }).notNull(),
    });
    const { $client } = db as unknown as { $client: PGlite };
    const store = createRateLimitStore(drizzle({ client: $client, casing: "snake_case" }), table);
    const decision = await store.take("a", RULE);
    await store.giveBack("a", decision);
    assertEquals(summarize(await store.take("a", RULE)), "allowed, 2 remaining");
  },
});

Deno.test({
  name: "createRateLimitStore() refuses a table without its columns",
  ...LAB_OPTIONS,
  fn: async () => {
    const [embedded] = (await lab()).targets;
    const db = await getDrizzleClient(embedded.config);
    assertThrows(
      () => createRateLimitStore(db, pgTable("x", { key: text("key") })),
      ConfigurationError,
      "lacks key, count or lastRequest",
    );
  },
});
