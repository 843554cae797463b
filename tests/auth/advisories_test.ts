// The published advisories of better-auth, each tried against the routes and handlers of this library.
import { assert, assertEquals } from "@std/assert";
import { apiKey } from "@better-auth/api-key";
import { multiSession, twoFactor } from "better-auth/plugins";
import { magicLink } from "better-auth/plugins/magic-link";
import { getTableName, type Table } from "drizzle-orm";
import { createAuthHandler } from "../../auth/routes/auth_handler.ts";
import type { AuthConfig } from "../../auth/config/config.ts";
import { configureSessionAuth, resetSessionAuth } from "../../auth/session_auth.ts";
import { createHttpApiEvent, createLambdaContext } from "../../testing/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { SECRET } from "./auth_database.ts";
import {
  BASE_URL,
  type Browser,
  newEmail,
  openBrowser,
  PASSWORD,
  type PluginLab,
  sharePluginLab,
} from "./plugins/plugin_lab.ts";

const plugins = () => [apiKey(), twoFactor(), multiSession()];

const { test } = sharePluginLab({ plugins: plugins() });

test("GHSA-99h5-pjcv-gr6v: no API key is created or changed without a session", async (lab) => {
  const victim = openBrowser(lab, { plugins: plugins() });
  const userId = await victim.signUp(newEmail("victim"));
  const { body } = await victim.post("/api-key/create", { name: "own" });
  const stranger = openBrowser(lab, {}, victim.auth);
  const privileged = { userId, permissions: { files: ["read"] }, rateLimitMax: 1_000_000 };
  for (const given of [{ userId }, privileged]) {
    const created = await stranger.post("/api-key/create", given);
    const changed = await stranger.post("/api-key/update", { ...given, keyId: body.id });
    assert([400, 401].includes(created.status) && [400, 401].includes(changed.status));
  }
  const table = getTableName(lab.authSchema.apikey as Table);
  const rows = await lab.query(`select permissions from ${table}`);
  assertEquals(rows, [{ permissions: null }]);
});

