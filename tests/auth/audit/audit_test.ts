import { assert, assertEquals, assertRejects } from "@std/assert";
import { apiKey } from "@better-auth/api-key";
import { admin } from "better-auth/plugins";
import { listAuthEvents } from "../../../auth/accounts/audit_events.ts";
import { createAuth } from "../../../auth/accounts/instance.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import { SECRET } from "../auth_database.ts";
import {
  BASE_URL,
  newEmail,
  openBrowser,
  PASSWORD,
  type PluginLab,
  sharePluginLab,
} from "../plugins/plugin_lab.ts";

const shared = sharePluginLab({ plugins: [admin(), apiKey()], audit: true });

function test(name: string, run: (lab: PluginLab) => Promise<void>): void {
  shared.test(name, async (lab) => {
    await lab.query("DELETE FROM auth_events");
    await run(lab);
  });
}

test("audit records sign-up, sign-in, failures, changes and sign-out with address and user agent, and no secret", async (lab) => {
  let link = "";
  const browser = openBrowser(lab, {
    audit: true,
    user: { changeEmail: { enabled: true, updateEmailWithoutVerification: true } },
    emailAndPassword: {
      enabled: true,
      sendResetPassword: ({ url }) => Promise.resolve(void (link = url)),
    },
  });
  const email = newEmail("audit");
  const headers = { "user-agent": "tests/1.0" };
  const userId = await browser.signUp(email);
  await browser.post("/sign-in/email", { email, password: "a wrong password" }, headers);
  await browser.post(
    "/sign-in/email",
    { email: "nobody@example.com", password: PASSWORD },
    headers,
  );
  await browser.post("/sign-in/email", { email, password: PASSWORD }, headers);
  const changed = await browser.post("/change-password", {
    currentPassword: PASSWORD,
    newPassword: "another good password",
  });
  assertEquals(changed.status, 200, JSON.stringify(changed.body));
  const other = newEmail("changed");
  const moved = await browser.post("/change-email", { newEmail: other });
  assertEquals(moved.status, 200, JSON.stringify(moved.body));
  await browser.post("/sign-out", {}, headers);
  await browser.post("/request-password-reset", { email: other, redirectTo: "/reset" });
  const token = new URL(link).pathname.split("/").at(-1);
  const reset = await browser.post("/reset-password", { token, newPassword: "a third password" });
  assertEquals(reset.status, 200, JSON.stringify(reset.body));

  const events = (await listAuthEvents(browser.auth)).toReversed();
  assertEquals(events.map(({ kind, userId }) => [kind, userId]), [
    ["sign-up", userId],
    ["sign-in-failed", userId],
    ["sign-in-failed", null],
    ["sign-in", userId],
    ["password-changed", userId],
    ["email-changed", userId],
    ["sign-out", userId],
    ["password-reset", userId],
  ]);
  const signIn = events.find(({ kind }) => kind === "sign-in")!;
  assertEquals(signIn.userAgent, "tests/1.0");
  assert(signIn.address !== null && signIn.address !== "");
  const stored = JSON.stringify(await lab.query("SELECT * FROM auth_events"));
  for (
    const secret of [
      PASSWORD,
      "wrong password",
      "another good",
      token!,
      ...browser.cookies.values(),
    ]
  ) {
    assert(!stored.includes(secret));
  }
});

test("audit records who changed a role, banned and impersonated a user", async (lab) => {
  const browser = openBrowser(lab, { audit: true, plugins: [admin()] });
  const email = newEmail("admin");
  const adminId = await browser.signUp(email);
  await lab.query(`UPDATE users SET role = 'admin' WHERE email = '${email}'`);
  const userId = await openBrowser(lab, {}, browser.auth).signUp(newEmail("user"));
  await browser.post("/admin/set-role", { userId, role: "user" });
  await browser.post("/admin/ban-user", { userId });
  await browser.post("/admin/unban-user", { userId });
  await browser.post("/admin/impersonate-user", { userId });
  // with the session of the user
  await browser.post("/sign-out", {});
  const events = await listAuthEvents(browser.auth, { userId });
  assertEquals(events.toReversed().map(({ kind, actorId }) => [kind, actorId]), [
    ["sign-up", null],
    ["role-changed", adminId],
    ["user-banned", adminId],
    ["user-unbanned", adminId],
    ["impersonation-started", adminId],
    ["sign-out", adminId],
  ]);
});

test("audit records the creation and the use of API keys", async (lab) => {
  const browser = openBrowser(lab, { audit: true, plugins: [apiKey()] });
  const userId = await browser.signUp(newEmail("key"));
  const { body } = await browser.post("/api-key/create", { name: "ci" });
  // deno-lint-ignore no-explicit-any
  await (browser.auth.api as any).verifyApiKey({ body: { key: body.key } });
  const events = await listAuthEvents(browser.auth, { kinds: ["api-key-created", "api-key-used"] });
  assertEquals(events.toReversed().map(({ kind, userId }) => [kind, userId]), [
    ["api-key-created", userId],
    ["api-key-used", userId],
  ]);
  const stored = JSON.stringify(await lab.query("SELECT * FROM auth_events"));
  assert(!stored.includes(body.key));
});

test("audit leaves the user's own hooks alone, and rolls an event back with its transaction", async (lab) => {
  const seen: string[] = [];
  const browser = openBrowser(lab, {
    audit: true,
    databaseHooks: {
      user: {
        create: {
          before: (user) => Promise.resolve({ data: { ...user, name: "From the hook" } }),
          after: (user) => Promise.resolve(void seen.push(user.name)),
        },
      },
      account: {
        create: {
          before: ({ providerId }) => {
            if (seen.includes("refuse")) throw new Error(`no ${providerId}`);
            return Promise.resolve();
          },
        },
      },
    },
  });
  await browser.signUp(newEmail("hooks"));
  assertEquals(seen, ["From the hook"]);
  seen.push("refuse");
  const before = await listAuthEvents(browser.auth);
  const email = newEmail("refused");
  const refused = await browser.post("/sign-up/email", { name: "Ada", email, password: PASSWORD });
  assert(refused.status >= 400);
  assertEquals(await lab.query(`SELECT 1 FROM users WHERE email = '${email}'`), []);
  assertEquals(await listAuthEvents(browser.auth), before);
});

test("audit.exclude omits kinds of events", async (lab) => {
  const browser = openBrowser(lab, { audit: { exclude: ["sign-up"] } });
  const email = newEmail("exclude");
  await browser.signUp(email);
  await browser.post("/sign-in/email", { email, password: PASSWORD });
  assertEquals((await listAuthEvents(browser.auth)).map(({ kind }) => kind), ["sign-in"]);
});

test("listAuthEvents() pages by time and rejects a configuration without the table", async (lab) => {
  const browser = openBrowser(lab, { audit: true });
  for (const name of ["a", "b", "c"]) await browser.signUp(newEmail(name));
  const first = await listAuthEvents(browser.auth, { limit: 2 });
  const second = await listAuthEvents(browser.auth, { limit: 2, before: first[1].createdAt });
  assertEquals([first.length, second.length], [2, 1]);
  const plain = createAuth(lab.db, { secret: SECRET, baseURL: BASE_URL });
  await assertRejects(() => listAuthEvents(plain), ConfigurationError, "no table authEvent");
  await assertRejects(
    () => listAuthEvents(browser.auth, { limit: 0 }),
    ConfigurationError,
    "limit must be a whole number from 1 to 1000, got 0",
  );
});
