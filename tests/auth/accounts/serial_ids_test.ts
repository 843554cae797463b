import { assertEquals } from "@std/assert";
import { apiKey } from "@better-auth/api-key";
import { drizzle } from "drizzle-orm/pglite";
import { magicLink, organization } from "better-auth/plugins";
import type { AuthConfig } from "../../../auth/mod.ts";
import { openAuthDatabase } from "../auth_database.ts";
import { generateSchema } from "../plugins/generated_schema.ts";
import { newEmail, openBrowser, PASSWORD } from "../plugins/plugin_lab.ts";

let token = "";

const CONFIG: Partial<AuthConfig> = {
  plugins: [
    apiKey([{ configId: "default" }, { configId: "teams", references: "organization" }]),
    magicLink({ sendMagicLink: (mail) => void (token = mail.token) }),
    organization(),
  ],
  rateLimit: { enabled: false },
  advanced: { database: { generateId: "serial" } },
  user: { deleteUser: { enabled: true } },
};

Deno.test("with numbers as ids, a proof and a deletion remove the rows of their user only", async () => {
  const { pglite } = await openAuthDatabase();
  try {
    await pglite.exec("DROP TABLE users, sessions, accounts, verification");
    const { authSchema, statements } = await generateSchema(CONFIG);
    await pglite.exec(statements.join("\n"));
    const query = async (sql: string) => (await pglite.query<Record<string, unknown>>(sql)).rows;
    const lab = { db: drizzle(pglite, { schema: authSchema }), authSchema, query };
    const [first, second] = [openBrowser(lab, CONFIG), openBrowser(lab, CONFIG)];
    const ids = [await first.signUp(newEmail("first")), await second.signUp(newEmail("second"))];
    assertEquals(ids.map(String), ["1", "2"]);
    await query("UPDATE users SET email_verified = true WHERE id = 2");
    const created = await second.post("/organization/create", { name: "1", slug: "acme" });
    assertEquals([created.status, String(created.body.id)], [200, "1"]);
    const keys = async () =>
      (await query("SELECT name FROM apikeys ORDER BY 1")).map(({ name }) => name);
    const create = async (browser: typeof first, body: object) =>
      assertEquals((await browser.post("/api-key/create", body)).status, 200);
    await create(first, { name: "planted" });
    await create(second, { name: "1" });
    await create(second, { name: "team", configId: "teams", organizationId: "1" });
    await query(`INSERT INTO verification (identifier, value, expires_at, updated_at)
      SELECT id, value, now() + interval '1 hour', now() FROM (VALUES
        ('sign-in-otp-b1@example.com', '111111:1'), ('reset-password:abc', '12'), ('own', '1'),
        ('challenge', '{"userData":{"id":"1"}}')) AS rows (id, value)`);

    const [{ email }] = await query("SELECT email FROM users WHERE id = 1");
    await first.post("/sign-in/magic-link", { email });
    await first.get(`/magic-link/verify?token=${token}`);
    assertEquals((await first.get("/get-session")).body.user.emailVerified, true);
    const left = await query("SELECT identifier FROM verification ORDER BY 1");
    assertEquals(
      left.map(({ identifier }) => String(identifier)).filter((each) =>
        !each.startsWith("address-")
      ),
      ["reset-password:abc", "sign-in-otp-b1@example.com"],
    );
    // nobody can tell whose key the reference 1 is: that a stranger keeps none is more important
    assertEquals(await keys(), ["1"]);

    await create(first, { name: "own" });
    await create(second, { name: "team", configId: "teams", organizationId: "1" });
    assertEquals((await second.post("/organization/delete", { organizationId: "1" })).status, 200);
    assertEquals(await keys(), ["1", "own", "team"]);
    await create(second, { name: "more" });
    assertEquals((await second.post("/delete-user", { password: PASSWORD })).status, 200);
    assertEquals(await keys(), ["own", "team"]);
  } finally {
    await pglite.close();
  }
});
