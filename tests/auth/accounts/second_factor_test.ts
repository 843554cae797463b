import { assertEquals, assertThrows } from "@std/assert";
import { passkey } from "@better-auth/passkey";
import { admin, emailOTP, magicLink, twoFactor } from "better-auth/plugins";
import type { AuthConfig } from "../../../auth/config/config.ts";
import { defineAuth } from "../../../auth/define_auth.ts";
import { authSessions } from "../../../auth/tables/schema.ts";
import { ConfigurationError } from "../../../errors/mod.ts";
import { createHttpApiEvent, createLambdaContext } from "../../../testing/mod.ts";
import { defineApiHandler } from "../../../validation/mod.ts";
import { atTime, SECRET } from "../auth_database.ts";
import { getTotp } from "../plugins/credential_flows.ts";
import {
  BASE_URL,
  type Browser,
  newEmail,
  openBrowser,
  PASSWORD,
  type PluginLab,
  sharePluginLab,
} from "../plugins/plugin_lab.ts";
import { createSoftwareAuthenticator } from "../plugins/software_authenticator.ts";

const sent: Record<string, string> = {};

const CONFIG: Partial<AuthConfig> = {
  plugins: [
    admin(),
    twoFactor({ otpOptions: { sendOTP: ({ otp }) => void (sent.otp = otp) } }),
    magicLink({ sendMagicLink: ({ url }) => void (sent.link = url) }),
    emailOTP({ sendVerificationOTP: ({ otp }) => Promise.resolve(void (sent.code = otp)) }),
    passkey({ rpID: "localhost", origin: BASE_URL }),
  ],
  rateLimit: { enabled: false },
};

const { test } = sharePluginLab(CONFIG);

/** Calls a handler that requires a second factor. */
async function call(lab: PluginLab, { cookies }: Browser): Promise<string> {
  const { session } = defineAuth(() => Promise.resolve(lab.db), {
    secret: SECRET,
    baseURL: BASE_URL,
    useSecureCookies: false,
    schema: lab.authSchema,
    ...CONFIG,
  });
  const handler = defineApiHandler({
    auth: session({ twoFactor: "required" }),
    logging: { level: "SILENT" },
    metrics: false,
  })(() => ({ statusCode: 200, body: "" }));
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const { statusCode, body } = await handler(
    createHttpApiEvent({ headers: { cookie } }),
    createLambdaContext(),
  );
  return statusCode === 200 ? "200" : `${statusCode} ${JSON.parse(body).code}`;
}

const DENIED = "403 SECOND_FACTOR_REQUIRED";

interface Account {
  readonly email: string;
  readonly first: Browser;
  readonly uri: string;
  readonly backupCodes: readonly string[];
}

/** Signs a user up and enables TOTP; the code of the present period is used. */
async function enable(
  lab: PluginLab,
  email = newEmail("two-factor"),
  config = CONFIG,
): Promise<Account> {
  const first = openBrowser(lab, config);
  await first.signUp(email);
  // a proof of the address would end what was there before
  await lab.query(`update users set email_verified = true where email = '${email}'`);
  assertEquals(await call(lab, first), DENIED);
  const { body } = await first.post("/two-factor/enable", { password: PASSWORD });
  await verify(first, body.totpURI);
  return { email, first, uri: body.totpURI, backupCodes: body.backupCodes };
}

async function verify(browser: Browser, uri: string, nowMs = Date.now()): Promise<void> {
  const { status, body } = await browser.post("/two-factor/verify-totp", {
    code: getTotp(uri, nowMs),
  });
  assertEquals([status, body.code], [200, undefined]);
}

const next = () => Date.now() + 30_000;

const openOther = (lab: PluginLab, { auth }: Browser) => openBrowser(lab, {}, auth);

async function signIn(lab: PluginLab, { first, email }: Account): Promise<Browser> {
  const browser = openOther(lab, first);
  const { body } = await browser.post("/sign-in/email", { email, password: PASSWORD });
  assertEquals(body.twoFactorRedirect, true);
  return browser;
}

/** Signs in by a link, which asks for no second factor. */
async function signInByLink(lab: PluginLab, { first, email }: Account): Promise<Browser> {
  const browser = openOther(lab, first);
  await browser.post("/sign-in/magic-link", { email, callbackURL: "/" });
  assertEquals((await browser.get(sent.link)).status, 302);
  return browser;
}

test("twoFactor admits sessions that began with a code", async (lab) => {
  const account = await enable(lab);
  assertEquals(await call(lab, account.first), "200");
  const byTotp = await signIn(lab, account);
  assertEquals(await call(lab, byTotp), "401 UNAUTHORIZED");
  await verify(byTotp, account.uri, next());
  assertEquals(await call(lab, byTotp), "200");
  const byBackup = await signIn(lab, account);
  const [code] = account.backupCodes;
  assertEquals((await byBackup.post("/two-factor/verify-backup-code", { code })).status, 200);
  assertEquals(await call(lab, byBackup), "200");
  const byOtp = await signIn(lab, account);
  await byOtp.post("/two-factor/send-otp");
  assertEquals((await byOtp.post("/two-factor/verify-otp", { code: sent.otp })).status, 200);
  assertEquals(await call(lab, byOtp), "200");
});

