import { assert, assertEquals, assertMatch } from "@std/assert";
import { mcp } from "@better-auth/mcp";
import { oauthProvider } from "@better-auth/oauth-provider";
import { sso } from "@better-auth/sso";
import { deviceAuthorization, genericOAuth, jwt, oAuthProxy } from "better-auth/plugins";
import { Buffer } from "node:buffer";
import { createHash, randomBytes } from "node:crypto";
import { type LocalProvider, startLocalProvider } from "./local_provider.ts";
import { BASE_URL, type Browser, newEmail, openBrowser, type PluginLab } from "./plugin_lab.ts";

/** Follows the redirect to the provider and back to the callback. */
export async function followToCallback(browser: Browser, url: string): Promise<Response> {
  const authorized = await fetch(url, { redirect: "manual" });
  await authorized.body?.cancel();
  return await browser.fetch(authorized.headers.get("location")!, { redirect: "manual" });
}

/** Returns the plugin that signs in with a provider, as `intranet`. */
export function signInWith({ issuer }: LocalProvider) {
  return genericOAuth({
    config: [{
      providerId: "intranet",
      clientId: "shop",
      clientSecret: "secret",
      discoveryUrl: `${issuer}/.well-known/openid-configuration`,
      scopes: ["openid", "email"],
    }],
  });
}

export async function walkGenericOAuth(lab: PluginLab): Promise<void> {
  await using provider = await startLocalProvider();
  const browser = openBrowser(lab, {
    plugins: [signInWith(provider)],
  });
  const email = newEmail("generic");
  provider.claims = { sub: crypto.randomUUID(), email, email_verified: true, name: "Ada" };
  for (const attempt of ["sign-up", "sign-in again"]) {
    const started = await browser.post("/sign-in/social", {
      provider: "intranet",
      callbackURL: "/home",
    });
    assertEquals(started.status, 200, `${attempt}: ${JSON.stringify(started.body)}`);
    const done = await followToCallback(browser, started.body.url);
    assertEquals([done.status, done.headers.get("location")], [302, "/home"], attempt);
  }
  assertEquals((await browser.get("/get-session")).body.user.email, email);
  const rows = await lab.query(
    `SELECT 1 FROM accounts WHERE provider_id = 'intranet' AND account_id = '${provider.claims.sub}'`,
  );
  assertEquals(rows.length, 1);
}

export async function walkSso(lab: PluginLab): Promise<void> {
  await using provider = await startLocalProvider();
  const browser = openBrowser(lab, {
    plugins: [sso()],
    trustedOrigins: [provider.issuer],
  });
  await browser.signUp(newEmail("sso-admin"));
  const domain = `${crypto.randomUUID()}.example.com`;
  const providerId = `corp-${crypto.randomUUID()}`;
  const registered = await browser.post("/sso/register", {
    providerId,
    issuer: provider.issuer,
    domain,
    oidcConfig: {
      clientId: "shop",
      clientSecret: "secret",
      pkce: true,
      scopes: ["openid", "email", "profile"],
    },
  });
  assertEquals(registered.status, 200, JSON.stringify(registered.body));
  const email = `ada@${domain}`;
  provider.claims = { sub: "ada", email, email_verified: true, name: "Ada" };
  const employee = openBrowser(lab, {}, browser.auth);
  const started = await employee.post("/sign-in/sso", { email, callbackURL: "/home" });
  assertEquals(started.status, 200, JSON.stringify(started.body));
  const done = await followToCallback(employee, started.body.url);
  assertEquals([done.status, done.headers.get("location")], [302, "/home"]);
  assertEquals((await employee.get("/get-session")).body.user.email, email);
}

export async function walkDeviceAuthorization(lab: PluginLab): Promise<void> {
  const browser = openBrowser(lab, {
    plugins: [deviceAuthorization({ verificationUri: "/device", interval: "1s" })],
  });
  const userId = await browser.signUp(newEmail("device"));
  const device = openBrowser(lab, {}, browser.auth);
  const started = await device.post("/device/code", { client_id: "tv" });
  assertEquals(started.status, 200, JSON.stringify(started.body));
  const { device_code, user_code } = started.body;
  const poll = () =>
    device.post("/device/token", {
      grant_type: "urn:ietf:params:oauth:grant-type:device_code",
      device_code,
      client_id: "tv",
    });
  assertEquals((await poll()).body.error, "authorization_pending");
  assertEquals((await browser.get(`/device?user_code=${user_code}`)).status, 200);
  const approved = await browser.post("/device/approve", { userCode: user_code });
  assertEquals(approved.status, 200, JSON.stringify(approved.body));
  await lab.query(`UPDATE device_codes SET last_polled_at = NULL WHERE user_code = '${user_code}'`);
  const { access_token } = (await poll()).body;
  const session = await openBrowser(lab, {}, browser.auth).get("/get-session", {
    authorization: `Bearer ${access_token}`,
  });
  assertEquals(session.body.user.id, userId);
}

