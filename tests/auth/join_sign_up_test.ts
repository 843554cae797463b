import { assertEquals, assertRejects } from "@std/assert";
import {
  AUTH_MIGRATION_SQL,
  type AuthConfig,
  type BetterAuthInstance,
  createAuth,
} from "../../auth/mod.ts";
import { joinSignUps } from "../../auth/join_sign_up.ts";
import { runInScope } from "../../auth/request_scope.ts";
import { authAccounts, authSessions, authUsers } from "../../auth/schema.ts";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  executeRows,
  getDrizzleClient,
  RATE_LIMIT_MIGRATION_SQL,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { TransactionMisuseError } from "../../errors/mod.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { startPostgres } from "../support/postgres.ts";
import { countRoundTrips } from "../support/round_trips.ts";
import { SECRET } from "./auth_database.ts";
import { FAST_PASSWORDS } from "./fast_passwords.ts";

const logged: string[] = [];
const restore = setLogOutput((line) => logged.push(line));
const postgres = await startPostgres();
const proxy = await countRoundTrips(await postgres.createDatabase("join_sign_up"));
const database: DatabaseConfig = {
  provider: "serverless-pg",
  connectionString: proxy.url,
  maxConnections: 1,
  instrument: false,
};
const db = await getDrizzleClient(database);
for (const statement of AUTH_MIGRATION_SQL.split("--> statement-breakpoint")) {
  await db.execute(sql.raw(statement));
}
await db.execute(sql.raw(RATE_LIMIT_MIGRATION_SQL));
Deno.test.beforeEach(async () => {
  await db.execute(sql`truncate users, accounts, sessions, rate_limits`);
  logged.length = 0;
});
Deno.test.afterAll(async () => {
  restore();
  await closeDrizzleClient(database);
  await proxy.stop();
  await postgres.stop();
});

const BASE = "https://api.example.com";
/** A hook that is called after the transaction: these sign-ups are not one statement. */
const IN_TRANSACTION = { user: { create: { after: () => Promise.resolve() } } };
let configs = 0;

function open(config: Partial<AuthConfig> = {}): BetterAuthInstance {
  return createAuth(db, {
    secret: SECRET,
    baseURL: BASE,
    appName: `joined ${++configs}`,
    emailAndPassword: { enabled: true, password: FAST_PASSWORDS },
    rateLimit: { customRules: { "/**": { max: 1_000, window: 60 } } },
    accountLimits: { messages: { limit: 1_000, windowSeconds: 60 } },
    databaseHooks: IN_TRANSACTION,
    ...config,
  });
}

function signUp(auth: BetterAuthInstance, email: string): Promise<Response> {
  return auth.handler(
    new Request(`${BASE}/api/auth/sign-up/email`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: "Ada", email, password: "correct horse battery" }),
    }),
  );
}

/** Signs up in a warm process and counts the round trips. */
async function countSignUp(auth: BetterAuthInstance, email: string): Promise<[number, number]> {
  for (const each of ["warm-1", "warm-2"]) await signUp(auth, `${each}@example.com`);
  const before = proxy.count();
  const { status } = await signUp(auth, email);
  return [status, proxy.count() - before];
}

const read = (table: string) =>
  executeRows(db, sql`select * from ${sql.identifier(table)} order by created_at`);

/** Replaces what differs between two sign-ups: ids, tokens and times. */
function describe(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, each) => /id$|token|_at$|At$/i.test(key) ? typeof each : each),
  );
}

Deno.test("a sign-up in a transaction takes 4 round trips, with limits and without", async () => {
  assertEquals(await countSignUp(open(), "ada@example.com"), [200, 4]);
  await db.execute(sql`truncate users`);
  const unlimited = open({ rateLimit: { enabled: false }, accountLimits: undefined });
  assertEquals(await countSignUp(unlimited, "ada@example.com"), [200, 4]);
});

Deno.test("a sign-up stores and answers what better-auth's own statements do", async () => {
  const auth = open();
  const joined = await (await signUp(auth, "ada@example.com")).json();
  const plain = await auth.api.signUpEmail({
    body: { name: "Ada", email: "bob@example.com", password: "correct horse battery" },
  });
  const asAda = { ...plain, user: { ...plain.user, email: "ada@example.com" } };
  assertEquals(describe(joined), describe(asAda));
  for (const table of ["accounts", "sessions"]) {
    const [first, second] = await read(table);
    assertEquals(describe(first), describe(second), table);
  }
  const [{ user_id: userId, token }] = await read("sessions");
  assertEquals([userId, token], [joined.user.id, joined.token]);
});

Deno.test("a sign-up stores nothing if one of its last statements fails", async () => {
  const auth = open();
  const checks = { accounts: "provider_id <> 'credential'", sessions: "token = ''" };
  for (const [table, check] of Object.entries(checks)) {
    await db.execute(sql.raw(`alter table ${table} add constraint refused check (${check})`));
    assertEquals((await signUp(auth, "ada@example.com")).status, 500, table);
    await db.execute(sql.raw(`alter table ${table} drop constraint refused`));
    assertEquals([...await read("users"), ...await read("accounts")], [], table);
  }
  assertEquals((await signUp(auth, "ada@example.com")).status, 200);
});

Deno.test("a sign-up fails with the error of its first statement that fails", async () => {
  const auth = open();
  await db.execute(sql`alter table accounts add constraint refused check (user_id is null)`);
  try {
    assertEquals((await signUp(auth, "ada@example.com")).status, 500);
  } finally {
    await db.execute(sql`alter table accounts drop constraint refused`);
  }
  const errors = logged.map((line) => JSON.parse(line)).filter(({ level }) => level === "ERROR");
  assertEquals(errors.map(({ error }) => error.message), [
    // and not 25P02 of the statement behind it
    "Query of better-auth failed with SQLSTATE 23514 (constraint refused, table accounts)",
  ]);
});

Deno.test("a sign-up inserts no session after its transaction", async () => {
  const tables = { user: authUsers, account: authAccounts, session: authSessions };
  const joined = joinSignUps(db, tables, undefined);
  await runInScope("/sign-up/email", undefined, async () => {
    const ended = await joined.transaction((tx) => Promise.resolve(tx));
    const session = { userId: crypto.randomUUID(), token: "late", expiresAt: new Date() };
    await assertRejects(
      () => Promise.resolve(ended.insert(authSessions).values(session).returning()),
      TransactionMisuseError,
    );
  });
  assertEquals([...await read("sessions")], []);
});

Deno.test("concurrent sign-ups with one address create one account", async () => {
  const auth = open();
  const statuses = await Promise.all(
    Array.from({ length: 12 }, async () => (await signUp(auth, "ada@example.com")).status),
  );
  assertEquals(statuses.sort(), [200, ...Array(11).fill(422)]);
  const counts = await Promise.all(["users", "accounts", "sessions"].map(read));
  assertEquals(counts.map(({ length }) => length), [1, 1, 1]);
});

Deno.test("a hook of the application gets the stored account", async () => {
  const seen: unknown[] = [];
  const auth = open({
    databaseHooks: {
      account: { create: { after: (account) => Promise.resolve(void seen.push(account.id)) } },
    },
  });
  assertEquals(await countSignUp(auth, "ada@example.com"), [200, 6]);
  assertEquals(seen, (await read("accounts")).map(({ id }) => id));
});
