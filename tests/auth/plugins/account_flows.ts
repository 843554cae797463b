import { assert, assertEquals } from "@std/assert";
import { passkey } from "@better-auth/passkey";
import { admin, anonymous, emailOTP, organization, twoFactor, username } from "better-auth/plugins";
import type { AuthConfig } from "../../../auth/config/config.ts";
import { getTotp } from "./credential_flows.ts";
import { startLocalProvider } from "./local_provider.ts";
import { followToCallback, signInWith } from "./oauth_flows.ts";
import {
  type Answer,
  BASE_URL,
  type Browser,
  newEmail,
  openBrowser,
  PASSWORD,
  type PluginLab,
} from "./plugin_lab.ts";
import { createSoftwareAuthenticator } from "./software_authenticator.ts";

/** Sends JSON, and returns the body of the answer, which must be 200. */
async function post(browser: Browser, path: string, body?: unknown): Promise<Answer["body"]> {
  const answer = await browser.post(path, body);
  assertEquals(answer.status, 200, `${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Gets a route, and returns the body of the answer, which must be 200. */
async function get(browser: Browser, path: string): Promise<Answer["body"]> {
  const answer = await browser.get(path);
  assertEquals(answer.status, 200, `${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Addresses, passwords and sessions of one user, and the deletion of the account. */
export async function walkOwnAccount(lab: PluginLab): Promise<void> {
  const links: string[] = [];
  const keep = ({ url }: { readonly url: string }) => Promise.resolve(void links.push(url));
  const config: Partial<AuthConfig> = {
    emailVerification: { sendVerificationEmail: keep },
    user: {
      changeEmail: { enabled: true, sendChangeEmailConfirmation: keep },
      deleteUser: { enabled: true, sendDeleteAccountVerification: keep },
    },
    plugins: [username()],
  };
  const browser = openBrowser(lab, {
    ...config,
    emailAndPassword: {
      enabled: true,
      sendResetPassword: keep,
      password: {
        hash: (password) => Promise.resolve(`#${password}`),
        verify: ({ hash, password }) => Promise.resolve(hash === `#${password}`),
      },
    },
  });
  const follow = (client: Browser) => client.get(links.pop()!);
  const email = newEmail("own");
  await browser.signUp(email);
  await get(browser, "/ok");
  await get(browser, "/error");
  await post(browser, "/update-user", { name: "Ada", image: "https://a.example/ada.png" });
  assertEquals((await browser.post("/update-session")).status, 400);
  await post(browser, "/verify-password", { password: PASSWORD });
  assertEquals((await get(browser, "/list-accounts")).length, 1);
  await post(browser, "/is-username-available", { username: "nobody" });
  const second = openBrowser(lab, {}, browser.auth);
  await post(second, "/sign-in/email", { email, password: PASSWORD, callbackURL: "/home" });
  const sessions = await get(browser, "/list-sessions");
  assertEquals(sessions.length, 2);
  await post(browser, "/revoke-session", { token: sessions[0].token });
  await post(browser, "/sign-in/email", { email, password: PASSWORD });
  await post(browser, "/revoke-other-sessions");
  const password = { currentPassword: PASSWORD, newPassword: PASSWORD };
  await post(browser, "/change-password", password);
  await post(browser, "/change-password", { ...password, revokeOtherSessions: true });
  await post(browser, "/send-verification-email", { email });
  const token = new URL(links.at(-1)!).searchParams.get("token");
  await get(browser, `/verify-email?token=${token}`);
  assertEquals((await follow(browser)).status, 302);
  await post(browser, "/change-email", { newEmail: newEmail("changed") });
  await post(browser, "/request-password-reset", { email, redirectTo: "/reset" });
  const { headers } = await follow(browser);
  const reset = new URL(headers.get("location")!, BASE_URL).searchParams.get("token");
  await post(browser, "/reset-password", { token: reset, newPassword: PASSWORD });
  await post(browser, "/sign-in/email", { email, password: PASSWORD });
  await post(browser, "/revoke-sessions");
  await post(browser, "/sign-in/email", { email, password: PASSWORD });
  await post(browser, "/sign-out");
  await post(browser, "/sign-in/email", { email, password: PASSWORD });
  await post(browser, "/delete-user", {});
  await get(browser, new URL(links.pop()!).href.replace(/&callbackURL=.*/, ""));
  const guests = openBrowser(lab, { plugins: [anonymous()] });
  await post(guests, "/sign-in/anonymous");
  await post(guests, "/delete-anonymous-user");
}

/** The accounts of a user at a provider of identities. */
export async function walkLinkedAccounts(lab: PluginLab): Promise<void> {
  await using provider = await startLocalProvider();
  const browser = openBrowser(lab, {
    account: { accountLinking: { enabled: true, trustedProviders: ["intranet"] } },
    plugins: [signInWith(provider)],
  });
  const email = newEmail("linked");
  provider.claims = { sub: crypto.randomUUID(), email, email_verified: true, name: "Ada" };
  await browser.signUp(email);
  await lab.query(`UPDATE users SET email_verified = true WHERE email = '${email}'`);
  const { url } = await post(browser, "/link-social", {
    provider: "intranet",
    callbackURL: "/home",
  });
  assertEquals((await followToCallback(browser, url)).status, 302);
  const accounts = await get(browser, "/list-accounts");
  const { id: accountId } = accounts.find((each: { providerId: string }) =>
    each.providerId === "intranet"
  );
  await get(browser, `/account-info?accountId=${accountId}`);
  await post(browser, "/get-access-token", { accountId });
  await post(browser, "/unlink-account", { accountId });
}

/** Codes by mail for everything that they are for. */
export async function walkMailCodes(lab: PluginLab): Promise<void> {
  let otp = "";
  const browser = openBrowser(lab, {
    plugins: [emailOTP({
      sendVerificationOTP: (sent) => Promise.resolve(void (otp = sent.otp)),
      changeEmail: { enabled: true },
    })],
  });
  const email = newEmail("codes");
  await browser.signUp(email);
  await post(browser, "/email-otp/send-verification-otp", { email, type: "email-verification" });
  await post(browser, "/email-otp/check-verification-otp", {
    email,
    type: "email-verification",
    otp,
  });
  await post(browser, "/email-otp/verify-email", { email, otp });
  await post(browser, "/email-otp/request-password-reset", { email });
  await post(browser, "/email-otp/reset-password", { email, otp, password: PASSWORD });
  await post(browser, "/forget-password/email-otp", { email });
  await post(browser, "/sign-in/email", { email, password: PASSWORD });
  const changed = newEmail("codes");
  await post(browser, "/email-otp/request-email-change", { newEmail: changed });
  await post(browser, "/email-otp/change-email", { newEmail: changed, otp });
}

/** Second factors after they are set up. */
export async function walkSecondFactors(lab: PluginLab): Promise<void> {
  let otp = "";
  const config = {
    plugins: [twoFactor({
      otpOptions: { sendOTP: (sent: { readonly otp: string }) => void (otp = sent.otp) },
    })],
  };
  const browser = openBrowser(lab, config);
  const email = newEmail("factor");
  await browser.signUp(email);
  const { totpURI } = await post(browser, "/two-factor/enable", { password: PASSWORD });
  await post(browser, "/two-factor/verify-totp", { code: getTotp(totpURI) });
  await post(browser, "/two-factor/get-totp-uri", { password: PASSWORD });
  await post(browser, "/two-factor/generate-backup-codes", { password: PASSWORD });
  const other = openBrowser(lab, {}, browser.auth);
  await post(other, "/sign-in/email", { email, password: PASSWORD });
  await post(other, "/two-factor/send-otp", {});
  await post(other, "/two-factor/verify-otp", { code: otp });
  await post(other, "/two-factor/disable", { password: PASSWORD });
}

/** The list of passkeys, and changes of one. */
export async function walkOwnPasskeys(lab: PluginLab): Promise<void> {
  const browser = openBrowser(lab, { plugins: [passkey({ rpID: "localhost", origin: BASE_URL })] });
  await browser.signUp(newEmail("keys"));
  const { body } = await browser.get("/passkey/generate-register-options");
  const response = createSoftwareAuthenticator(BASE_URL).register(body);
  const registered = await browser.post("/passkey/verify-registration", { response, name: "a" }, {
    origin: BASE_URL,
  });
  assertEquals(registered.status, 200);
  const [{ id }] = await get(browser, "/passkey/list-user-passkeys");
  await post(browser, "/passkey/update-passkey", { id, name: "b" });
  await post(browser, "/passkey/delete-passkey", { id });
}

/** Members and invitations of an organization. */
export async function walkMembers(lab: PluginLab): Promise<void> {
  const owner = openBrowser(lab, {
    plugins: [organization({ requireEmailVerificationOnInvitation: false })],
  });
  await owner.signUp(newEmail("owner"));
  const slug = crypto.randomUUID();
  await post(owner, "/organization/check-slug", { slug });
  const { id: organizationId } = await post(owner, "/organization/create", { name: "Acme", slug });
  const inOrganization = `?organizationId=${organizationId}`;
  // these answer null without an active organization
  await post(owner, "/organization/set-active", { organizationId: null });
  await get(owner, "/organization/get-full-organization");
  await get(owner, "/organization/get-organization");
  await post(owner, "/organization/update", {
    organizationId,
    data: { name: "Acme 2", metadata: { tier: 2 } },
  });
  await post(owner, "/organization/set-active", { organizationId });
  await get(owner, "/organization/list");
  await get(owner, "/organization/get-full-organization");
  await get(owner, `/organization/get-organization${inOrganization}`);
  await get(owner, "/organization/get-active-member");
  await get(owner, "/organization/get-active-member-role");
  await post(owner, "/organization/has-permission", { permissions: { member: ["create"] } });
  const email = newEmail("guest");
  const guest = openBrowser(lab, {}, owner.auth);
  await guest.signUp(email);
  await lab.query(`UPDATE users SET email_verified = true WHERE email = '${email}'`);
  const invite = async () =>
    await post(owner, "/organization/invite-member", { email, role: "member", organizationId });
  const canceled = await invite();
  await post(owner, "/organization/cancel-invitation", { invitationId: canceled.id });
  const rejected = await invite();
  await get(guest, `/organization/get-invitation?id=${rejected.id}`);
  assertEquals((await get(guest, "/organization/list-user-invitations")).length, 1);
  await post(guest, "/organization/reject-invitation", { invitationId: rejected.id });
  const accepted = await invite();
  await get(owner, `/organization/list-invitations${inOrganization}`);
  await post(guest, "/organization/accept-invitation", { invitationId: accepted.id });
  await get(owner, `/organization/list-members${inOrganization}`);
  await post(guest, "/organization/leave", { organizationId });
  const again = await invite();
  await post(guest, "/organization/accept-invitation", { invitationId: again.id });
  await post(owner, "/organization/remove-member", { memberIdOrEmail: email, organizationId });
  assertEquals((await get(guest, "/organization/list")).length, 0);
}

/** What an administrator does with users. */
export async function walkUsers(lab: PluginLab): Promise<void> {
  const browser = openBrowser(lab, { plugins: [admin()] });
  const admins = newEmail("admin");
  await browser.signUp(admins);
  await lab.query(`UPDATE users SET role = 'admin' WHERE email = '${admins}'`);
  const email = newEmail("user");
  const { user: { id: userId } } = await post(browser, "/admin/create-user", {
    name: "Ada",
    email,
    password: PASSWORD,
  });
  await get(browser, `/admin/get-user?id=${userId}`);
  await post(browser, "/admin/update-user", { userId, data: { name: "Ada 2" } });
  await post(browser, "/admin/has-permission", { userId, permissions: { user: ["list"] } });
  await post(browser, "/admin/set-user-password", { userId, newPassword: PASSWORD });
  const user = openBrowser(lab, {}, browser.auth);
  await post(user, "/sign-in/email", { email, password: PASSWORD });
  const { sessions } = await post(browser, "/admin/list-user-sessions", { userId });
  await post(browser, "/admin/revoke-user-session", { sessionToken: sessions[0].token });
  await post(browser, "/admin/revoke-user-sessions", { userId });
  assert((await get(browser, "/admin/list-users?limit=5")).total > 1);
  await post(browser, "/admin/remove-user", { userId });
}
