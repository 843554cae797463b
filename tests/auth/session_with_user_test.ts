import { assertEquals } from "@std/assert";
import { integer, pgTable } from "drizzle-orm/pg-core";
import { type BetterAuthInstance, createAuth, getInternals } from "../../auth/instance.ts";
import {
  AUTH_ACCOUNT_COLUMNS,
  AUTH_SESSION_COLUMNS,
  AUTH_USER_COLUMNS,
  authSessions,
  authUsers,
} from "../../auth/schema.ts";
import { readUserWithSession } from "../../auth/session_with_user.ts";
import { openAuthDatabase, SECRET } from "./auth_database.ts";
import { EMAIL, openSignUpLab } from "./sign_up_lab.ts";

const { db, pglite, queries, reset } = await openAuthDatabase();
const lab = await openSignUpLab();
const CONFIG = { secret: SECRET, baseURL: "http://localhost:3000" };
const SESSION = { expiresAt: new Date(1_900_000_000_000), ipAddress: null, userAgent: "tests" };

/** Starts better-auth, with its own joins or without. */
async function start(experimentalJoins: boolean) {
  const auth = createAuth(db, { ...CONFIG, experimentalJoins });
  const { context } = await getInternals(auth).start();
  return (token: string) => context.internalAdapter.findSession(token);
}

function createUsers(count: number) {
  return Array.from({ length: count }, (_, i) => ({
    id: crypto.randomUUID(),
    name: `User ${i} 🦉`,
    email: `user-${i}'"@example.com`,
    image: i % 2 === 0 ? null : "https://example.com/a.png",
  }));
}

Deno.test.beforeEach(reset);
Deno.test.afterAll(() => pglite.close());

Deno.test("readUserWithSession() finds what better-auth's own join finds", async () => {
  const [findTogether, findJoined] = await Promise.all([start(false), start(true)]);
  const users = createUsers(6);
  await db.insert(authUsers).values(users);
  const owners = [...users.map(({ id }) => id), crypto.randomUUID()];
  const tokens = owners.flatMap((_, i) => [`${i}-a`, `${i}-'"-🦉`]);
  await db.insert(authSessions).values(
    tokens.map((token, i) => ({ ...SESSION, token, userId: owners[i >> 1] })),
  );
  for (const [i, token] of [...tokens, "unknown"].entries()) {
    const expected = await findJoined(token);
    assertEquals(expected?.user.id, users[i >> 1]?.id, token);
    queries.length = 0;
    assertEquals(await findTogether(token), expected, token);
    // a session without a user is searched again
    assertEquals(queries.length, token.startsWith("6-") ? 4 : 2, queries.join("\n"));
  }
});

Deno.test("readUserWithSession() leaves searches with other joins to the adapter", async () => {
  const searches: unknown[] = [];
  const createAdapter = readUserWithSession(() => ({
    findOne: (search: unknown) => Promise.resolve(void searches.push(search)),
  }), authSessions);
  const where = [{ field: "token", value: "a" }];
  const others = [
    { model: "session", where, join: { user: true, organization: true } },
    { model: "session", where, join: { user: { limit: 1 } } },
    { model: "session", where: [...where, ...where], join: { user: true } },
    { model: "account", where, join: { user: true } },
  ];
  for (const search of others) await createAdapter({}).findOne(search);
  assertEquals(searches, others);
});

Deno.test("readUserWithSession() returns the owner of the session if a token is not unique", async () => {
  const find = await start(false);
  await pglite.exec("ALTER TABLE sessions DROP CONSTRAINT IF EXISTS sessions_token_unique");
  const users = createUsers(2);
  await db.insert(authUsers).values(users);
  for (const { id } of users.toReversed()) {
    await db.insert(authSessions).values({ ...SESSION, token: "shared", userId: id });
  }
  const found = await find("shared");
  assertEquals(found?.user.id, found?.session.userId);
});

