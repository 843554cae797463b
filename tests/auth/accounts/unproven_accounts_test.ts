import { assert, assertEquals, assertRejects } from "@std/assert";
import { emailOTP } from "better-auth/plugins/email-otp";
import { magicLink } from "better-auth/plugins/magic-link";
import { type AuthConfig, type BetterAuthInstance, createAuth } from "../../../auth/mod.ts";
import { getInternals } from "../../../auth/accounts/instance.ts";
import { openAuthDatabase, SECRET } from "../auth_database.ts";
import { FAST_PASSWORDS } from "../fast_passwords.ts";
import { acmeProvider } from "../acme_provider.ts";

const { db, pglite, reset } = await openAuthDatabase();
Deno.test.beforeEach(reset);
Deno.test.afterAll(() => pglite.close());

const BASE = "https://api.example.com";
const EMAIL = "owner@example.com";
const STRANGER = "password of the stranger", OWNER = "password of the owner";
const sent: Record<string, string> = {};

/** The provider's answer about the user who signs in. */
let profile = { id: "acme-1", email: EMAIL, emailVerified: true, name: "Owner" };

const calls: string[] = [];
const config: AuthConfig = {
  secret: SECRET,
  baseURL: BASE,
  useSecureCookies: false,
  rateLimit: { enabled: false },
  emailAndPassword: {
    enabled: true,
    sendResetPassword: ({ token }) => Promise.resolve(void (sent.reset = token)),
    onPasswordReset: () => Promise.resolve(void calls.push("onPasswordReset")),
    password: FAST_PASSWORDS,
  },
  user: {
    validateUserInfo: ({ source }) => void calls.push(source.action),
  },
  plugins: [
    magicLink({ sendMagicLink: ({ token }) => void (sent.magic = token) }),
    emailOTP({ sendVerificationOTP: ({ otp }) => Promise.resolve(void (sent.otp = otp)) }),
  ],
  socialProviders: { custom: acmeProvider(() => profile) },
};
const auth = createAuth(db, config);

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly cookies: string;
  readonly location: string;
}

