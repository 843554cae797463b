import { assert, assertEquals, assertRejects } from "@std/assert";
import type { BetterAuthPlugin } from "better-auth";
import { type AuthConfig, createAccountMails, createAuth } from "../../auth/mod.ts";
import { OneStatementSignUps } from "../../auth/one_statement_sign_up.ts";
import { authAccounts, authSessions, authUsers, authVerification } from "../../auth/schema.ts";
import { RATE_LIMIT_MIGRATION_SQL, withTransaction } from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { JOBS_MIGRATION_SQL } from "../../jobs/mod.ts";
import { openAuthDatabase } from "./auth_database.ts";
import { generateSchema } from "./plugins/generated_schema.ts";
import { EMAIL, openSignUpLab } from "./sign_up_lab.ts";

const { db, proxy, lines, execute, createConfig, open, signUp, countSignUp, countWarm } =
  await openSignUpLab();

Deno.test("a sign-up takes 2 round trips, with limits and without, and 1 if the address is taken", async () => {
  const auth = open();
  await signUp(auth, "warm@example.com");
  assertEquals(await countSignUp(auth, EMAIL), [200, 2]);
  assertEquals(await countSignUp(auth, EMAIL), [422, 1]);
  await execute("delete from users");
  assertEquals(
    await countWarm({ rateLimit: { enabled: false }, accountLimits: undefined }),
    [200, 2],
  );
});

const pass = () => Promise.resolve();
const sendVerificationEmail = pass;
const plugin: BetterAuthPlugin = { id: "observer", init: () => ({}) };
const stored = new Map<string, unknown>();
const never = () => Promise.reject(new Error("A sign-up does not use it"));

/** Configurations whose code or whose columns need a transaction, and its round trips. */
const OBSERVED: Readonly<Record<string, readonly [config: Partial<AuthConfig>, trips: number]>> = {
  "a hook before the user": [{ databaseHooks: { user: { create: { before: pass } } } }, 4],
  "a hook after the user": [{ databaseHooks: { user: { create: { after: pass } } } }, 4],
  "a hook before the account": [{ databaseHooks: { account: { create: { before: pass } } } }, 4],
  "a hook after the account": [{ databaseHooks: { account: { create: { after: pass } } } }, 6],
  "a hook before the session": [{ databaseHooks: { session: { create: { before: pass } } } }, 6],
  "a hook after the session": [{ databaseHooks: { session: { create: { after: pass } } } }, 4],
  "a check of users": [{ user: { validateUserInfo: () => Promise.resolve(undefined) } }, 4],
  "a plugin that may add hooks": [{ plugins: () => Promise.resolve([plugin]) }, 6],
  "ids of the database": [{ databaseGenerateId: true }, 4],
  "UUIDs of the database": [{ advanced: { database: { generateId: "uuid" } } }, 4],
  "no session": [{ emailAndPassword: { enabled: true, autoSignIn: false } }, 5],
  "verification before the session": [
    { emailAndPassword: { enabled: true, requireEmailVerification: true } },
    5,
  ],
  "verification by mail": [{ emailVerification: { sendOnSignUp: true, sendVerificationEmail } }, 6],
  "sessions in another storage too": [{
    session: { storeSessionInDatabase: true },
    secondaryStorage: {
      get: (key) => stored.get(key),
      set: (key, value) => void stored.set(key, value),
      delete: (key) => void stored.delete(key),
      increment: never,
      getAndDelete: never,
    },
  }, 7],
};

for (const [name, [config, trips]] of Object.entries(OBSERVED)) {
  Deno.test(`a sign-up runs in a transaction with ${name}`, async () => {
    assertEquals(await countWarm(config), [200, trips]);
    assert(!lines.join("").includes('"ERROR"'), lines.join(""));
  });
}

Deno.test("a sign-up runs in a transaction with mails, whose routes count its statements", async () => {
  await execute(JOBS_MIGRATION_SQL.replaceAll("--> statement-breakpoint", ""));
  const mail = createAccountMails({ getDb: () => Promise.resolve(db), appName: "Notes" });
  const sendOnSignUp = false;
  assertEquals((await signUp(open({ mail, emailVerification: { sendOnSignUp } }))).status, 200);
  assertEquals(
    await execute(`select users.cmin = sessions.cmin as joined from users, sessions`),
    [{ joined: false }],
  );
});

Deno.test("a sign-up on a client of another package runs in a transaction", async () => {
  const other = await openAuthDatabase();
  assertEquals((await signUp(createAuth(other.db, createConfig()))).status, 200);
  const inserts = other.queries.filter((query) => query.startsWith("insert into"));
  assertEquals(inserts.map((query) => query.split('"')[1]), ["users", "accounts", "sessions"]);
  await other.pglite.close();
});