const serialId = () => integer("id").primaryKey().generatedAlwaysAsIdentity();
const userId = () => integer("user_id").notNull();
const SERIAL_TABLES = {
  user: pgTable("numbered_users", { ...AUTH_USER_COLUMNS, id: serialId() }),
  session: pgTable("numbered_sessions", {
    ...AUTH_SESSION_COLUMNS,
    id: serialId(),
    userId: userId(),
  }),
  account: pgTable("numbered_accounts", {
    ...AUTH_ACCOUNT_COLUMNS,
    id: serialId(),
    userId: userId(),
  }),
};

Deno.test("createAuth() finds a session with its user by numeric ids", async () => {
  for (const [table, columns] of [["users", ["id"]], ["sessions", ["id", "user_id"]]] as const) {
    const changes = columns.map((column) =>
      `ALTER TABLE numbered_${table} DROP COLUMN ${column}, ADD COLUMN ${column} integer NOT NULL ${
        column === "id" ? "GENERATED ALWAYS AS IDENTITY" : ""
      };`
    );
    await pglite.exec(`CREATE TABLE numbered_${table} (LIKE ${table}); ${changes.join("")}`);
  }
  const auth = createAuth(db, {
    ...CONFIG,
    schema: SERIAL_TABLES,
    advanced: { database: { generateId: "serial" } },
  });
  const { context: { internalAdapter } } = await getInternals(auth).start();
  const user = await internalAdapter.createUser(
    { name: "Ada", email: "ada@example.com", emailVerified: true },
    { method: "email-password" },
  );
  const { token } = await internalAdapter.createSession(user.id);
  queries.length = 0;
  assertEquals((await internalAdapter.findSession(token))?.user.id, user.id);
  assertEquals(queries.length, 2);
});

Deno.test("GET /get-session takes 2 round trips: the count, and the session with its user", async () => {
  const auth = lab.open();
  const { token } = await (await lab.signUp(auth)).json();
  const headers = { authorization: `Bearer ${token}` };
  const get = () =>
    auth.handler(new Request("https://api.example.com/api/auth/get-session", { headers }));
  await get();
  const before = lab.proxy.count();
  const { user } = await (await get()).json();
  assertEquals([user.email, lab.proxy.count() - before], [EMAIL, 2]);
});

const LIMITED = { customRules: { "/change-password": { max: 3, window: 60 } } };

function changePassword(auth: BetterAuthInstance, token: string): Promise<Response> {
  const password = "correct horse battery";
  return auth.handler(
    new Request("https://api.example.com/api/auth/change-password", {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ currentPassword: password, newPassword: password }),
    }),
  );
}

Deno.test("POST /change-password takes 6 round trips, and 1 if it is refused", async () => {
  const auth = lab.open({ rateLimit: LIMITED });
  const { token } = await (await lab.signUp(auth)).json();
  async function change(): Promise<[status: number, trips: number]> {
    const before = lab.proxy.count();
    const { status } = await changePassword(auth, token);
    return [status, lab.proxy.count() - before];
  }
  await change();
  await change();
  assertEquals(await change(), [200, 6]);
  assertEquals(await change(), [429, 1]);
});

Deno.test("a request over the limit of its route reads no session of another storage", async () => {
  const stored = new Map<string, unknown>();
  let reads = 0;
  const unused = () => Promise.reject(new Error("not used"));
  const auth = lab.open({
    rateLimit: LIMITED,
    session: { storeSessionInDatabase: true },
    secondaryStorage: {
      get: (key) => (reads++, stored.get(key)),
      set: (key, value) => void stored.set(key, value),
      delete: (key) => void stored.delete(key),
      increment: unused,
      getAndDelete: unused,
    },
  });
  const { token } = await (await lab.signUp(auth)).json();
  for (let i = 0; i < 3; i++) assertEquals((await changePassword(auth, token)).status, 200);
  reads = 0;
  assertEquals([(await changePassword(auth, token)).status, reads], [429, 0]);
});
