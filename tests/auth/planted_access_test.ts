import { assert, assertEquals } from "@std/assert";
import { apiKey } from "@better-auth/api-key";
import { passkey } from "@better-auth/passkey";
import type { BetterAuthPlugin } from "better-auth";
import {
  deviceAuthorization,
  emailOTP,
  jwt,
  magicLink,
  organization,
  phoneNumber,
  twoFactor,
} from "better-auth/plugins";
import { pgEnum, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
import type { AuthConfig } from "../../auth/mod.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { FAST_PASSWORDS } from "./fast_passwords.ts";
import { getTotp } from "./plugins/credential_flows.ts";
import {
  BASE_URL,
  type Browser,
  newEmail,
  openBrowser,
  PASSWORD,
  sharePluginLab,
} from "./plugins/plugin_lab.ts";
import { createSoftwareAuthenticator } from "./plugins/software_authenticator.ts";
import { acmeProvider } from "./acme_provider.ts";

/** What the mails of the instance hold. */
const mails: Record<string, string> = {};
const keep = (name: string, text: string) => Promise.resolve(void (mails[name] = text));

/** The provider's answer about the user who signs in. */
let profile = { id: "", email: "", emailVerified: true, name: "Owner" };

const PLUGINS: readonly BetterAuthPlugin[] = [
  apiKey({ enableSessionForAPIKeys: true, rateLimit: { enabled: false } }),
  deviceAuthorization({ verificationUri: "/device" }),
  emailOTP({ sendVerificationOTP: ({ otp }) => keep("code", otp) }),
  magicLink({ sendMagicLink: ({ token }) => keep("magic", token) }),
  organization(),
  passkey({ rpID: "localhost", origin: BASE_URL }),
  phoneNumber({ sendOTP: ({ code }) => keep("sms", code) }),
  twoFactor(),
];

const CONFIG: Partial<AuthConfig> = {
  plugins: PLUGINS,
  rateLimit: { enabled: false },
  emailAndPassword: {
    enabled: true,
    password: FAST_PASSWORDS,
    sendResetPassword: ({ token }) => keep("reset", token),
  },
  emailVerification: { sendVerificationEmail: ({ token }) => keep("verify", token) },
  user: { changeEmail: { enabled: true } },
  account: { accountLinking: { allowDifferentEmails: true } },
  session: { cookieCache: { enabled: true } },
  socialProviders: { custom: acmeProvider(() => profile) },
};

const { open } = sharePluginLab({ plugins: [...PLUGINS, jwt()] });

Deno.test.beforeAll(() => void setLogOutput(() => {}));

/** Checks that what a stranger has planted gives nothing any more. `owner` has the owner's session. */
type Attempt = (owner: Browser, email: string) => Promise<void>;

/** What a stranger plants while signed in, by credential. Returns the attempt to use it. */
const PLANTS: Record<string, (stranger: Browser, userId: string) => Promise<Attempt>> = {
  async "a cached session"(stranger) {
    assertEquals((await stranger.get("/get-session")).body.user.emailVerified, false);
    return async () => assertEquals((await stranger.get("/get-session")).body, null);
  },
  async "a passkey"(stranger) {
    const device = createSoftwareAuthenticator(BASE_URL);
    const { body } = await stranger.get("/passkey/generate-register-options");
    const response = device.register(body);
    const added = await stranger.post("/passkey/verify-registration", { response });
    assertEquals(added.status, 200, JSON.stringify(added.body));
    return async () => {
      const other = openBrowser(await open(), {}, stranger.auth);
      const options = await other.get("/passkey/generate-authenticate-options");
      const { status } = await other.post("/passkey/verify-authentication", {
        response: device.authenticate(options.body),
      }, { origin: BASE_URL });
      assertEquals(status, 401);
    };
  },
  async "an API key"(stranger) {
    const { body: { key } } = await stranger.post("/api-key/create", { name: "planted" });
    const other = openBrowser(await open(), {}, stranger.auth);
    const headers = { "x-api-key": key };
    assert((await other.get("/get-session", headers)).body.user.id);
    return async () => assert(!(await other.get("/get-session", headers)).body?.user);
  },
  async "a link that changes the address"(stranger) {
    const newEmail = `evil-${crypto.randomUUID()}@example.com`;
    assertEquals((await stranger.post("/change-email", { newEmail })).status, 200);
    const token = mails.verify;
    return async (_owner, email) => {
      const other = openBrowser(await open(), {}, stranger.auth);
      const { status } = await other.get(`/verify-email?token=${token}`);
      assertEquals(status, 401);
      const { headers } = await other.get(`/verify-email?token=${token}&callbackURL=/home`);
      assert(headers.get("location")?.endsWith("/home?error=INVALID_TOKEN"));
      assertEquals((await findUser(email)).email, email);
    };
  },
  async "a device code"(stranger) {
    const device = openBrowser(await open(), {}, stranger.auth);
    const { body: code } = await device.post("/device/code", { client_id: "tv" });
    await stranger.get(`/device?user_code=${code.user_code}`);
    const approved = await stranger.post("/device/approve", { userCode: code.user_code });
    assertEquals(approved.status, 200, JSON.stringify(approved.body));
    return async () => {
      const { status, body } = await device.post("/device/token", {
        grant_type: "urn:ietf:params:oauth:grant-type:device_code",
        device_code: code.device_code,
        client_id: "tv",
      });
      assertEquals([status, body.error], [400, "invalid_grant"]);
    };
  },
  async "a second factor"(stranger) {
    const { body } = await stranger.post("/two-factor/enable", { password: PASSWORD });
    const code = getTotp(body.totpURI);
    assertEquals((await stranger.post("/two-factor/verify-totp", { code })).status, 200);
    return async (owner, email) => {
      assertEquals((await findUser(email)).two_factor_enabled, false);
      const { status } = await owner.post("/two-factor/enable", { password: "owner's password" });
      // the owner who has set a password can begin with a second factor of their own
      assertEquals(status, mails.used === "reset" ? 200 : 400);
    };
  },
  async "a provider's link that is not finished"(stranger, userId) {
    const state = await startWithProvider(stranger, "/link-social");
    return async () => {
      profile = { ...profile, id: `evil-${userId}`, email: newEmail("evil") };
      const { headers } = await stranger.get(`/callback/acme?code=1&state=${state}`);
      assert(headers.get("location")?.includes("error="), String(headers.get("location")));
      const rows = await (await open()).query(
        `SELECT 1 FROM accounts WHERE account_id = 'evil-${userId}'`,
      );
      assertEquals(rows, []);
    };
  },
  async "a phone number"(stranger) {
    const number = `+49${Date.now()}`;
    await stranger.post("/phone-number/send-otp", { phoneNumber: number });
    const body = { phoneNumber: number, code: mails.sms, updatePhoneNumber: true };
    assertEquals((await stranger.post("/phone-number/verify", body)).status, 200);
    return async (_owner, email) => {
      const { phone_number, phone_number_verified } = await findUser(email);
      assertEquals([phone_number, phone_number_verified], [null, false]);
    };
  },
};

async function findUser(email: string): Promise<Record<string, unknown>> {
  const rows = await (await open()).query(`SELECT * FROM users WHERE email = '${email}'`);
  return rows[0] ?? {};
}

/** How the owner proves the address. Afterwards the browser has the owner's session. */
const PROOFS: Record<string, (owner: Browser, email: string) => Promise<void>> = {
  async "a provider"(owner, email) {
    profile = { ...profile, id: `acme-${email}`, email };
    assertEquals((await signInWithProvider(owner)).headers.get("location"), "/home");
  },
  async "a reset"(owner, email) {
    await owner.post("/request-password-reset", { email });
    const newPassword = "owner's password";
    const { status } = await owner.post("/reset-password", { token: mails.reset, newPassword });
    assertEquals(status, 200);
    await owner.post("/sign-in/email", { email, password: newPassword });
  },
  async "a reset by code"(owner, email) {
    await owner.post("/email-otp/request-password-reset", { email });
    const password = "owner's password";
    const { status } = await owner.post("/email-otp/reset-password", {
      email,
      otp: mails.code,
      password,
    });
    assertEquals(status, 200);
    await owner.post("/sign-in/email", { email, password });
  },
  async "a magic link"(owner, email) {
    await owner.post("/sign-in/magic-link", { email });
    await owner.get(`/magic-link/verify?token=${mails.magic}`);
  },
  async "a code"(owner, email) {
    await owner.post("/email-otp/send-verification-otp", { email, type: "sign-in" });
    await owner.post("/sign-in/email-otp", { email, otp: mails.code });
  },
};

/** Begins a sign-in or a link, and returns its state. */
async function startWithProvider(browser: Browser, path: string): Promise<string> {
  const { body } = await browser.post(path, {
    provider: "acme",
    callbackURL: "/home",
    errorCallbackURL: "/failed",
  });
  return new URL(body.url).searchParams.get("state")!;
}

async function signInWithProvider(browser: Browser) {
  const state = await startWithProvider(browser, "/sign-in/social");
  return await browser.get(`/callback/acme?code=1&state=${state}`);
}

for (const [proof, prove] of Object.entries(PROOFS)) {
  Deno.test(`nothing that a stranger has planted outlives the proof of the address by ${proof}`, async (test) => {
    const lab = await open();
    const { auth } = openBrowser(lab, CONFIG);
    const bystander = openBrowser(lab, {}, auth);
    await bystander.signUp(newEmail("bystander"));
    await bystander.post("/api-key/create", { name: "kept" });
    mails.used = proof.startsWith("a reset") ? "reset" : "";
    for (const [credential, plant] of Object.entries(PLANTS)) {
      await test.step(credential, async () => {
        const email = newEmail("owner");
        const stranger = openBrowser(lab, {}, auth);
        const userId = await stranger.signUp(email);
        const attempt = await plant(stranger, userId);
        const owner = openBrowser(lab, {}, auth);
        await prove(owner, email);
        const { user } = (await owner.get("/get-session")).body;
        assertEquals([user.id, user.email, user.emailVerified], [userId, email, true]);
        await attempt(owner, email);
        assertEquals((await owner.get("/get-session")).body.user.id, userId);
      });
    }
    assertEquals((await bystander.get("/api-key/list")).body.apiKeys.length, 1);
    assert((await bystander.get("/get-session")).body.user);
  });
}

Deno.test("a membership of an unverified user outlives a reset", async () => {
  const lab = await open();
  const user = openBrowser(lab, CONFIG);
  const email = newEmail("founder");
  await user.signUp(email);
  await user.post("/organization/create", { name: "Acme", slug: email });
  await PROOFS["a reset"](user, email);
  assertEquals((await user.get("/organization/list")).body.length, 1);
});

Deno.test("a proof removes however many rows in statements of 500, and nothing of similar addresses", async () => {
  const lab = await open();
  await lab.query("CREATE TABLE IF NOT EXISTS removed (name text, count int)");
  await lab.query(`CREATE OR REPLACE FUNCTION count_removed() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO removed SELECT TG_TABLE_NAME, count(*) FROM gone; RETURN NULL; END $$`);
  const tables = ["sessions", "passkeys", "accounts", "verification"];
  for (const table of tables) {
    await lab.query(`CREATE TRIGGER count_removed AFTER DELETE ON ${table}
      REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_removed()`);
  }
  try {
    const stranger = openBrowser(lab, CONFIG);
    const email = newEmail("a_da");
    const id = await stranger.signUp(email);
    const others = [email.replace("_", "x"), `n${email}`, `${email}.au`];
    const many = "FROM generate_series(1, 1201) n";
    await lab.query(`INSERT INTO sessions (user_id, token, expires_at, updated_at)
      SELECT '${id}', 'planted-' || n, now() + interval '1 day', now() ${many}`);
    await lab.query(
      `INSERT INTO passkeys (public_key, user_id, credential_id, counter, device_type, backed_up)
      SELECT 'k', '${id}', 'planted-' || n, 0, 'singleDevice', false ${many}`,
    );
    await lab.query(`INSERT INTO accounts (account_id, provider_id, user_id, updated_at)
      SELECT 'planted-' || n, 'other', '${id}', now() ${many}`);
    const verification = (address: string, rows: string) =>
      lab.query(`INSERT INTO verification (identifier, value, expires_at, updated_at)
        SELECT 'sign-in-otp-${address}', '1:0', now() + interval '1 day', now() ${rows}`);
    await verification(email, many);
    for (const other of others) await verification(other, "");
    await lab.query("DELETE FROM removed");

    const owner = openBrowser(lab, {}, stranger.auth);
    await PROOFS["a magic link"](owner, email);
    assertEquals((await owner.get("/get-session")).body.user.id, id);
    const removed = await lab.query(
      "SELECT name, max(count)::int AS most, sum(count)::int AS all FROM removed GROUP BY 1 ORDER BY 1",
    );
    assertEquals(removed.map(({ name }) => name), tables.toSorted());
    for (const { name, most, all } of removed) {
      assert(Number(most) <= 500 && Number(all) >= 1201, `${name} ${most} ${all}`);
    }
    const kept = await lab.query("SELECT identifier FROM verification WHERE value = '1:0'");
    assertEquals(
      kept.map(({ identifier }) => identifier).sort(),
      others.map((other) => `sign-in-otp-${other}`).sort(),
    );
  } finally {
    for (const table of tables) await lab.query(`DROP TRIGGER count_removed ON ${table}`);
    await lab.query("DELETE FROM verification WHERE value = '1:0'");
  }
});

Deno.test("columns that cannot hold an id are not compared with one", async () => {
  const lab = await open();
  await lab.query("CREATE TYPE invitation_status AS ENUM ('pending', 'accepted')");
  await lab.query(
    "ALTER TABLE invitations ALTER status DROP DEFAULT, ALTER status TYPE invitation_status USING status::invitation_status",
  );
  const status = pgEnum("invitation_status", ["pending", "accepted"])("status").notNull();
  const invitation = pgTable("invitations", {
    id: uuid("id").primaryKey().defaultRandom(),
    organizationId: uuid("organization_id").notNull(),
    email: text("email").notNull(),
    role: text("role"),
    status,
    expiresAt: timestamp("expires_at", { withTimezone: true }).notNull(),
    createdAt: timestamp("created_at", { withTimezone: true }).notNull(),
    inviterId: uuid("inviter_id").notNull(),
  });
  const owner = openBrowser(lab, { ...CONFIG, schema: { ...lab.authSchema, invitation } });
  const email = newEmail("owner");
  await owner.signUp(email);
  try {
    await PROOFS["a reset"](owner, email);
    assertEquals((await owner.get("/get-session")).body.user.emailVerified, true);
  } finally {
    await lab.query("ALTER TABLE invitations ALTER status TYPE text");
  }
});

for (
  const [name, plugin] of [
    ["tokens that no table lists", jwt()],
    ["an unknown plugin", { id: "unknown" }],
  ] as const
) {
  Deno.test(`a provider gets no unverified account if ${name} could keep an access`, async () => {
    const lab = await open();
    const email = newEmail("owner");
    const stranger = openBrowser(lab, { ...CONFIG, plugins: [...PLUGINS, plugin] });
    await stranger.signUp(email);
    profile = { ...profile, id: `acme-${email}`, email };
    const owner = openBrowser(lab, {}, stranger.auth);
    const location = (await signInWithProvider(owner)).headers.get("location");
    assert(location?.includes("error=account_not_linked"), String(location));
    // a mail frees the account with such plugins, too
    const attempt = await PLANTS["a passkey"](stranger, "");
    await PROOFS["a magic link"](owner, email);
    await attempt(owner, email);
    assertEquals((await owner.get("/get-session")).body.user.email, email);
  });
}
