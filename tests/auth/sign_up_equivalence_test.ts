import { assert, assertEquals } from "@std/assert";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  executeRows,
  getDrizzleClient,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import type { DrizzleClient } from "../../database/providers/provider.ts";
import type { BetterAuthInstance } from "../../auth/mod.ts";
import { captureLogs } from "../support/capture_logs.ts";
import { withDistSqlLab } from "../support/distsql_lab.ts";
import { LAB_OPTIONS, shareProviders } from "../support/provider_lab.ts";
import { startPostgres } from "../support/postgres.ts";
import { testSeed } from "../support/seed.ts";
import { createRandom, type Random } from "./random.ts";
import {
  clearSignUps,
  openSignUps,
  readSignUps,
  sendSignUp,
  SIGN_UP_TABLES,
  type SignUpPath,
} from "./sign_up_world.ts";

const getProviders = shareProviders();
const SIGN_UPS = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 600 : 60;

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

const SECRET_FIELD = /(?:^|_)id$|Id$|^token$|(?:_a|A)t$|^account_id$/;

/** Replaces ids, tokens and times of this run; a date that the request gave stays. */
function describe(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, each) => {
    if (key === "bornAt" || key === "born_at") return each && new Date(each).getTime();
    return SECRET_FIELD.test(key) && each !== null ? typeof each : each;
  }));
}

