import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  anonymousClient,
  emailOTPClient,
  magicLinkClient,
  phoneNumberClient,
  twoFactorClient,
  usernameClient,
} from "better-auth/client/plugins";
import { passkey } from "@better-auth/passkey";
import {
  anonymous,
  captcha,
  emailOTP,
  haveIBeenPwned,
  lastLoginMethod,
  magicLink,
  phoneNumber,
  siwe,
  twoFactor,
  username,
} from "better-auth/plugins";
import { createHmac } from "node:crypto";
import { startLocalProvider } from "./local_provider.ts";
import { BASE_URL, newEmail, openBrowser, PASSWORD, type PluginLab } from "./plugin_lab.ts";
import { createSoftwareAuthenticator } from "./software_authenticator.ts";

/** One-time code of RFC 6238 with a secret in base 32. */
export function getTotp(uri: string, nowMs = Date.now()): string {
  const secret = new URL(uri).searchParams.get("secret")!;
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const bits = [...secret].map((char) => alphabet.indexOf(char).toString(2).padStart(5, "0"))
    .join("");
  const key = new Uint8Array(Math.floor(bits.length / 8));
  for (const at of key.keys()) key[at] = parseInt(bits.slice(at * 8, at * 8 + 8), 2);
  const counter = new DataView(new ArrayBuffer(8));
  counter.setBigUint64(0, BigInt(Math.floor(nowMs / 30_000)));
  const mac = createHmac("sha1", key).update(new Uint8Array(counter.buffer)).digest();
  const offset = mac[19] & 15;
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

export async function walkTwoFactor(lab: PluginLab): Promise<void> {
  const email = newEmail("two-factor");
  const first = openBrowser(lab, { appName: "Shop", plugins: [twoFactor()] });
  await first.signUp(email);
  const client = first.client(twoFactorClient());
  const { data } = await client.twoFactor.enable({ password: PASSWORD });
  const { totpURI, backupCodes } = data as { totpURI: string; backupCodes: string[] };
  assertEquals(
    (await first.post("/two-factor/verify-totp", { code: getTotp(totpURI) })).status,
    200,
  );
  const second = openBrowser(lab, {}, first.auth);
  const started = await second.post("/sign-in/email", { email, password: PASSWORD });
  assertEquals(started.body.twoFactorRedirect, true);
  assertEquals((await second.get("/get-session")).body, null);
  assertEquals((await second.post("/two-factor/verify-totp", { code: "000000" })).status, 401);
  // the code of the next period, because each is accepted once
  const next = getTotp(totpURI, Date.now() + 30_000);
  assertEquals((await second.post("/two-factor/verify-totp", { code: next })).status, 200);
  assertEquals((await second.get("/get-session")).body.user.twoFactorEnabled, true);
  const third = openBrowser(lab, {}, first.auth);
  await third.post("/sign-in/email", { email, password: PASSWORD });
  assertEquals(
    (await third.post("/two-factor/verify-backup-code", { code: backupCodes[0] })).status,
    200,
  );
  const again = openBrowser(lab, {}, first.auth);
  await again.post("/sign-in/email", { email, password: PASSWORD });
  assertEquals(
    (await again.post("/two-factor/verify-backup-code", { code: backupCodes[0] })).status,
    401,
  );
}

export async function walkPasskey(lab: PluginLab): Promise<void> {
  const browser = openBrowser(lab, { plugins: [passkey({ rpID: "localhost", origin: BASE_URL })] });
  const userId = await browser.signUp(newEmail("passkey"));
  const authenticator = createSoftwareAuthenticator(BASE_URL);
  const registration = await browser.get("/passkey/generate-register-options");
  const registered = await browser.post("/passkey/verify-registration", {
    response: authenticator.register(registration.body),
    name: "laptop",
  }, { origin: BASE_URL });
  assertEquals(registered.status, 200, JSON.stringify(registered.body));
  const other = openBrowser(lab, {}, browser.auth);
  const options = await other.get("/passkey/generate-authenticate-options");
  const signedIn = await other.post("/passkey/verify-authentication", {
    response: authenticator.authenticate(options.body),
  }, { origin: BASE_URL });
  assertEquals(signedIn.status, 200, JSON.stringify(signedIn.body));
  assertEquals((await other.get("/get-session")).body.user.id, userId);
  const stranger = createSoftwareAuthenticator(BASE_URL);
  const retry = await other.get("/passkey/generate-authenticate-options");
  const refused = await other.post("/passkey/verify-authentication", {
    response: stranger.authenticate(retry.body),
  }, { origin: BASE_URL });
  assertEquals(refused.status, 401);
}

export async function walkMagicLink(lab: PluginLab): Promise<void> {
  let link = "";
  const browser = openBrowser(lab, {
    plugins: [magicLink({ sendMagicLink: ({ url }) => void (link = url) })],
  });
  const email = newEmail("magic");
  const client = browser.client(magicLinkClient());
  assertEquals((await client.signIn.magicLink({ email, callbackURL: "/home" })).error, null);
  const verified = await browser.get(link);
  assertEquals(verified.status, 302);
  assertEquals(verified.headers.get("location"), `${BASE_URL}/home`);
  const { user } = (await browser.get("/get-session")).body;
  assertEquals([user.email, user.emailVerified], [email, true]);
  assertMatch((await browser.get(link)).headers.get("location") ?? "", /error=/);
}

export async function walkEmailOtp(lab: PluginLab): Promise<void> {
  let code = "";
  const browser = openBrowser(lab, {
    plugins: [emailOTP({ sendVerificationOTP: ({ otp }) => Promise.resolve(void (code = otp)) })],
  });
  const email = newEmail("otp");
  const client = browser.client(emailOTPClient());
  await client.emailOtp.sendVerificationOtp({ email, type: "sign-in" });
  assertMatch(code, /^\d{6}$/);
  assertEquals(
    (await browser.post("/sign-in/email-otp", { email, otp: "x".repeat(6) })).status,
    400,
  );
  assertEquals((await client.signIn.emailOtp({ email, otp: code })).error, null);
  assertEquals((await browser.get("/get-session")).body.user.email, email);
  assertEquals((await browser.post("/sign-in/email-otp", { email, otp: code })).status, 400);
}

export async function walkUsername(lab: PluginLab): Promise<void> {
  const browser = openBrowser(lab, { plugins: [username()] });
  const name = `Ada_${Date.now().toString(36)}`;
  const client = browser.client(usernameClient());
  const signedUp = await client.signUp.email({
    email: newEmail("username"),
    password: PASSWORD,
    name: "Ada",
    username: name,
  });
  assertEquals(signedUp.error, null);
  const other = openBrowser(lab, {}, browser.auth);
  const signedIn = await other.client(usernameClient()).signIn.username({
    username: name.toUpperCase(),
    password: PASSWORD,
  });
  assertEquals(signedIn.error, null);
  const { user } = (await other.get("/get-session")).body;
  assertEquals([user.username, user.displayUsername], [name.toLowerCase(), name]);
  const wrong = await other.post("/sign-in/username", {
    username: name,
    password: "wrong-password",
  });
  assertEquals(wrong.status, 401);
}

export async function walkPhoneNumber(lab: PluginLab): Promise<void> {
  let code = "";
  const browser = openBrowser(lab, {
    plugins: [phoneNumber({
      sendOTP: (sent) => void (code = sent.code),
      signUpOnVerification: { getTempEmail: (number) => `${number.slice(1)}@phone.example.com` },
    })],
  });
  const number = `+49${Date.now()}`;
  const client = browser.client(phoneNumberClient());
  assertEquals((await client.phoneNumber.sendOtp({ phoneNumber: number })).error, null);
  assertEquals(
    (await browser.post("/phone-number/verify", { phoneNumber: number, code: "no" })).status,
    400,
  );
  await client.phoneNumber.sendOtp({ phoneNumber: number });
  assertEquals((await client.phoneNumber.verify({ phoneNumber: number, code })).error, null);
  const { user } = (await browser.get("/get-session")).body;
  assertEquals([user.phoneNumber, user.phoneNumberVerified], [number, true]);
}

export async function walkAnonymous(lab: PluginLab): Promise<void> {
  const linked: string[] = [];
  const browser = openBrowser(lab, {
    plugins: [anonymous({
      onLinkAccount: ({ anonymousUser, newUser }) =>
        void linked.push(anonymousUser.user.id, newUser.user.id),
    })],
  });
  const client = browser.client(anonymousClient());
  assertEquals((await client.signIn.anonymous()).error, null);
  const guest = (await browser.get("/get-session")).body.user;
  assertEquals(guest.isAnonymous, true);
  const userId = await browser.signUp(newEmail("anonymous"));
  assertEquals(linked, [guest.id, userId]);
  assertEquals(await lab.query(`SELECT 1 FROM users WHERE id = '${guest.id}'`), []);
}

export async function walkCaptcha(lab: PluginLab): Promise<void> {
  await using provider = await startLocalProvider();
  const browser = openBrowser(lab, {
    plugins: [captcha({
      provider: "cloudflare-turnstile",
      secretKey: "secret",
      siteVerifyURLOverride: `${provider.issuer}/captcha`,
    })],
  });
  const body = { name: "Ada", email: newEmail("captcha"), password: PASSWORD };
  assertEquals((await browser.post("/sign-up/email", body)).status, 400);
  const refused = await browser.post("/sign-up/email", body, { "x-captcha-response": "bad" });
  assertEquals(refused.status, 403);
  const accepted = await browser.post("/sign-up/email", body, {
    "x-captcha-response": "good-captcha",
  });
  assertEquals(accepted.status, 200);
}

export async function walkSiwe(lab: PluginLab): Promise<void> {
  const browser = openBrowser(lab, {
    plugins: [siwe({
      domain: "localhost:3000",
      getNonce: () => Promise.resolve("nonce123"),
      verifyMessage: ({ signature }) => Promise.resolve(signature === "0xgood"),
    })],
  });
  const walletAddress = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
  const nonce = await browser.post("/siwe/nonce");
  assertEquals(nonce.body.nonce, "nonce123", JSON.stringify(nonce));
  const message =
    `localhost:3000 wants you to sign in with your Ethereum account:\n${walletAddress}\n\nSign in\n\nURI: ${BASE_URL}\nVersion: 1\nChain ID: 1\nNonce: nonce123\nIssued At: ${
      new Date().toISOString()
    }`;
  const input = { message };
  assertEquals((await browser.post("/siwe/verify", { ...input, signature: "0xbad" })).status, 401);
  await browser.post("/siwe/nonce");
  const verified = await browser.post("/siwe/verify", { ...input, signature: "0xgood" });
  assertEquals(verified.status, 200, JSON.stringify(verified.body));
  assert((await browser.get("/get-session")).body.user.id);
}

export async function walkLastLoginMethod(lab: PluginLab): Promise<void> {
  const browser = openBrowser(lab, { plugins: [lastLoginMethod({ storeInDatabase: true })] });
  const email = newEmail("last-method");
  await browser.signUp(email);
  await browser.post("/sign-in/email", { email, password: PASSWORD });
  assertEquals(browser.cookies.get("better-auth.last_used_login_method"), "email");
  const [row] = await lab.query(`SELECT last_login_method FROM users WHERE email = '${email}'`);
  assertEquals(row.last_login_method, "email");
}

/** The check of leaked passwords calls a public service; the test answers for it. */
export async function walkHaveIBeenPwned(lab: PluginLab): Promise<void> {
  const browser = openBrowser(lab, { plugins: [haveIBeenPwned()] });
  const { fetch } = globalThis;
  const digest = new Uint8Array(
    await crypto.subtle.digest("SHA-1", new TextEncoder().encode("leaked password")),
  );
  const hex = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("").toUpperCase();
  globalThis.fetch = (input, init) =>
    String(input).includes("pwnedpasswords")
      ? Promise.resolve(new Response(`${hex.slice(5)}:42`))
      : fetch(input, init);
  try {
    const body = { name: "Ada", email: newEmail("pwned"), password: "leaked password" };
    assertEquals((await browser.post("/sign-up/email", body)).status, 400);
    assertEquals(
      (await browser.post("/sign-up/email", { ...body, password: PASSWORD })).status,
      200,
    );
  } finally {
    globalThis.fetch = fetch;
  }
}
