import { assert, assertEquals } from "@std/assert";
import { type PgTable, pgTable, timestamp } from "drizzle-orm/pg-core";
import fc from "fast-check";
import { createHash } from "node:crypto";
import { hashKey } from "../../../auth/keys/api_key_check.ts";
import { resolveApiKeyOptions } from "../../../auth/keys/api_key_options.ts";
import { changesKey, findApiKey, writeApiKeyUse } from "../../../auth/keys/api_key_statements.ts";
import { type ApiKeyRow, planUsage, type UsagePlan } from "../../../auth/keys/api_key_usage.ts";
import { authUsers, defineAuth } from "../../../auth/mod.ts";
import type { ApiKeyIdentity } from "../../../core/http/auth_registry.ts";
import { isAppError } from "../../../errors/mod.ts";
import { createRestApiEvent } from "../../../testing/mod.ts";
import { testSeed } from "../../support/seed.ts";
import { apikey, apiKeyColumns, openApiKeysDatabase, OWNER } from "../api_keys_database.ts";
import { atTime, SECRET } from "../auth_database.ts";

const NOW_MS = Date.UTC(2030, 4, 6, 7, 8, 9, 123);
const RUNS = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 5_000 : 300;

const { pglite, db, queries } = await openApiKeysDatabase();
globalThis.addEventListener("unload", () => void pglite.close());

const settings = resolveApiKeyOptions({}, { apikey, user: authUsers });

const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null });
const time = fc.integer({ min: -5, max: 1 }).map((ms) => new Date(NOW_MS + ms));
const counters = {
  enabled: fc.constantFrom(true, true, true, true, null, false),
  requestCount: orNull(fc.integer({ min: 0, max: 3 })),
  remaining: fc.constantFrom(null, null, 0, 1, 2),
  lastRequest: orNull(time),
  lastRefillAt: orNull(time),
};
const storedKey = fc.record({
  ...counters,
  refillInterval: orNull(fc.integer({ min: 1, max: 4 })),
  refillAmount: orNull(fc.integer({ min: 1, max: 3 })),
  rateLimitEnabled: fc.constantFrom(true, true, null, false),
  rateLimitTimeWindow: orNull(fc.integer({ min: 1, max: 6 })),
  rateLimitMax: orNull(fc.integer({ min: 1, max: 4 })),
});
const isLimited = fc.constantFrom(true, true, true, false);
/** What other requests change between the query of a key and its update. */
const meanwhile = fc.oneof(fc.constant({}), fc.record(counters, { requiredKeys: [] }));

const ago = (ms: number) => new Date(NOW_MS - ms);
/** A key whose window of 3 ms has ended. */
const OLD_WINDOW = {
  enabled: true,
  requestCount: 1,
  remaining: null,
  lastRequest: ago(4),
  lastRefillAt: null,
  refillInterval: null,
  refillAmount: null,
  rateLimitEnabled: true,
  rateLimitTimeWindow: 3,
  rateLimitMax: 1,
};

/** Returns what a plan changes in a stored row, or `undefined` if its conditions do not hold. */
function model(stored: ApiKeyRow, read: ApiKeyRow, plan: UsagePlan): object | undefined {
  if (stored.enabled === false) return undefined;
  const now = new Date(NOW_MS);
  const changed: Record<string, unknown> = plan.refusal ? {} : { updatedAt: now };
  if (plan.quota === "decrement") {
    if (stored.remaining === null || stored.remaining <= 0) return undefined;
    changed.remaining = stored.remaining - 1;
  }
  if (plan.quota === "refill") {
    if (stored.lastRefillAt?.getTime() !== read.lastRefillAt?.getTime()) return undefined;
    Object.assign(changed, { remaining: (read.refillAmount ?? 1) - 1, lastRefillAt: now });
  }
  if (plan.counter === "none") return changed;
  changed.lastRequest = now;
  if (plan.counter === "touch") return changed;
  const { lastRequest, requestCount } = stored;
  const isInWindow = lastRequest !== null &&
    NOW_MS - lastRequest.getTime() < (read.rateLimitTimeWindow ?? 0);
  if (plan.counter === "increment") {
    const isBelow = requestCount !== null && requestCount < (read.rateLimitMax ?? 0);
    return isInWindow && isBelow ? { ...changed, requestCount: requestCount + 1 } : undefined;
  }
  const isStarted = read.lastRequest === null
    ? lastRequest === null
    : lastRequest !== null && !isInWindow;
  return isStarted ? { ...changed, requestCount: 1 } : undefined;
}

function tryPlan(read: ApiKeyRow, isLimited: boolean): UsagePlan | undefined {
  try {
    return planUsage(read, { rateLimit: { enabled: isLimited } }, NOW_MS);
  } catch (error) {
    if (isAppError(error)) return undefined;
    throw error;
  }
}

const BASE = {
  id: "k1",
  key: "stored",
  configId: "default",
  referenceId: OWNER,
  createdAt: new Date(NOW_MS - 3),
  updatedAt: new Date(NOW_MS - 3),
};

