import { assert, assertEquals, assertMatch } from "@std/assert";
import { apiKey } from "@better-auth/api-key";
import {
  adminClient,
  multiSessionClient,
  oneTimeTokenClient,
  organizationClient,
} from "better-auth/client/plugins";
import {
  admin,
  bearer,
  customSession,
  jwt,
  multiSession,
  oneTimeToken,
  openAPI,
  organization,
} from "better-auth/plugins";
import { Buffer } from "node:buffer";
import { validateSession } from "../../../auth/sessions/sessions.ts";
import { BASE_URL, newEmail, openBrowser, PASSWORD, type PluginLab } from "./plugin_lab.ts";

export async function walkOrganization(lab: PluginLab): Promise<void> {
  const invitations: string[] = [];
  const owner = openBrowser(lab, {
    plugins: [organization({
      teams: { enabled: true },
      requireEmailVerificationOnInvitation: false,
      sendInvitationEmail: ({ id }) => Promise.resolve(void invitations.push(id)),
    })],
  });
  await owner.signUp(newEmail("owner"));
  const client = owner.client(organizationClient());
  const slug = `acme-${crypto.randomUUID()}`;
  const created = await client.organization.create({ name: "Acme", slug, metadata: { tier: 1 } });
  assertEquals(created.error, null);
  const organizationId = created.data!.id;
  const invitee = openBrowser(lab, {}, owner.auth);
  const email = newEmail("member");
  const memberId = await invitee.signUp(email);
  await lab.query(`UPDATE users SET email_verified = true WHERE email = '${email}'`);
  assertEquals(
    (await client.organization.inviteMember({ email, role: "member", organizationId })).error,
    null,
  );
  const accepted = await invitee.post("/organization/accept-invitation", {
    invitationId: invitations[0],
  });
  assertEquals(accepted.status, 200, JSON.stringify(accepted.body));
  const session = (await invitee.get("/get-session")).body.session;
  assertEquals(session.activeOrganizationId, organizationId);
  const forbidden = await invitee.post("/organization/update", {
    organizationId,
    data: { name: "Mine" },
  });
  assertEquals(forbidden.status, 403);
  const members =
    (await owner.get(`/organization/list-members?organizationId=${organizationId}`)).body;
  const member = members.members.find((each: { userId: string }) => each.userId === memberId);
  const promoted = await owner.post("/organization/update-member-role", {
    memberId: member.id,
    role: "admin",
    organizationId,
  });
  assertEquals(promoted.status, 200, JSON.stringify(promoted.body));
  const team = await owner.post("/organization/create-team", { name: "Core", organizationId });
  assertEquals(team.status, 200, JSON.stringify(team.body));
  const unknown = await owner.post("/organization/set-active", { organizationId: "unknown-id" });
  assert(unknown.status === 400 || unknown.status === 403, String(unknown.status));
  assertEquals((await owner.post("/organization/delete", { organizationId })).status, 200);
  assertEquals(
    await lab.query(`SELECT 1 FROM members WHERE organization_id = '${organizationId}'`),
    [],
  );
}

export async function walkAdmin(lab: PluginLab): Promise<void> {
  const browser = openBrowser(lab, { plugins: [admin()] });
  const email = newEmail("admin");
  await browser.signUp(email);
  await lab.query(`UPDATE users SET role = 'admin' WHERE email = '${email}'`);
  await browser.post("/sign-in/email", { email, password: PASSWORD });
  const client = browser.client(adminClient());
  const user = openBrowser(lab, {}, browser.auth);
  const userEmail = newEmail("plain");
  const userId = await user.signUp(userEmail);
  assertEquals((await user.post("/admin/set-role", { userId, role: "admin" })).status, 403);
  assertEquals((await client.admin.impersonateUser({ userId })).error, null);
  const impersonated = (await browser.get("/get-session")).body;
  assertEquals(impersonated.user.id, userId);
  assert(impersonated.session.impersonatedBy);
  assertEquals((await browser.post("/admin/stop-impersonating")).status, 200);
  assertEquals((await client.admin.setRole({ userId, role: "admin" })).error, null);
  assertEquals((await client.admin.banUser({ userId, banReason: "spam" })).error, null);
  const banned = await user.post("/sign-in/email", { email: userEmail, password: PASSWORD });
  assertEquals(banned.status, 403);
  assertEquals((await client.admin.unbanUser({ userId })).error, null);
  assertEquals(
    (await user.post("/sign-in/email", { email: userEmail, password: PASSWORD })).status,
    200,
  );
  const { data } = await client.admin.listUsers({
    query: { searchValue: userEmail, searchField: "email" },
  });
  assertEquals(data?.users.map(({ id }) => id), [userId]);
}

