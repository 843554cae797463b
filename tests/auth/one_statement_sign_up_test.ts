import { assert, assertEquals } from "@std/assert";
import type { BetterAuthPlugin } from "better-auth";
import { type PgTable, pgTable, text } from "drizzle-orm/pg-core";
import connect from "postgres";
import {
  AUTH_MIGRATION_SQL,
  type AuthConfig,
  type BetterAuthInstance,
  createAccountMails,
  createAuth,
} from "../../auth/mod.ts";
import { OneStatementSignUps } from "../../auth/one_statement_sign_up.ts";
import {
  AUTH_ACCOUNT_COLUMNS,
  AUTH_SESSION_COLUMNS,
  AUTH_USER_COLUMNS,
  authAccounts,
  authSessions,
  authUsers,
  authVerification,
} from "../../auth/schema.ts";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  getDrizzleClient,
  RATE_LIMIT_MIGRATION_SQL,
  withTransaction,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { JOBS_MIGRATION_SQL } from "../../jobs/mod.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { startFaultyProxy } from "../support/faulty_proxy.ts";
import { startPostgres } from "../support/postgres.ts";
import { countRoundTrips } from "../support/round_trips.ts";
import { openAuthDatabase, SECRET } from "./auth_database.ts";
import { FAST_PASSWORDS } from "./fast_passwords.ts";
import { generateSchema } from "./plugins/generated_schema.ts";

const lines: string[] = [];
let restore: () => void;
const postgres = await startPostgres();
const faulty = await startFaultyProxy(postgres.port);
const target = new URL(await postgres.createDatabase("one_statement"));
const direct = connect(target.href, { max: 1, onnotice: () => {} });
target.port = String(faulty.port);
const proxy = await countRoundTrips(target.href);
const database: DatabaseConfig = {
  provider: "serverless-pg",
  connectionString: proxy.url,
  maxConnections: 1,
  instrument: false,
};
const db = await getDrizzleClient(database);
Deno.test.beforeEach(async () => {
  lines.length = 0;
  restore = setLogOutput((line) => void lines.push(line));
  await execute("drop schema public cascade; create schema public");
  await execute(AUTH_MIGRATION_SQL.replaceAll("--> statement-breakpoint", ""));
  await execute(RATE_LIMIT_MIGRATION_SQL);
});
Deno.test.afterAll(async () => {
  restore();
  await closeDrizzleClient(database);
  await direct.end();
  await proxy.stop();
  await faulty.stop();
  await postgres.stop();
});

const BASE = "https://api.example.com";
const EMAIL = "ada@example.com";
let configs = 0;

function createConfig(config: Partial<AuthConfig> = {}): AuthConfig {
  return {
    secret: SECRET,
    baseURL: BASE,
    appName: `one statement ${++configs}`,
    rateLimit: { customRules: { "/**": { max: 1_000, window: 60 } } },
    accountLimits: { messages: { limit: 1_000, windowSeconds: 60 } },
    ...config,
    emailAndPassword: { enabled: true, password: FAST_PASSWORDS, ...config.emailAndPassword },
  };
}

const open = (config?: Partial<AuthConfig>) => createAuth(db, createConfig(config));

/** Runs statements on another connection. */
const execute = async (statements: string): Promise<Record<string, unknown>[]> => [
  ...await direct.unsafe(statements),
];

function signUp(auth: BetterAuthInstance, email = EMAIL): Promise<Response> {
  return auth.handler(
    new Request(`${BASE}/api/auth/sign-up/email`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: "Ada", email, password: "correct horse battery" }),
    }),
  );
}

/** Signs up and counts the round trips. */
async function countSignUp(
  auth: BetterAuthInstance,
  email: string,
): Promise<[status: number, trips: number]> {
  const before = proxy.count();
  const { status } = await signUp(auth, email);
  return [status, proxy.count() - before];
}