test("twoFactor refuses sessions that began without a code, until their user shows one", async (lab) => {
  const account = await enable(lab);
  const byLink = await signInByLink(lab, account);
  const byCode = openOther(lab, account.first);
  await byCode.post("/email-otp/send-verification-otp", { email: account.email, type: "sign-in" });
  await byCode.post("/sign-in/email-otp", { email: account.email, otp: sent.code });
  for (const browser of [byLink, byCode]) {
    assertEquals((await browser.get("/get-session")).body.user.email, account.email);
    assertEquals(await call(lab, browser), DENIED);
    assertEquals((await browser.post("/two-factor/verify-totp", { code: "000000" })).status, 401);
    assertEquals(await call(lab, browser), DENIED);
  }
  // no request can write the note
  await byLink.post("/update-session", { secondFactorAt: new Date().toISOString() });
  assertEquals(await call(lab, byLink), DENIED);
  await verify(byLink, account.uri, next());
  assertEquals([await call(lab, byLink), await call(lab, byCode)], ["200", DENIED]);
});

test("twoFactor refuses trusted devices and impersonated sessions", async (lab) => {
  const account = await enable(lab);
  const trusted = await signIn(lab, account);
  const code = getTotp(account.uri, next());
  await trusted.post("/two-factor/verify-totp", { code, trustDevice: true });
  assertEquals(await call(lab, trusted), "200");
  const { body } = await trusted.post("/sign-in/email", {
    email: account.email,
    password: PASSWORD,
  });
  assertEquals(body.user?.email, account.email);
  assertEquals(await call(lab, trusted), DENIED);
  const other = await enable(lab, newEmail("admin"));
  await lab.query(`update users set role = 'admin' where email = '${other.email}'`);
  const [{ id: userId }] = await lab.query(
    `select id from users where email = '${account.email}'`,
  );
  assertEquals((await other.first.post("/admin/impersonate-user", { userId })).status, 200);
  assertEquals(await call(lab, other.first), DENIED);
  // also with a note, which the impersonated user has not caused
  await lab.query(
    `update sessions set second_factor_at = now() where impersonated_by is not null`,
  );
  assertEquals(await call(lab, other.first), DENIED);
});

test("a second factor is not changed, shown or replaced by a session without one", async (lab) => {
  const account = await enable(lab);
  const browser = await signInByLink(lab, account);
  const authenticator = createSoftwareAuthenticator(BASE_URL);
  const attempts = [
    ["/two-factor/get-totp-uri", { password: PASSWORD }],
    ["/two-factor/generate-backup-codes", { password: PASSWORD }],
    ["/two-factor/disable", { password: PASSWORD }],
    ["/two-factor/enable", { password: PASSWORD, method: "otp" }],
  ] as const;
  for (const [path, body] of attempts) {
    const { status, body: { code } } = await browser.post(path, body);
    assertEquals([path, status, code], [path, 403, "SECOND_FACTOR_REQUIRED"]);
  }
  assertEquals((await browser.get("/passkey/generate-register-options")).status, 403);
  const options = await account.first.get("/passkey/generate-register-options");
  const registration = { response: authenticator.register(options.body), name: "laptop" };
  const origin = { origin: BASE_URL };
  const refused = await browser.post("/passkey/verify-registration", registration, origin);
  assertEquals([refused.status, refused.body.code], [403, "SECOND_FACTOR_REQUIRED"]);
  const { status } = await account.first.post("/two-factor/disable", { password: PASSWORD });
  assertEquals([status, await call(lab, account.first)], [200, DENIED]);
});

for (const verifiesUser of [true, false]) {
  const outcome = verifiesUser ? "admits" : "refuses";
  test(`twoFactor ${outcome} a passkey whose user was ${verifiesUser ? "" : "not "}verified`, async (lab) => {
    const { first } = await enable(lab);
    const authenticator = createSoftwareAuthenticator(BASE_URL, { verifiesUser });
    const options = await first.get("/passkey/generate-register-options");
    const origin = { origin: BASE_URL };
    const registered = await first.post("/passkey/verify-registration", {
      response: authenticator.register(options.body),
    }, origin);
    assertEquals(registered.status, 200, JSON.stringify(registered.body));
    const browser = openOther(lab, first);
    const challenge = await browser.get("/passkey/generate-authenticate-options");
    const { status } = await browser.post("/passkey/verify-authentication", {
      response: authenticator.authenticate(challenge.body),
    }, origin);
    assertEquals([status, await call(lab, browser)], [200, verifiesUser ? "200" : DENIED]);
  });
}