export async function walkApiKey(lab: PluginLab): Promise<void> {
  const browser = openBrowser(lab, {
    plugins: [apiKey({ enableSessionForAPIKeys: true, rateLimit: { enabled: false } })],
  });
  const userId = await browser.signUp(newEmail("api-key"));
  const created = await browser.post("/api-key/create", { name: "ci", metadata: undefined });
  assertEquals(created.status, 200, JSON.stringify(created.body));
  const { key, id } = created.body;
  // deno-lint-ignore no-explicit-any
  const api = browser.auth.api as any;
  assertEquals((await api.verifyApiKey({ body: { key } })).valid, true);
  assertEquals((await api.verifyApiKey({ body: { key: `${key}x` } })).valid, false);
  const other = openBrowser(lab, {}, browser.auth);
  const session = await other.get("/get-session", { "x-api-key": key });
  assertEquals(session.body?.user.id, userId, JSON.stringify(session.body));
  const [stored] = await lab.query(`SELECT key FROM apikeys WHERE id = '${id}'`);
  assert(stored.key !== key);
  // 30 days in milliseconds need more than 32 bits
  const limited = await api.createApiKey({
    body: { userId, remaining: 5, refillAmount: 5, refillInterval: 30 * 86_400_000 },
  });
  assertEquals(limited.refillInterval, 2_592_000_000);
  assertEquals((await browser.post("/api-key/delete", { keyId: id })).status, 200);
  assertEquals((await api.verifyApiKey({ body: { key } })).valid, false);
}

export async function walkMultiSession(lab: PluginLab): Promise<void> {
  const browser = openBrowser(lab, { plugins: [multiSession()] });
  const first = newEmail("multi");
  await browser.signUp(first);
  await browser.signUp(newEmail("multi"));
  const client = browser.client(multiSessionClient());
  const { data } = await client.multiSession.listDeviceSessions({});
  assertEquals(data?.length, 2);
  const one = data!.find(({ user }) => user.email === first)!;
  assertEquals(
    (await client.multiSession.setActive({ sessionToken: one.session.token })).error,
    null,
  );
  assertEquals((await browser.get("/get-session")).body.user.email, first);
  assertEquals((await client.multiSession.revoke({ sessionToken: one.session.token })).error, null);
  assert((await browser.get("/get-session")).body?.user.email !== first);
}

export async function walkBearer(lab: PluginLab): Promise<void> {
  const browser = openBrowser(lab, { plugins: [bearer()] });
  const email = newEmail("bearer");
  const userId = await browser.signUp(email);
  const other = openBrowser(lab, {}, browser.auth);
  const signedIn = await other.fetch(`${BASE_URL}/api/auth/sign-in/email`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email, password: PASSWORD }),
  });
  const token = signedIn.headers.get("set-auth-token")!;
  const third = openBrowser(lab, {}, browser.auth);
  const session = await third.get("/get-session", { authorization: `Bearer ${token}` });
  assertEquals(session.body.user.id, userId);
  assertEquals((await validateSession(browser.auth, token)).user.id, userId);
}

export async function walkJwt(lab: PluginLab): Promise<void> {
  const browser = openBrowser(lab, {
    plugins: [jwt({ jwks: { keyPairConfig: { alg: "ES256" } } })],
  });
  const userId = await browser.signUp(newEmail("jwt"));
  const { token } = (await browser.get("/token")).body;
  const [head, claims, signature] = token.split(".");
  const decode = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString());
  assertEquals(decode(claims).sub, userId);
  const { keys } = (await openBrowser(lab, {}, browser.auth).get("/jwks")).body;
  const jwk = keys.find(({ kid }: { kid: string }) => kid === decode(head).kid);
  assertEquals(jwk.d, undefined);
  const key = await crypto.subtle.importKey(
    "jwk",
    { ...jwk, alg: undefined },
    { name: "ECDSA", namedCurve: "P-256" },
    false,
    ["verify"],
  );
  const isValid = await crypto.subtle.verify(
    { name: "ECDSA", hash: "SHA-256" },
    key,
    new Uint8Array(Buffer.from(signature, "base64url")),
    new TextEncoder().encode(`${head}.${claims}`),
  );
  assert(isValid);
}

export async function walkOneTimeToken(lab: PluginLab): Promise<void> {
  const browser = openBrowser(lab, { plugins: [oneTimeToken()] });
  const userId = await browser.signUp(newEmail("one-time"));
  const { data } = await browser.client(oneTimeTokenClient()).oneTimeToken.generate();
  const other = openBrowser(lab, {}, browser.auth);
  const verified = await other.post("/one-time-token/verify", { token: data!.token });
  assertEquals(verified.body.user?.id, userId, JSON.stringify(verified.body));
  assertEquals((await other.post("/one-time-token/verify", { token: data!.token })).status, 400);
}

export async function walkCustomSession(lab: PluginLab): Promise<void> {
  const browser = openBrowser(lab, {
    plugins: [
      customSession(({ user, session }) => Promise.resolve({ user, session, plan: "pro" })),
    ],
  });
  await browser.signUp(newEmail("custom"));
  assertEquals((await browser.get("/get-session")).body.plan, "pro");
}

export async function walkOpenApi(lab: PluginLab): Promise<void> {
  const browser = openBrowser(lab, { plugins: [openAPI()] });
  const { body } = await browser.get("/open-api/generate-schema");
  assertMatch(body.openapi, /^3\.1/);
  assert(body.paths["/sign-in/email"]);
}
