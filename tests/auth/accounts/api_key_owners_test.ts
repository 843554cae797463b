import { apiKey } from "@better-auth/api-key";
import { assertEquals } from "@std/assert";
import { admin, organization } from "better-auth/plugins";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { AUTH_USER_COLUMNS, type AuthConfig, createAuth, defineAuth } from "../../../auth/mod.ts";
import { isAppError } from "../../../errors/mod.ts";
import { createRestApiEvent } from "../../../testing/mod.ts";
import { ACCOUNTS_CONFIG, getPluginApi, toSignedIn } from "../accounts_app.ts";
import { accountsSchema, openAccountsDatabase } from "../accounts_database.ts";
import { API_KEY_TABLE, apikey } from "../api_keys_database.ts";
import { atTime } from "../auth_database.ts";
import { FAST_PASSWORDS } from "../fast_passwords.ts";

const { pglite, db } = await openAccountsDatabase();
await pglite.exec(API_KEY_TABLE);
Deno.test.afterAll(() => pglite.close());

const schema = { ...accountsSchema, apikey };
const PLUGIN = [
  { configId: "default", enableSessionForAPIKeys: true },
  { configId: "teams", references: "organization" as const },
];
const CONFIG: AuthConfig = {
  ...ACCOUNTS_CONFIG,
  schema,
  emailAndPassword: { enabled: true, password: FAST_PASSWORDS },
  user: { deleteUser: { enabled: true } },
  plugins: () => [
    organization({ allowUserToCreateOrganization: true }),
    admin(),
    apiKey(PLUGIN),
  ],
  logger: { disabled: true },
};
const auth = createAuth(db, CONFIG);
const api = getPluginApi(auth);

/** Checks a key as a handler does. */
async function check(
  key: string,
  tables: Record<string, unknown> = schema,
  plugin = PLUGIN,
): Promise<number> {
  const { apiKey } = defineAuth(() => Promise.resolve(db), { ...CONFIG, schema: tables });
  try {
    await apiKey({ plugin }).authenticate(createRestApiEvent({ headers: { "x-api-key": key } }));
    return 200;
  } catch (error) {
    if (isAppError(error)) return error.statusCode;
    throw error;
  }
}

let accounts = 0;

/** Signs up and creates a key. */
async function addOwner(role = "user") {
  const email = `owner-${++accounts}@example.com`;
  const { token, user } = await auth.api.signUpEmail({
    body: { name: "Ada", email, password: "correct horse battery" },
  });
  await pglite.query("UPDATE people SET role = $1 WHERE id = $2", [role, user.id]);
  const { key } = await api.createApiKey({ body: { userId: user.id } });
  return { ...toSignedIn(user.id, token!), key: key as string };
}

async function countKeys(referenceId: string): Promise<number> {
  const { rows } = await pglite.query("SELECT 1 FROM api_keys WHERE reference_id = $1", [
    referenceId,
  ]);
  return rows.length;
}

Deno.test("a key is refused once its user has deleted their account, which deletes the key", async () => {
  const { id, key, headers } = await addOwner();
  assertEquals(await check(key), 200);
  await api.deleteUser({ body: { password: "correct horse battery" }, headers });
  assertEquals([await check(key), await countKeys(id)], [401, 0]);
});

Deno.test("a key is refused once an administrator has removed its user, which deletes the key", async () => {
  const [root, { id, key }] = [await addOwner("admin"), await addOwner()];
  await api.removeUser({ body: { userId: id }, headers: root.headers });
  assertEquals([await check(key), await countKeys(id)], [401, 0]);
  assertEquals(await check(root.key), 200);
});

Deno.test("a key is refused once its user was deleted in SQL", async () => {
  const { id, key } = await addOwner();
  await pglite.query("DELETE FROM people WHERE id = $1", [id]);
  assertEquals([await check(key), await countKeys(id)], [401, 1]);
});

Deno.test("a key is refused while its user is banned, and not after the ban", async () => {
  const [root, { id, key }] = [await addOwner("admin"), await addOwner()];
  const body = { userId: id, banExpiresIn: 60 };
  await api.banUser({ body, headers: root.headers });
  assertEquals(await check(key), 401);
  assertEquals(await atTime(Date.now() + 61_000, () => check(key)), 200);
  await api.banUser({ body: { userId: id }, headers: root.headers });
  assertEquals(await atTime(Date.now() + 61_000, () => check(key)), 401);
  await api.unbanUser({ body: { userId: id }, headers: root.headers });
  assertEquals(await check(key), 200);
});

Deno.test("better-auth creates no session for the key of a banned user", async () => {
  const [root, { id, key }] = [await addOwner("admin"), await addOwner()];
  const call = async (path: string, method: string) => {
    const headers = { "x-api-key": key, "content-type": "application/json" };
    const body = method === "POST" ? JSON.stringify({ name: "Eve" }) : undefined;
    const url = `${CONFIG.baseURL}/api/auth${path}`;
    return (await auth.handler(new Request(url, { method, headers, body }))).status;
  };
  const callAll =
    async () => [await call("/get-session", "GET"), await call("/update-user", "POST")];
  assertEquals(await callAll(), [200, 200]);
  await api.banUser({ body: { userId: id }, headers: root.headers });
  assertEquals(await callAll(), [401, 401]);
});

Deno.test("a key of an organization is refused once the organization was deleted", async () => {
  const { headers } = await addOwner();
  const { id } = await api.createOrganization({ body: { name: "Lab", slug: "lab" }, headers });
  const { key } = await api.createApiKey({
    body: { configId: "teams", organizationId: id },
    headers,
  });
  assertEquals(await check(key as string), 200);
  await api.deleteOrganization({ body: { organizationId: id }, headers });
  assertEquals([await check(key as string), await countKeys(id as string)], [401, 0]);
});

Deno.test("a key whose owner's id is no id of the table is refused", async () => {
  const numbered = pgTable("numbered", { ...AUTH_USER_COLUMNS, id: integer("id").primaryKey() });
  const named = pgTable("named", { ...AUTH_USER_COLUMNS, id: text("id").primaryKey() });
  await pglite.exec(`CREATE TABLE numbered (id int); INSERT INTO numbered VALUES (7);
    CREATE TABLE named (id text); INSERT INTO named VALUES ('user_7')`);
  const { id, key } = await addOwner();
  const ids = [
    id,
    "7",
    "user_7",
    "",
    "7 ",
    "99999999999999999999",
    `${id}0`,
    "'; drop table people",
  ];
  const accepted: string[][] = [];
  for (const user of [schema.user, numbered, named]) {
    const found: string[] = [];
    for (const each of ids) {
      await pglite.query("UPDATE api_keys SET reference_id = $1", [each]);
      if (await check(key, { apikey, user }, PLUGIN.slice(0, 1)) === 200) found.push(each);
    }
    accepted.push(found);
  }
  assertEquals(accepted, [[id], ["7"], ["user_7"]]);
});