async function describeResponse(response: Response): Promise<unknown> {
  const cookies = response.headers.getSetCookie().map((cookie) => {
    const [name, ...attributes] = cookie.split(";");
    return [name.split("=")[0], ...attributes];
  });
  const body = await response.clone().json().catch(() => null);
  return describe([response.status, body, cookies, response.headers.has("retry-after")]);
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

/** Runs sign-ups one after another, and describes what a client, the database and the log get. */
async function runSequence(db: DrizzleClient, path: SignUpPath): Promise<unknown[]> {
  await clearSignUps(db);
  const auth = openSignUps(db, path);
  const found: unknown[] = [];
  for (const { body, userAgent } of generateSignUps(createRandom(testSeed))) {
    const { result, lines } = await captureLogs(() => sendSignUp(auth, body, userAgent));
    await assertStored(db, result);
    const text = JSON.stringify(lines);
    assert(!/insert into|correct horse|@example\.com/i.test(text), `a log has values: ${text}`);
    const logged = lines.filter(({ level }) => level === "ERROR").map(({ message }) => message);
    found.push([body, userAgent, await describeResponse(result), logged]);
  }
  return [...found, describe(await readSignUps(db))];
}

/** Runs pairs of sign-ups that both find no account. */
async function runPairs(db: DrizzleClient, path: SignUpPath): Promise<unknown[]> {
  await clearSignUps(db);
  const auth = openSignUps(db, path);
  const found: unknown[] = [];
  for (let at = 0; at < 4; at++) {
    const body = { name: "Ada", email: `pair-${at}@example.com`, password: `both at once ${at}` };
    const other = { ...body, email: body.email.toUpperCase() };
    const { result } = await captureLogs(() =>
      Promise.all([body, other].map((each) => sendSignUp(auth, each)))
    );
    for (const each of result) await assertStored(db, each);
    const described = await Promise.all(result.map(describeResponse));
    found.push(described.map((each) => JSON.stringify(each)).sort());
  }
  return [...found, describe(await readSignUps(db))];
}

/** Counts the users, and those whose session the same statement of the server has inserted. */
const COUNT_JOINED = `select count(*)::int as all,
  count(*) filter (where users.cmin = sessions.cmin)::int as joined
  from users join sessions on sessions.user_id = users.id`;

const CONFLICT = '[500,{"message":"Internal Server Error","code":"UNEXPECTED"},[],false]';
const TAKEN = '[422,{"message":"Failed to create user","code":"FAILED_TO_CREATE_USER"},[],false]';

type Query = (text: string) => Promise<readonly object[]>;

async function compare(db: DrizzleClient, query: Query, test: Deno.TestContext): Promise<void> {
  await test.step("generated sign-ups", async () => {
    const expected = await runSequence(db, "transaction");
    const [before] = await query(COUNT_JOINED) as { all: number; joined: number }[];
    assertEquals(before.joined, 0);
    const found = await runSequence(db, "statement");
    assertEquals([...await query(COUNT_JOINED)], [{ all: before.all, joined: before.all }]);
    for (const [at, each] of found.entries()) {
      assertEquals(each, expected[at], `seed ${testSeed}, sign-up ${at}`);
    }
    const statuses = new Set(found.map((each) => (each as [unknown, unknown, [number]])[2]?.[0]));
    assertEquals([...statuses].filter((each) => each).sort(), [200, 400, 422, 429, 500]);
  });
  await test.step("two sign-ups with one address", async () => {
    const found = await runPairs(db, "statement");
    // on Aurora DSQL a transaction can also conflict at COMMIT, where one statement is repeated
    const expected = JSON.stringify(await runPairs(db, "transaction")).replaceAll(
      JSON.stringify(CONFLICT).slice(1, -1),
      JSON.stringify(TAKEN).slice(1, -1),
    );
    assertEquals(found, JSON.parse(expected));
  });
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

Deno.test("one statement stores and answers what a transaction does, on the embedded database", async (test) => {
  await withClient({ provider: "embedded-pg", instrument: false }, async (db) => {
    await createTables(db);
    await compare(db, (text) => executeRows(db, sql.raw(text)), test);
  });
});

Deno.test("one statement stores and answers what a transaction does, on PostgreSQL", async (test) => {
  const postgres = await startPostgres();
  const connectionString = await postgres.createDatabase("sign_ups");
  await withClient(
    { provider: "serverless-pg", connectionString, maxConnections: 4, instrument: false },
    async (db) => {
      await createTables(db);
      await compare(db, (text) => executeRows(db, sql.raw(text)), test);
    },
  );
  await postgres.stop();
});

Deno.test("one statement stores and answers what a transaction does, on the distributed engine", async (test) => {
  await withDistSqlLab(async ({ backing, config, migrate, server }) => {
    await migrate([SIGN_UP_TABLES.join("\n--> statement-breakpoint\n")]);
    await withClient({ ...config, maxConnections: 4 }, async (db) => {
      const query: Query = (text) => backing.unsafe(text);
      await compare(db, query, test);
      await test.step("a conflict is repeated in a transaction", async () => {
        await clearSignUps(db);
        const auth = openSignUps(db, "statement");
        const send = (name: string) => sendQuietly(auth, `${name}@example.com`);
        assertEquals(await send("ada"), 200);
        server.inject({ fault: "OC000", match: /insert into "users"/ });
        assertEquals(await send("bob"), 200);
        assertEquals(await send("eve"), 200);
        assertEquals([...await query(COUNT_JOINED)], [{ all: 3, joined: 2 }]);
      });
      await test.step("an unknown outcome is not repeated", async () => {
        await clearSignUps(db);
        const auth = openSignUps(db, "statement");
        for (const fault of ["unavailable-after-commit", "cut-after-commit"] as const) {
          server.inject({ fault, match: /insert into "users"/ });
          assertEquals(await sendQuietly(auth, `${fault}@example.com`), 500);
        }
        assertEquals([...await query(COUNT_JOINED)], [{ all: 2, joined: 2 }]);
      });
    });
  });
});

Deno.test({
  ...LAB_OPTIONS,
  name: "a sign-up is one statement with every provider",
  fn: async (test) => {
    const { targets } = await getProviders();
    // Aurora DSQL has its own test above
    for (const { name, config } of targets.filter(({ name }) => name !== "distsql")) {
      await test.step(name, async () => {
        const db = await getDrizzleClient(config) as DrizzleClient;
        await createTables(db);
        const auth = openSignUps(db, "statement");
        const body = { ...NEW_USER, email: "ada@example.com", bornAt: "1815-12-10", settings: [1] };
        const { result } = await captureLogs(() => sendSignUp(auth, body));
        await assertStored(db, result);
        assertEquals(result.status, 200);
        const rows = await executeRows(db, sql`select xmin::text, cmin::text from users`);
        const others = await executeRows(db, sql`select xmin::text, cmin::text from sessions`);
        assertEquals(rows, others);
      });
    }
  },
});

const NEW_USER = { name: "Ada", password: "correct horse battery" };

async function sendQuietly(auth: BetterAuthInstance, email: string): Promise<number> {
  const { result } = await captureLogs(() => sendSignUp(auth, { ...NEW_USER, email }));
  return result.status;
}