/** Signs up in a warm process and counts the round trips. */
async function countWarm(config?: Partial<AuthConfig>): Promise<[status: number, trips: number]> {
  const auth = open(config);
  for (const each of ["warm-1", "warm-2"]) await signUp(auth, `${each}@example.com`);
  return await countSignUp(auth, EMAIL);
}

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

Deno.test("a sign-up answers what the database stores in the user's columns", async () => {
  const user = pgTable("users", {
    ...AUTH_USER_COLUMNS,
    locale: text("locale").notNull().default("unused"),
  });
  await execute(`alter table users add locale text not null default 'en';
    create function rename_user() returns trigger language plpgsql as $$
      begin new.name := upper(new.name); return new; end $$;
    create trigger rename_user before insert on users for each row execute function rename_user()`);
  const auth = open({
    schema: { user: user as PgTable as never },
    user: { additionalFields: { locale: { type: "string", required: false } } },
    session: { cookieCache: { enabled: true } },
  });
  const response = await signUp(auth);
  assertEquals((await execute("select cmin from users")).length, 1);
  const { user: answered } = await response.json();
  const [found] = await execute("select name, locale, created_at from users");
  assertEquals([answered.name, answered.locale], [found.name, found.locale]);
  assertEquals([found.name, found.locale], ["ADA", "en"]);
  assertEquals(new Date(answered.createdAt), found.created_at);
  const data = response.headers.getSetCookie().find((each) => each.includes("session_data"))!;
  const cached = JSON.parse(atob(data.split("=")[1].split(/[.;]/)[0]));
  assertEquals(cached.session.user.name, "ADA");
});

Deno.test("a sign-up by one statement satisfies foreign keys, and triggers find the rows before", async () => {
  for (const [table, mode] of [["accounts", ""], ["sessions", "deferrable initially deferred"]]) {
    await execute(`alter table ${table} add foreign key (user_id) references users ${mode}`);
  }
  await execute(`alter table sessions add seen text;
    create function look() returns trigger language plpgsql as $$
      begin new.seen := (select count(*) from users join accounts on users.id = user_id
        where users.id = new.user_id); return new; end $$;
    create trigger look before insert on sessions for each row execute function look()`);
  assertEquals(await countWarm(), [200, 2]);
  assertEquals(await execute("select distinct seen from sessions"), [{ seen: "1" }]);
});

/** Triggers of tables that change what the other rows contain. */
const CHANGES: readonly (readonly [name: string, table: string, body: string])[] = [
  ["replaces the user's id", "users", "new.id := gen_random_uuid(); return new;"],
  [
    "stores a session for another user",
    "sessions",
    "new.user_id := gen_random_uuid(); return new;",
  ],
];

for (const [name, table, body] of CHANGES) {
  Deno.test(`a sign-up runs in a transaction if a trigger ${name}`, async () => {
    await execute(`create function change() returns trigger language plpgsql as $$
        begin ${body} end $$;
      create trigger change before insert on ${table} for each row execute function change()`);
    // one statement is tried by the first sign-up only
    assertEquals(await countWarm(), [200, 4]);
    const rows = await execute("select distinct user_id = account_id::uuid as same from accounts");
    assertEquals(rows, [{ same: true }]);
    assertEquals((await execute("select 1 from users")).length, 3);
  });
}

Deno.test("a sign-up runs in a transaction if a trigger replaces an id that other columns have as text", async () => {
  const columns = { userId: text("owner").notNull() };
  const session = pgTable("sessions", { ...AUTH_SESSION_COLUMNS, ...columns });
  const account = pgTable("accounts", { ...AUTH_ACCOUNT_COLUMNS, ...columns });
  await execute(`alter table sessions alter user_id drop not null, add owner text;
    alter table accounts alter user_id drop not null, add owner text;
    create function change() returns trigger language plpgsql as $$
      begin new.id := gen_random_uuid(); return new; end $$;
    create trigger change before insert on users for each row execute function change()`);
  const auth = open({ schema: { session: session as never, account: account as never } });
  assertEquals((await signUp(auth)).status, 200);
  assertEquals(
    await execute(`select 1 as found from users join sessions s on s.owner = users.id::text
      join accounts a on a.owner = s.owner`),
    [{ found: 1 }],
  );
});