Deno.test("a sign-up in a transaction of the caller leaves it usable if it fails", async () => {
  await execute("alter table accounts add check (provider_id <> 'credential')");
  await withTransaction(db, async (tx) => {
    assertEquals((await signUp(createAuth(tx as never, createConfig()))).status, 500);
    await tx.execute(sql`insert into users (name, email) values ('Bob', 'bob@example.com')`);
  });
  assertEquals(await execute("select email from users"), [{ email: "bob@example.com" }]);
});

Deno.test("a sign-up with the audit log takes 2 round trips", async () => {
  await execute("drop table users, sessions, accounts, verification, rate_limits");
  const { authSchema, statements } = await generateSchema({ plugins: [], audit: true });
  for (const statement of statements) await execute(statement);
  await execute(RATE_LIMIT_MIGRATION_SQL);
  assertEquals(await countWarm({ audit: true, schema: authSchema }), [200, 2]);
  assertEquals(
    await execute(
      `select kind from auth_events join users on users.id::text = user_id where email = '${EMAIL}'`,
    ),
    [{ kind: "sign-up" }],
  );
});

Deno.test("a sign-up runs in a transaction if generateId leaves the id to the database", async () => {
  const generateId = ({ model }: { model: string }) =>
    model === "user" ? false as never : crypto.randomUUID();
  assertEquals(await countWarm({ advanced: { database: { generateId } } }), [200, 4]);
});

/** Uses of a transaction's client for which the rows must be stored already. */
const USES: Readonly<Record<string, (tx: typeof db) => PromiseLike<unknown>>> = {
  "no session": () => Promise.resolve(),
  "a read": (tx) => tx.select().from(authUsers),
  "an update": (tx) => tx.update(authUsers).set({ name: "Bob" }),
  "another table": (tx) =>
    tx.insert(authVerification).values({ identifier: "", value: "", expiresAt: new Date() }),
  "a second user": (tx) => tx.insert(authUsers).values({ name: "", email: "" }),
  "a relation": (tx) => Promise.resolve(tx.query),
};

for (const [name, use] of Object.entries(USES)) {
  Deno.test(`OneStatementSignUps.run() uses a transaction for ${name} after the user`, async () => {
    const id = crypto.randomUUID();
    const result = await runSignUp(async (tx) => {
      await tx.insert(authUsers).values({ id, name: "Ada", email: EMAIL }).returning();
      // better-auth may catch the error
      await Promise.try(() => use(tx)).catch(() => {});
      if (name === "no session") return "one statement";
      await tx.insert(authSessions).values({ userId: id, token: "", expiresAt: new Date() })
        .returning();
      return "one statement";
    });
    assertEquals(result, "transaction");
    assertEquals(await execute("select 1 from users"), []);
  });
}

Deno.test("OneStatementSignUps.run() sends nothing for a user without an id", async () => {
  const before = proxy.count();
  const result = await runSignUp(async (tx) => {
    await tx.insert(authUsers).values({ name: "Ada", email: EMAIL }).returning();
    const userId = crypto.randomUUID();
    await tx.insert(authSessions).values({ userId, token: "", expiresAt: new Date() }).returning();
    return "one statement";
  });
  assertEquals([result, proxy.count() - before], ["transaction", 0]);
});

/** Runs a sign-up of one statement, unless that needs a transaction. */
function runSignUp(run: (tx: typeof db) => Promise<string>): Promise<string> {
  const tables = { user: authUsers, account: authAccounts, session: authSessions };
  const scope = { path: "/sign-up/email", counts: undefined, isJoined: true };
  const signUps = new OneStatementSignUps(db, tables);
  return signUps.run(scope, run, () => Promise.resolve("transaction"));
}

Deno.test("OneStatementSignUps.run() fails if the error of its statement was caught", async () => {
  await execute(`create function fail() returns trigger language plpgsql as $$
      begin raise exception using errcode = '57014'; end $$;
    create trigger fail before insert on sessions for each row execute function fail()`);
  await assertRejects(() =>
    runSignUp(async (tx) => {
      const userId = crypto.randomUUID();
      const session = { userId, token: "", expiresAt: new Date() };
      await tx.insert(authUsers).values({ id: userId, name: "Ada", email: EMAIL }).returning();
      await tx.insert(authSessions).values(session).returning().catch(() => {});
      return "one statement";
    })
  );
});
