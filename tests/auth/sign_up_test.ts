import { assert, assertEquals } from "@std/assert";
import { closeDrizzleClient, type DatabaseConfig, getDrizzleClient } from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import type { DrizzleClient } from "../../database/session/drizzle_client.ts";
import { captureLogs } from "../support/capture_logs.ts";
import { withDistSqlLab } from "../support/distsql_lab.ts";
import { startPostgres } from "../support/postgres.ts";
import { testSeed } from "../support/seed.ts";
import { createRandom, type Random } from "../support/random.ts";
import {
  clearSignUps,
  countRows,
  openSignUps,
  sendSignUp,
  SIGN_UP_TABLES,
} from "./sign_up_world.ts";

const SIGN_UPS = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 600 : 24;

interface SignUp {
  readonly body: Readonly<Record<string, unknown>>;
  readonly userAgent?: string;
}

const TEXTS = [
  "Ada",
  "",
  "Zoë 🦉 ﷺ",
  "\ud800 alone",
  "nul \0",
  `'"\\;--`,
  " space ",
  "x".repeat(5_000),
];
const OPTIONAL: Readonly<Record<string, readonly unknown[]>> = {
  image: ["https://example.com/a.png", "", null],
  rememberMe: [true, false],
  locale: ["de", "", null],
  nick: [" ada ", "🦉", null],
  age: [0, -1, 2 ** 31, 1.5, "7", null],
  ratio: ["1.5", "-0", "1e3", "many", null],
  bornAt: ["2000-01-01T00:00:00.123Z", "1815-12-10", "never", null],
  settings: [{ theme: "dark", list: [1, null] }, "text", [], null],
  isHidden: [true, false, null],
  score: [1],
  emailVerified: [true],
  id: ["11111111-1111-4111-8111-111111111111"],
};

/** Generates sign-ups; some have the address of another one, or are refused by a table. */
function generateSignUps({ below, pick }: Random): SignUp[] {
  return Array.from({ length: SIGN_UPS }, (_, at): SignUp => {
    const isTaken = below(5) === 0;
    const address = `user-${isTaken ? below(Math.min(at + 1, 3)) : at}@example.com`;
    const email = below(4) === 0 ? address.toUpperCase() : address;
    const fields = Object.entries(OPTIONAL).filter(() => below(4) === 0)
      .map(([name, values]) => [name, pick(values)]);
    const body = {
      name: below(3) === 0 ? pick(TEXTS) : "Ada",
      email: below(20) === 0 ? pick(["no address", "", null]) : email,
      password: below(20) === 0 ? pick(["short", "", 1]) : "correct horse battery",
      ...Object.fromEntries(fields),
    };
    const refusals: readonly SignUp[] = [
      { body: { ...body, name: "refused by users" } },
      { body: { ...body, password: "refused by accounts" } },
      { body, userAgent: "refused by sessions" },
    ];
    return below(6) === 0 ? pick(refusals) : { body };
  });
}

/** Checks that a response contains the stored user, and the token of their session. */
async function assertStored(db: DrizzleClient, response: Response): Promise<void> {
  if (response.status !== 200) return;
  const { user, token } = await response.clone().json();
  const { rows: [stored] } = await db.execute(
    sql`select u.*, s.token, a.account_id from users u join sessions s on s.user_id = u.id
      join accounts a on a.user_id = u.id where u.id = cast(${user.id} as uuid)`,
  ) as { rows: Record<string, unknown>[] };
  assertEquals([user.email, user.name, user.image, token, user.id], [
    stored.email,
    stored.name,
    stored.image,
    stored.token,
    stored.account_id,
  ]);
  assertEquals(new Date(user.createdAt), new Date(stored.created_at as Date));
  assertEquals([user.locale, user.age, user.ratio], [stored.locale, stored.age, stored.ratio]);
  assertEquals(user.nick, stored.nick === null ? null : `@${stored.nick}`);
  assert(!("isHidden" in user));
}

/** Runs sign-ups one after another. */
async function runSequence(db: DrizzleClient): Promise<void> {
  await clearSignUps(db);
  const auth = openSignUps(db);
  const statuses = new Set<number>();
  let stored = 0;
  for (const { body, userAgent } of generateSignUps(createRandom(testSeed))) {
    const { result, lines } = await captureLogs(() => sendSignUp(auth, body, userAgent));
    await assertStored(db, result);
    const text = JSON.stringify(lines);
    assert(!/insert into|correct horse|@example\.com/i.test(text), `a log has values: ${text}`);
    statuses.add(result.status);
    if (result.status === 200) stored++;
    await result.body?.cancel();
    // a sign-up that failed leaves no row
    const message = `seed ${testSeed}, ${JSON.stringify(body)}`;
    assertEquals(await countRows(db), [stored, stored, stored], message);
  }
  assertEquals([...statuses].sort(), [200, 400, 422, 429, 500]);
}

/** Runs pairs of sign-ups that both find no account. */
async function runPairs(db: DrizzleClient): Promise<void> {
  await clearSignUps(db);
  const auth = openSignUps(db);
  for (let at = 0; at < 4; at++) {
    const body = { name: "Ada", email: `pair-${at}@example.com`, password: `both at once ${at}` };
    const other = { ...body, email: body.email.toUpperCase() };
    const { result } = await captureLogs(() =>
      Promise.all([body, other].map((each) => sendSignUp(auth, each)))
    );
    for (const each of result) await assertStored(db, each);
    const [best, worst] = result.map(({ status }) => status).sort();
    assertEquals(best, 200);
    assert([422, 500].includes(worst), `status ${worst}`);
    for (const each of result) await each.body?.cancel();
    assertEquals(await countRows(db), Array(3).fill(at + 1));
  }
}

async function runAll(db: DrizzleClient, test: Deno.TestContext): Promise<void> {
  await test.step("generated sign-ups", () => runSequence(db));
  await test.step("two sign-ups with one address", () => runPairs(db));
}

async function withClient(
  config: DatabaseConfig,
  run: (db: DrizzleClient) => Promise<void>,
): Promise<void> {
  const db = await getDrizzleClient(config) as DrizzleClient;
  try {
    await run(db);
  } finally {
    await closeDrizzleClient(config);
  }
}

async function createTables(db: DrizzleClient): Promise<void> {
  for (const statement of SIGN_UP_TABLES) await db.execute(sql.raw(statement));
}

Deno.test("a sign-up answers what it stores, or stores nothing, on the embedded database", async (test) => {
  await withClient({ provider: "embedded-pg", instrument: false }, async (db) => {
    await createTables(db);
    await runAll(db, test);
  });
});

Deno.test("a sign-up answers what it stores, or stores nothing, on PostgreSQL", async (test) => {
  const postgres = await startPostgres();
  const connectionString = await postgres.createDatabase("sign_ups");
  await withClient(
    { provider: "serverless-pg", connectionString, maxConnections: 4, instrument: false },
    async (db) => {
      await createTables(db);
      await runAll(db, test);
    },
  );
  await postgres.stop();
});

Deno.test("a sign-up answers what it stores, or stores nothing, on the distributed engine", async (test) => {
  await withDistSqlLab(async ({ config, migrate }) => {
    await migrate([SIGN_UP_TABLES.join("\n--> statement-breakpoint\n")]);
    await withClient({ ...config, maxConnections: 4 }, (db) => runAll(db, test));
  });
});