Deno.test("a sign-up answers as better-auth if a trigger leaves rows out", async () => {
  await execute(`create function leave_out() returns trigger language plpgsql as
      'begin return null; end';
    create trigger leave_out before insert on users for each row execute function leave_out()`);
  const auth = open();
  assertEquals((await signUp(auth)).status, 400);
  assertEquals(await execute("select 1 from accounts"), []);
  await execute("drop trigger leave_out on users");
  assertEquals((await signUp(auth)).status, 200);
});

Deno.test("a sign-up stores an id as its column does", async () => {
  const id = crypto.randomUUID();
  const auth = open({
    advanced: {
      database: {
        generateId: ({ model }) => model === "user" ? id.toUpperCase() : crypto.randomUUID(),
      },
    },
  });
  const { user } = await (await signUp(auth)).json();
  const [found] = await execute(
    "select users.id::text, account_id from users join accounts on users.id = user_id",
  );
  assertEquals([user.id, found.id, found.account_id], [id, id, id]);
});

Deno.test("a sign-up runs in a transaction if generateId leaves the id to the database", async () => {
  const generateId = ({ model }: { model: string }) =>
    model === "user" ? false as never : crypto.randomUUID();
  assertEquals(await countWarm({ advanced: { database: { generateId } } }), [200, 4]);
});

Deno.test("concurrent sign-ups create one account, and the next one is one statement again", async () => {
  const auth = open();
  const statuses = await Promise.all(
    Array.from({ length: 8 }, async () => (await signUp(auth)).status),
  );
  assertEquals(statuses.sort(), [200, ...Array(7).fill(422)]);
  const counts = await Promise.all(
    ["users", "accounts", "sessions"].map((table) => execute(`select 1 from ${table}`)),
  );
  assertEquals(counts.map(({ length }) => length), [1, 1, 1]);
  assertEquals(await countSignUp(auth, "bob@example.com"), [200, 2]);
});

/** Makes each insert of a user that reaches the table count, also if it is rolled back. */
const COUNT_INSERTS = `create sequence attempts;
  create function count_attempt() returns trigger language plpgsql as $$
    begin perform nextval('attempts'); return new; end $$;
  create trigger count_attempt before insert on users for each row execute function count_attempt()`;

Deno.test("a sign-up is not repeated if the connection is lost before the answer", async () => {
  await execute(COUNT_INSERTS);
  const auth = open();
  await signUp(auth, "warm@example.com");
  faulty.onceAnswered(EMAIL, () => faulty.cut());
  const response = await signUp(auth);
  assertEquals([response.status, response.headers.getSetCookie()], [500, []]);
  assertEquals(await execute("select last_value from attempts"), [{ last_value: "2" }]);
});

Deno.test("a sign-up is not repeated if the server cancels its statement", async () => {
  await execute(COUNT_INSERTS);
  await execute(`create function fail() returns trigger language plpgsql as $$
      begin raise exception using errcode = '57014'; end $$;
    create trigger fail before insert on sessions for each row execute function fail()`);
  assertEquals((await signUp(open())).status, 500);
  assertEquals(await execute("select last_value from attempts"), [{ last_value: "1" }]);
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

Deno.test("a failed sign-up logs neither SQL nor values", async () => {
  await execute("alter table users add constraint refused check (email <> 'ada@example.com')");
  assertEquals((await signUp(open())).status, 422);
  const logged = lines.join("");
  assert(logged.includes("Failed to create user"), logged);
  assert(!/insert into|correct horse|ada@example/.test(logged), logged);
});