async function send(
  path: string,
  body?: unknown,
  cookies = "",
  to: BetterAuthInstance = auth,
): Promise<Answer> {
  const response = await to.handler(
    new Request(`${BASE}/api/auth${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { "content-type": "application/json", origin: BASE, cookie: cookies },
      ...body !== undefined && { body: JSON.stringify(body) },
    }),
  );
  return {
    status: response.status,
    body: await response.text(),
    cookies: response.headers.getSetCookie().map((cookie) => cookie.split(";")[0]).join("; "),
    location: response.headers.get("location") ?? "",
  };
}

interface Squatter {
  readonly cookies: string;
  readonly token: string;
}

/** Signs up with another person's address. */
async function squat(): Promise<Squatter> {
  const { status, body, cookies } = await send("/sign-up/email", {
    email: EMAIL,
    password: STRANGER,
    name: "Stranger",
  });
  assertEquals(status, 200);
  return { cookies, token: JSON.parse(body).token };
}

/** Checks that nothing that the stranger holds opens the account. */
async function assertLockedOut({ cookies, token }: Squatter): Promise<void> {
  assertEquals((await send("/get-session", undefined, cookies)).body, "null");
  const headers = new Headers({ authorization: `Bearer ${token}` });
  assertEquals(await auth.api.getSession({ headers }), null);
  const { status } = await send("/sign-in/email", { email: EMAIL, password: STRANGER });
  assertEquals(status, 401);
}

async function assertOwned(cookies: string): Promise<void> {
  const { user } = JSON.parse((await send("/get-session", undefined, cookies)).body);
  assertEquals([user.email, user.emailVerified], [EMAIL, true]);
  assertEquals((await pglite.query("select from users")).rows.length, 1);
}

async function listAccounts(): Promise<string[]> {
  const { rows } = await pglite.query<{ id: string }>(
    "select provider_id as id from accounts order by 1",
  );
  return rows.map(({ id }) => id);
}

/** Signs in with the provider, as a browser does. */
async function signInWithProvider(
  cookies = "",
  path = "/sign-in/social",
  to: BetterAuthInstance = auth,
): Promise<Answer> {
  const body = { provider: "acme", callbackURL: "/home", errorCallbackURL: "/failed" };
  const started = await send(path, body, cookies, to);
  const state = new URL(JSON.parse(started.body).url).searchParams.get("state");
  const all = [cookies, started.cookies].filter(Boolean).join("; ");
  return await send(`/callback/acme?code=1&state=${state}`, undefined, all, to);
}

Deno.test("an unverified account goes to the owner who signs in with a provider", async () => {
  calls.length = 0;
  const squatter = await squat();
  const { location, cookies } = await signInWithProvider();
  assertEquals(location, "/home");
  await assertOwned(cookies);
  await assertLockedOut(squatter);
  assertEquals(await listAccounts(), ["acme"]);
  assertEquals(calls, ["create-user", "link-account"]);
});

Deno.test("an unverified account goes to the owner who signs in by magic link", async () => {
  const squatter = await squat();
  assertEquals((await send("/sign-in/magic-link", { email: EMAIL })).status, 200);
  const { cookies } = await send(`/magic-link/verify?token=${sent.magic}&callbackURL=/home`);
  await assertOwned(cookies);
  await assertLockedOut(squatter);
  assertEquals(await listAccounts(), []);
});

Deno.test("an unverified account goes to the owner who resets the password", async () => {
  calls.length = 0;
  const squatter = await squat();
  // the stranger links an identity of theirs, too
  await pglite.exec(
    "insert into accounts (account_id, provider_id, user_id) select 'x', 'other', id from users",
  );
  await send("/request-password-reset", { email: EMAIL });
  const done = await send("/reset-password", { token: sent.reset, newPassword: OWNER });
  assertEquals(done.status, 200);
  await assertLockedOut(squatter);
  const { status, cookies } = await send("/sign-in/email", { email: EMAIL, password: OWNER });
  assertEquals(status, 200);
  await assertOwned(cookies);
  assertEquals(await listAccounts(), ["credential"]);
  assertEquals(calls.filter((name) => name === "onPasswordReset").length, 1);
});

Deno.test("an unverified account goes to the owner who resets the password by a code", async () => {
  const squatter = await squat();
  await send("/email-otp/request-password-reset", { email: EMAIL });
  const wrong = await send("/email-otp/reset-password", {
    email: EMAIL,
    otp: "000000",
    password: OWNER,
  });
  assertEquals(wrong.status, 400);
  // a wrong code proves nothing: the stranger could end sessions of others with it
  assert((await send("/get-session", undefined, squatter.cookies)).body !== "null");
  const done = await send("/email-otp/reset-password", {
    email: EMAIL,
    otp: sent.otp,
    password: OWNER,
  });
  assertEquals(done.status, 200);
  await assertLockedOut(squatter);
  const { cookies } = await send("/sign-in/email", { email: EMAIL, password: OWNER });
  await assertOwned(cookies);
});

Deno.test("an unknown reset token changes nothing", async () => {
  const squatter = await squat();
  const { status } = await send("/reset-password", { token: "unknown", newPassword: OWNER });
  assertEquals(status, 400);
  assert((await send("/get-session", undefined, squatter.cookies)).body !== "null");
  assertEquals(await listAccounts(), ["credential"]);
});

Deno.test("a provider that has not verified the address gets no account", async () => {
  const squatter = await squat();
  profile = { ...profile, emailVerified: false };
  try {
    const { location } = await signInWithProvider();
    assert(location.includes("error="), location);
    const trusting = createAuth(db, {
      ...config,
      account: { accountLinking: { trustedProviders: ["acme"] } },
    });
    const trusted = await signInWithProvider("", "/sign-in/social", trusting);
    assert(trusted.location.includes("error=account_not_linked"), trusted.location);
    assert((await send("/get-session", undefined, squatter.cookies)).body !== "null");
    assertEquals(await listAccounts(), ["credential"]);
  } finally {
    profile = { ...profile, emailVerified: true };
  }
});

Deno.test("a verified account keeps its password and sessions when a provider is linked", async () => {
  const owner = await squat();
  await pglite.exec("update users set email_verified = true");
  assertEquals((await signInWithProvider()).location, "/home");
  assertEquals(await listAccounts(), ["acme", "credential"]);
  assert((await send("/get-session", undefined, owner.cookies)).body !== "null");
});

Deno.test("a user who links a provider to their own unverified account stays signed in", async () => {
  const user = await squat();
  assertEquals((await signInWithProvider(user.cookies, "/link-social")).location, "/home");
  assertEquals(await listAccounts(), ["acme", "credential"]);
  assert((await send("/get-session", undefined, user.cookies)).body !== "null");
});

Deno.test("createAuth() lets code outside of endpoints create users", async () => {
  const { user: _, ...plain } = config;
  const { context } = await getInternals(createAuth(db, plain)).start();
  const created = await context.internalAdapter.createUser(
    { email: EMAIL, name: "Imported", emailVerified: false },
    { method: "email-password" },
  );
  assertEquals((await context.internalAdapter.findUserById(created.id))?.email, EMAIL);
});

Deno.test("createAuth() keeps better-auth's refusal of users outside of endpoints when the project checks users", async () => {
  const { context } = await getInternals(auth).start();
  const error = await assertRejects(() =>
    context.internalAdapter.createUser(
      { email: EMAIL, name: "Imported", emailVerified: false },
      { method: "email-password" },
    )
  );
  assertEquals(Reflect.get(Object(error), "body")?.code, "validation_context_missing");
});

Deno.test("requireLocalEmailVerified: true keeps better-auth's refusal", async () => {
  const strict = createAuth(db, {
    ...config,
    account: { accountLinking: { requireLocalEmailVerified: true } },
  });
  await squat();
  const { location } = await signInWithProvider("", "/sign-in/social", strict);
  assert(location.includes("error=account_not_linked"), location);
  assertEquals(await listAccounts(), ["credential"]);
});

Deno.test("only true and the text true of a provider mean a verified address", async () => {
  let emailVerified: unknown;
  const user = () => ({ ...profile, emailVerified: emailVerified as boolean });
  const google = createAuth(db, {
    ...config,
    socialProviders: {
      google: {
        clientId: "c",
        clientSecret: "s",
        options: { getUserInfo: () => Promise.resolve({ user: user(), data: {} }) },
      },
    },
  });
  const { context } = await getInternals(google).start();
  const [provider] = context.socialProviders;
  for (emailVerified of [true, "true", false, "false", "0", "1", "", 0, 1, {}, [], null]) {
    const found = await provider.getUserInfo({ accessToken: "t" });
    assertEquals(found?.user.emailVerified, emailVerified === true || emailVerified === "true");
  }
});