/** Walks the authorization code flow with PKCE and returns the tokens. */
async function walkCodeFlow(
  browser: Browser,
  extra: Record<string, string> = {},
): Promise<Record<string, string>> {
  // deno-lint-ignore no-explicit-any
  const api = browser.auth.api as any;
  const redirectUri = "https://client.example.com/callback";
  const headers = new Headers({
    cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; "),
  });
  const client = await api.adminCreateOAuthClient({
    headers,
    body: {
      redirect_uris: [redirectUri],
      client_name: "Client",
      token_endpoint_auth_method: "client_secret_post",
      skip_consent: true,
      ...extra.resource === undefined ? {} : { resources: [extra.resource] },
    },
  });
  const verifier = randomBytes(32).toString("base64url");
  const query = new URLSearchParams({
    response_type: "code",
    client_id: client.client_id,
    redirect_uri: redirectUri,
    scope: "openid email offline_access",
    state: "xyz",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    ...extra,
  });
  const authorized = await browser.get(`/oauth2/authorize?${query}`);
  const location = authorized.headers.get("location") ?? authorized.body?.url;
  assertMatch(
    String(location),
    /^https:\/\/client\.example\.com\/callback\?.*code=/,
    JSON.stringify(authorized.body),
  );
  const code = new URL(location).searchParams.get("code")!;
  const exchanged = await openBrowser({} as PluginLab, {}, browser.auth).fetch(
    `${BASE_URL}/api/auth/oauth2/token`,
    {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({
        grant_type: "authorization_code",
        code,
        redirect_uri: redirectUri,
        client_id: client.client_id,
        client_secret: client.client_secret,
        code_verifier: verifier,
        ...extra,
      }),
    },
  );
  const tokens = await exchanged.json();
  assertEquals(exchanged.status, 200, JSON.stringify(tokens));
  return tokens;
}

export async function walkOidcProvider(lab: PluginLab): Promise<void> {
  const browser = openBrowser(lab, {
    plugins: [jwt(), oauthProvider({ loginPage: "/login", consentPage: "/consent" })],
  });
  const email = newEmail("oidc");
  const userId = await browser.signUp(email);
  const tokens = await walkCodeFlow(browser);
  const claims = JSON.parse(Buffer.from(tokens.id_token.split(".")[1], "base64url").toString());
  assertEquals(claims.sub, userId);
  assert(tokens.refresh_token);
  const userInfo = await openBrowser(lab, {}, browser.auth).get("/oauth2/userinfo", {
    authorization: `Bearer ${tokens.access_token}`,
  });
  assertEquals(userInfo.body.email, email, JSON.stringify(userInfo.body));
}

export async function walkMcp(lab: PluginLab): Promise<void> {
  const resource = `${BASE_URL}/mcp`;
  const browser = openBrowser(lab, {
    plugins: [jwt(), mcp({ loginPage: "/login", consentPage: "/consent", resource })],
  });
  await browser.signUp(newEmail("mcp"));
  const metadata = await browser.get("/.well-known/oauth-authorization-server");
  assertEquals(metadata.status, 200, JSON.stringify(metadata.body));
  assertEquals(metadata.body.code_challenge_methods_supported, ["S256"]);
  const tokens = await walkCodeFlow(browser, { resource });
  const claims = JSON.parse(Buffer.from(tokens.access_token.split(".")[1], "base64url").toString());
  assertEquals([claims.aud].flat().includes(resource), true, JSON.stringify(claims));
}

export async function walkOAuthProxy(lab: PluginLab): Promise<void> {
  const browser = openBrowser(lab, {
    socialProviders: { google: { clientId: "id", clientSecret: "secret" } },
    plugins: [oAuthProxy({ productionURL: "https://shop.example.com", currentURL: BASE_URL })],
  });
  const { body } = await browser.post("/sign-in/social", {
    provider: "google",
    callbackURL: "/home",
  });
  const target = new URL(body.url);
  assertEquals(target.host, "accounts.google.com");
  assertMatch(target.searchParams.get("redirect_uri")!, /^https:\/\/shop\.example\.com\//);
}