Deno.test("writeApiKeyUse() writes a plan if its conditions hold, whatever changed since the query", async () => {
  const kinds: Record<string, number> = {};
  await fc.assert(
    fc.asyncProperty(storedKey, meanwhile, isLimited, async (state, changes, limited) => {
      await pglite.exec("DELETE FROM api_keys");
      await db.insert(apikey).values({ ...BASE, ...state });
      const [read] = await findApiKey(db, settings, "stored");
      const plan = tryPlan(read, limited);
      if (plan === undefined) return;
      const stored = { ...BASE, ...state, ...changes };
      if (Object.keys(changes).length > 0) await db.update(apikey).set(changes);
      const expected = model(stored as unknown as ApiKeyRow, read, plan);
      if (!changesKey(plan)) return assert(plan.refusal !== undefined && plan.quota === "none");
      const used = await writeApiKeyUse(db, settings, { row: read, plan, now: new Date(NOW_MS) });
      const [after] = await db.select().from(apikey);
      assertEquals(after, { ...after, ...stored, ...expected });
      assertEquals(used.map(({ remaining }) => remaining), expected ? [after.remaining] : []);
      const kind = `${plan.quota} ${plan.counter} ${expected !== undefined}`;
      kinds[kind] = (kinds[kind] ?? 0) + 1;
    }),
    { seed: testSeed, numRuns: RUNS, examples: [[OLD_WINDOW, { lastRequest: ago(3) }, true]] },
  );
  for (const quota of ["none", "decrement", "refill"]) {
    for (const counter of ["none", "touch", "start", "increment"]) {
      assert(kinds[`${quota} ${counter} true`] > 0, `no ${quota} ${counter} was written`);
    }
  }
});

Deno.test("writeApiKeyUse() ignores microseconds of the last refill", async () => {
  await pglite.exec("DELETE FROM api_keys");
  await db.insert(apikey).values({ ...BASE, remaining: 0, refillInterval: 1, refillAmount: 3 });
  await pglite.exec("UPDATE api_keys SET last_refill_at = '2030-05-06 07:08:09.001234Z'");
  const { apiKey } = await atTime(NOW_MS, () => checkStored());
  assertEquals(apiKey.remaining, 2);
});

Deno.test("a check at the end of a window starts the next one, unless no requests are left", async () => {
  for (const [requestCount, microseconds] of [[1, "000"], [1, "999"], [2, "000"]] as const) {
    await pglite.exec("DELETE FROM api_keys");
    await db.insert(apikey).values({
      ...BASE,
      requestCount,
      rateLimitTimeWindow: 123,
      rateLimitMax: 2,
    });
    await pglite.exec(
      `UPDATE api_keys SET last_request = '2030-05-06 07:08:09.000${microseconds}Z'`,
    );
    queries.length = 0;
    const answer = await atTime(NOW_MS, () => checkStored()).catch((error) => error.code);
    assertEquals(
      [answer.userId ?? answer, queries.length],
      requestCount === 1 ? [OWNER, 2] : ["TOO_MANY_REQUESTS", 1],
    );
    const [after] = await db.select().from(apikey);
    assertEquals(
      [after.requestCount, after.lastRequest],
      requestCount === 1 ? [1, new Date(NOW_MS)] : [2, ago(123)],
    );
  }
});

Deno.test("a check of a key calls $onUpdate of the table for each update", async () => {
  let last = 0;
  const at = (name: string) => timestamp(name, { withTimezone: true });
  const observed = pgTable("api_keys", {
    ...apiKeyColumns(),
    createdAt: at("created_at").notNull().$onUpdate(() => new Date(NOW_MS + ++last)),
  });
  await pglite.exec("DELETE FROM api_keys");
  await db.insert(apikey).values({ ...BASE, remaining: 9 });
  const remaining: unknown[] = [];
  for (let request = 0; request < 3; request++) {
    remaining.push((await checkStored(observed)).apiKey.remaining);
    const [{ createdAt }] = await db.select().from(apikey);
    assertEquals(createdAt.getTime(), NOW_MS + last);
  }
  assertEquals([last, remaining], [3, [8, 7, 6]]);
});

Deno.test("hashKey() gives the hash of better-auth's plugin", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ minLength: 1, maxLength: 200 }), async (key) => {
      assertEquals(await hashKey(key), createHash("sha256").update(key).digest("base64url"));
    }),
    { seed: testSeed },
  );
});

async function checkStored(table: PgTable = apikey): Promise<ApiKeyIdentity> {
  const { apiKey } = defineAuth(() => Promise.resolve(db), {
    secret: SECRET,
    baseURL: "http://localhost:3000",
    schema: { apikey: table, user: authUsers },
  });
  const event = createRestApiEvent({ headers: { "x-api-key": "stored" } });
  return await apiKey({ plugin: { disableKeyHashing: true } }).authenticate(event);
}