test("a TOTP code is accepted once, also by requests at the same moment and in another session", async (lab) => {
  const nowMs = Math.floor(Date.now() / 90_000) * 90_000 + 45_000;
  await atTime(nowMs, async () => {
    const account = await enable(lab);
    const code = getTotp(account.uri, nowMs + 30_000);
    const browsers = [await signIn(lab, account), await signIn(lab, account)];
    const answers = await Promise.all(
      browsers.map((browser) => browser.post("/two-factor/verify-totp", { code })),
    );
    assertEquals(answers.map(({ status }) => status).sort(), [200, 401]);
    assertEquals(answers.find(({ status }) => status === 401)?.body.code, "INVALID_CODE");
    const byLink = await signInByLink(lab, account);
    const again = await byLink.post("/two-factor/verify-totp", { code });
    assertEquals([again.status, await call(lab, byLink)], [401, DENIED]);
    for (const laterMs of [15_000, 44_000, 46_000, 59_000]) {
      await atTime(nowMs + laterMs, async () => {
        const late = await signIn(lab, account);
        const { status } = await late.post("/two-factor/verify-totp", { code });
        assertEquals([laterMs, status], [laterMs, 401]);
        assertEquals((await late.get("/get-session")).body, null);
      });
    }
    await atTime(nowMs + 60_000, async () => {
      await verify(await signIn(lab, account), account.uri, nowMs + 60_000);
    });
  });
});

/** A storage that answers later, as one over the network does. */
function createStorage(): NonNullable<AuthConfig["secondaryStorage"]> {
  const values = new Map<string, string>();
  const later = async <T>(answer: () => T): Promise<T> => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return answer();
  };
  return {
    get: (key) => later(() => values.get(key) ?? null),
    set: (key, value) => later(() => void values.set(key, value)),
    delete: (key) => later(() => void values.delete(key)),
    getAndDelete: (key) =>
      later(() => {
        const value = values.get(key) ?? null;
        values.delete(key);
        return value;
      }),
    increment: (key) =>
      later(() => {
        const count = Number(values.get(key) ?? 0) + 1;
        values.set(key, String(count));
        return count;
      }),
  };
}

test("a TOTP code is accepted once where verifications are in a second storage only", async (lab) => {
  const nowMs = Math.floor(Date.now() / 90_000) * 90_000 + 45_000;
  await atTime(nowMs, async () => {
    const config = {
      ...CONFIG,
      secondaryStorage: createStorage(),
      session: { storeSessionInDatabase: true },
    };
    const account = await enable(lab, newEmail("second-storage"), config);
    for (let period = 1; period < 4; period++) {
      const code = getTotp(account.uri, nowMs + period * 30_000);
      await atTime(nowMs + period * 30_000, async () => {
        const browsers = [await signIn(lab, account), await signIn(lab, account)];
        const answers = await Promise.all(
          browsers.map((browser) => browser.post("/two-factor/verify-totp", { code })),
        );
        assertEquals(answers.map(({ status }) => status).sort(), [200, 401]);
      });
    }
  });
});

test("a backup code is accepted once", async (lab) => {
  const account = await enable(lab);
  const [code] = account.backupCodes;
  const browsers = [await signIn(lab, account), await signIn(lab, account)];
  const answers = await Promise.all(
    browsers.map((browser) => browser.post("/two-factor/verify-backup-code", { code })),
  );
  assertEquals(answers.filter(({ status }) => status === 200).length, 1);
  const late = await signIn(lab, account);
  assertEquals((await late.post("/two-factor/verify-backup-code", { code })).status, 401);
});

test("codes of a session count for its user, whatever sign-in waits beside it", async (lab) => {
  const account = await enable(lab);
  const own = await enable(lab);
  const config: Partial<AuthConfig> = {
    ...CONFIG,
    rateLimit: { enabled: true, storage: "database", customRules: { "/**": false } },
  };
  const limited = openBrowser(lab, config).auth;
  const statuses: number[] = [];
  for (let round = 0; round < 6; round++) {
    const browser = await signInByLink(lab, account);
    const pending = openBrowser(lab, {}, limited);
    await pending.post("/sign-in/email", { email: own.email, password: PASSWORD });
    for (const [name, value] of browser.cookies) pending.cookies.set(name, value);
    const { status } = await pending.post("/two-factor/verify-totp", { code: "000000" });
    statuses.push(status);
  }
  assertEquals(statuses, [401, 401, 401, 401, 401, 429]);
});

test("twoFactor is a configuration error if sessions lack the column", async (lab) => {
  const { first } = await enable(lab);
  const plain = { ...lab, authSchema: { ...lab.authSchema, session: authSessions } };
  assertEquals(await call(plain, first), "500 CONFIGURATION");
});

Deno.test("session() refuses twoFactor with optional, and another value of it", () => {
  const { session } = defineAuth(() => Promise.reject(new Error("not needed")), {
    secret: SECRET,
    baseURL: BASE_URL,
  });
  for (
    const wrong of [
      { twoFactor: "required", optional: true },
      { twoFactor: undefined },
      { twoFactor: true },
    ]
  ) {
    assertThrows(() => session(wrong as never), ConfigurationError, "twoFactor");
  }
});