test("GHSA-x732-6j76-qmhm: empty segments of a path reach no route that is disabled or not mounted", async (lab) => {
  const browser = openBrowser(lab, { disabledPaths: ["/sign-up/email"] });
  const body = { name: "x", email: newEmail(), password: PASSWORD };
  for (
    const path of ["/sign-up/email", "//sign-up/email", "/sign-up//email", "/%2Fsign-up/email"]
  ) {
    assertEquals((await browser.post(path, body)).status, 404, path);
  }
  const { auth } = openBrowser(lab, {});
  const handler = createAuthHandler(() => auth, { routes: ["/sign-in/*"] });
  for (const path of ["/sign-up/email", "//sign-up/email", "/sign-in/../sign-up/email"]) {
    const event = createHttpApiEvent({
      method: "POST",
      path: `/api/auth${path}`,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    assertEquals((await handler(event, createLambdaContext())).statusCode, 404, path);
  }
});

test("GHSA-xg6x-h9c9-2m83: a sign-in that waits for the second factor opens no handler, with a cookie cache", async (lab) => {
  const config: Partial<AuthConfig> = {
    plugins: plugins(),
    session: { cookieCache: { enabled: true } },
  };
  const email = newEmail("two-factor");
  const first = openBrowser(lab, config);
  await first.signUp(email);
  await first.post("/two-factor/enable", { password: PASSWORD });
  await lab.query(`update users set two_factor_enabled = true where email = '${email}'`);
  const second = openBrowser(lab, {}, first.auth);
  const started = await second.post("/sign-in/email", { email, password: PASSWORD });
  assertEquals(started.body.twoFactorRedirect, true);
  assertEquals((await second.get("/get-session")).body, null);
  // each cookie that any response has set, the deleted ones too
  const cookies = started.headers.getSetCookie().map((line) => line.split(";")[0]);
  assertEquals(await callHandler(lab, config, cookies.join("; ")), 401);
  assertEquals(await callHandler(lab, config, toHeader(first)), 200);
});

const toHeader = ({ cookies }: Browser) =>
  [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");

/** Calls a handler with auth "session", and returns the status. */
async function callHandler(
  lab: PluginLab,
  config: Partial<AuthConfig>,
  cookie: string,
): Promise<number> {
  configureSessionAuth(() => Promise.resolve(lab.db), {
    secret: SECRET,
    baseURL: BASE_URL,
    useSecureCookies: false,
    schema: lab.authSchema,
    ...config,
  });
  const handler = defineApiHandler({
    auth: "session",
    logging: { level: "SILENT" },
    metrics: false,
  })(() => ({ statusCode: 200, body: "" }));
  const event = createHttpApiEvent({ headers: { cookie } });
  const { statusCode } = await handler(event, createLambdaContext());
  resetSessionAuth();
  return statusCode;
}

test("GHSA-569q-mpph-wgww: the host of a request is in no link", async (lab) => {
  const links: string[] = [];
  const browser = openBrowser(lab, {
    emailAndPassword: {
      enabled: true,
      sendResetPassword: ({ url }) => Promise.resolve(void links.push(url)),
    },
    plugins: [magicLink({ sendMagicLink: ({ url }) => void links.push(url) })],
  });
  const email = newEmail("host");
  const evil = {
    host: "evil.example",
    "x-forwarded-host": "evil.example",
    "x-forwarded-proto": "https",
    forwarded: "host=evil.example",
  };
  await browser.post("/sign-in/magic-link", { email }, evil);
  await browser.signUp(email);
  await browser.post("/request-password-reset", { email }, evil);
  assertEquals(links.map((url) => new URL(url).origin), [BASE_URL, BASE_URL]);
});

test("redirects: addresses of other origins are no targets of redirects", async (lab) => {
  const browser = openBrowser(lab, {
    trustedOrigins: ["https://app.example.com", "https://*.trusted.example"],
    plugins: [magicLink({ sendMagicLink: () => {} })],
  });
  const targets = [
    "https://evil.example/",
    "//evil.example",
    "/\\evil.example",
    "/%5Cevil.example",
    "/%2F/evil.example",
    "https://app.example.com.evil.example",
    "https://app.example.com@evil.example",
    "https://evil.example/.trusted.example",
    "https://evil.example?.trusted.example",
    "javascript:alert(1)//https://app.example.com",
    "\thttps://evil.example",
  ];
  for (const target of targets) {
    const { status } = await browser.post("/sign-in/magic-link", {
      email: newEmail(),
      callbackURL: target,
    });
    assertEquals([target, status], [target, 403]);
    for (const path of ["/verify-email?token=x&callbackURL=", "/reset-password/x?callbackURL="]) {
      const { headers } = await browser.get(`${path}${encodeURIComponent(target)}`);
      const location = headers.get("location") ?? BASE_URL;
      assertEquals([target, new URL(location, BASE_URL).origin], [target, BASE_URL]);
    }
  }
  const own = { email: newEmail(), callbackURL: "https://app.example.com/welcome" };
  assertEquals((await browser.post("/sign-in/magic-link", own)).status, 200);
});

test("a sign-out with a forged cookie of several sessions ends no foreign session", async (lab) => {
  const config = { plugins: plugins() };
  const victim = openBrowser(lab, config);
  await victim.signUp(newEmail("victim"));
  const [{ token }] = await lab.query(
    "select token from sessions order by created_at desc limit 1",
  );
  const stranger = openBrowser(lab, {}, victim.auth);
  await stranger.signUp(newEmail("stranger"));
  for (const value of [`${token}.forged`, `${token}`, `${token}.${"A".repeat(43)}%3D`]) {
    stranger.cookies.set(`better-auth.session_token_multi-${String(token).toLowerCase()}`, value);
    await stranger.post("/sign-out");
    assertEquals((await victim.get("/get-session")).status, 200);
    assert((await victim.get("/get-session")).body !== null);
  }
});
