import { assertEquals } from "@std/assert";
import { integer, pgTable } from "drizzle-orm/pg-core";
import { createAuth, getInternals } from "../../auth/instance.ts";
import {
  AUTH_ACCOUNT_COLUMNS,
  AUTH_SESSION_COLUMNS,
  AUTH_USER_COLUMNS,
  authAccounts,
  authUsers,
} from "../../auth/schema.ts";
import { createRandom } from "./random.ts";
import { testSeed } from "../support/seed.ts";
import { openAuthDatabase, SECRET } from "./auth_database.ts";

const { db, pglite, queries, reset } = await openAuthDatabase();
const CONFIG = { secret: SECRET, baseURL: "http://localhost:3000" };

/** Starts better-auth, with its own joins or without. */
async function start(experimentalJoins: boolean) {
  const auth = createAuth(db, { ...CONFIG, experimentalJoins });
  const { context } = await getInternals(auth).start();
  return async function findUser(email: string) {
    queries.length = 0;
    const found = await context.internalAdapter.findUserByEmail(email, { includeAccounts: true });
    found?.accounts.sort((a, b) => a.id < b.id ? -1 : 1);
    return found;
  };
}

Deno.test.beforeEach(reset);
Deno.test.afterAll(() => pglite.close());

Deno.test("readAccountsWithUser() finds what better-auth's own join finds", async () => {
  const [findTogether, findJoined] = await Promise.all([start(false), start(true)]);
  const { below } = createRandom(testSeed);
  const users = Array.from({ length: 12 }, (_, i) => ({
    id: crypto.randomUUID(),
    name: `User ${i}`,
    email: `user-${i}'"@example.com`,
    image: i % 2 === 0 ? null : "https://example.com/a.png",
  }));
  await db.insert(authUsers).values(users);
  const accounts = users.flatMap(({ id }) =>
    Array.from({ length: below(4) }, (_, i) => ({
      accountId: `${id}-${i}`,
      providerId: i === 0 ? "credential" : "github",
      userId: id,
      password: i === 0 ? "hash" : null,
      accessTokenExpiresAt: i === 1 ? new Date(1_800_000_000_000) : null,
    }))
  );
  await db.insert(authAccounts).values(accounts);
  for (const email of [...users.map(({ email }) => email.toUpperCase()), "nobody@example.com"]) {
    const expected = await findJoined(email);
    assertEquals(await findTogether(email), expected, `seed ${testSeed}, ${email}`);
    assertEquals(queries.length, 2);
    const count = accounts.filter(({ userId }) => userId === expected?.user.id).length;
    assertEquals(expected?.accounts.length ?? 0, count);
  }
});

Deno.test("readAccountsWithUser() leaves out accounts of other users with the same address", async () => {
  const find = await start(false);
  await pglite.exec("ALTER TABLE users DROP CONSTRAINT IF EXISTS users_email_unique");
  const email = "shared@example.com";
  const ids = [crypto.randomUUID(), crypto.randomUUID()];
  await db.insert(authUsers).values(ids.map((id) => ({ id, name: "Ada", email })));
  await db.insert(authAccounts).values(ids.map((userId) => ({
    accountId: userId,
    providerId: "credential",
    userId,
  })));
  const found = await find(email);
  assertEquals(found?.accounts.map(({ userId }) => userId), [found?.user.id]);
});

const serialId = () => integer("id").primaryKey().generatedAlwaysAsIdentity();
const userId = () => integer("user_id").notNull();
const SERIAL_TABLES = {
  user: pgTable("serial_users", { ...AUTH_USER_COLUMNS, id: serialId() }),
  session: pgTable("serial_sessions", {
    ...AUTH_SESSION_COLUMNS,
    id: serialId(),
    userId: userId(),
  }),
  account: pgTable("serial_accounts", {
    ...AUTH_ACCOUNT_COLUMNS,
    id: serialId(),
    userId: userId(),
  }),
};

Deno.test("createAuth() finds a user with accounts by numeric ids", async () => {
  for (const [table, columns] of [["users", ["id"]], ["accounts", ["id", "user_id"]]] as const) {
    await pglite.exec(
      `CREATE TABLE serial_${table} (LIKE ${table});` +
        columns.map((column) =>
          `ALTER TABLE serial_${table} DROP COLUMN ${column}, ADD COLUMN ${column} integer NOT NULL ${
            column === "id" ? "GENERATED ALWAYS AS IDENTITY" : ""
          };`
        ).join(""),
    );
  }
  const auth = createAuth(db, {
    ...CONFIG,
    schema: SERIAL_TABLES,
    advanced: { database: { generateId: "serial" } },
  });
  const { context: { internalAdapter } } = await getInternals(auth).start();
  const email = "ada@example.com";
  const user = await internalAdapter.createUser(
    { name: "Ada", email, emailVerified: true },
    { method: "email-password" },
  );
  await internalAdapter.createAccount({
    userId: user.id,
    accountId: user.id,
    providerId: "credential",
  });
  const found = await internalAdapter.findUserByEmail(email, { includeAccounts: true });
  assertEquals(found?.accounts.map((account) => account.userId), [user.id]);
});
