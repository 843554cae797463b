import { assert, assertEquals } from "@std/assert";
import { phoneNumber, twoFactor, username } from "better-auth/plugins";
import { emailOTP } from "better-auth/plugins/email-otp";
import { bigint, boolean, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
import {
  AUTH_USER_COLUMNS,
  type AuthConfig,
  type BetterAuthInstance,
  createAuth,
  createAuthHandler,
  removeExpiredAuthRows,
} from "../../auth/mod.ts";
import type { ProxyResult } from "../../core/mod.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { createHttpApiEvent, createLambdaContext } from "../../testing/mod.ts";
import { captureLogs } from "../support/capture_logs.ts";
import { withEnv } from "../support/with_env.ts";
import { openAuthDatabase, SECRET } from "./auth_database.ts";
import { FAST_PASSWORDS } from "./fast_passwords.ts";

const { db, pglite, reset, queries } = await openAuthDatabase();
Deno.test.beforeEach(reset);
Deno.test.afterAll(() => pglite.close());

const PASSWORD = "correct horse battery";
const defaults: AuthConfig = {
  secret: SECRET,
  baseURL: "https://api.example.com",
  emailAndPassword: { enabled: true, password: FAST_PASSWORDS },
};
/** better-auth's limit with a window that lasts longer than a test. */
const config: AuthConfig = {
  ...defaults,
  rateLimit: { customRules: { "/sign-in/*": { max: 3, window: 3_600 } } },
};
/** Without better-auth's limit by address and path, which would be reached first. */
const perAccount: AuthConfig = { ...defaults, rateLimit: { customRules: { "/**": false } } };

let lastAddress = 0;
const nextAddress = () => `198.51.${100 + (++lastAddress >> 8)}.${lastAddress & 255}`;

interface Call {
  readonly path?: string;
  readonly from?: string;
  readonly headers?: Record<string, string>;
  readonly body: unknown;
}

async function call(
  auth: BetterAuthInstance,
  { path = "/sign-in/email", from = nextAddress(), headers = {}, body }: Call,
): Promise<ProxyResult> {
  const isText = typeof body === "string";
  const event = createHttpApiEvent({
    method: "POST",
    path: `/api/auth${path}`,
    headers: {
      "content-type": isText ? "application/x-www-form-urlencoded" : "application/json",
      ...headers,
    },
    body: isText ? body : JSON.stringify(body),
  });
  const http = { ...event.requestContext.http, sourceIp: from };
  return await createAuthHandler(() => auth)(
    { ...event, requestContext: { ...event.requestContext, http } },
    createLambdaContext(),
  );
}

async function signIn(auth: BetterAuthInstance, email: string, password: string, from?: string) {
  return (await call(auth, { from, body: { email, password } })).statusCode;
}

async function signUp(auth: BetterAuthInstance, ...emails: string[]): Promise<void> {
  for (const email of emails) {
    await auth.api.signUpEmail({ body: { name: "x", email, password: PASSWORD } });
  }
}

function count(statuses: readonly number[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

const ADA = "ada@example.com", BOB = "bob@example.com";

Deno.test("120 wrong passwords from one address: 3 are checked", async () => {
  const auth = createAuth(db, config);
  await signUp(auth, ADA, BOB);
  const statuses: number[] = [];
  for (let i = 0; i < 120; i++) statuses.push(await signIn(auth, ADA, `wrong ${i}`, "203.0.113.9"));
  assertEquals(count(statuses), { 401: 3, 429: 117 });
  // another visitor, and another account
  assertEquals(await signIn(auth, BOB, PASSWORD, "203.0.113.10"), 200);
  assertEquals(await signIn(auth, ADA, PASSWORD, "203.0.113.10"), 200);
});

Deno.test("wrong passwords for one account from many addresses: 20 are checked", async () => {
  const auth = createAuth(db, config);
  await signUp(auth, ADA, BOB);
  const statuses = await Promise.all(
    Array.from({ length: 80 }, (_, i) => signIn(auth, ADA, `wrong ${i}`)),
  );
  assertEquals(count(statuses), { 401: 20, 429: 60 });
  assertEquals(await signIn(auth, BOB, PASSWORD), 200);
});

Deno.test("the owner signs in from a known address while strangers guess the password", async () => {
  const auth = createAuth(db, perAccount);
  await signUp(auth, ADA);
  const home = "203.0.113.1", abroad = "203.0.113.2";
  assertEquals(await signIn(auth, ADA, PASSWORD, home), 200);
  for (let i = 0; i < 30; i++) await signIn(auth, ADA, `wrong ${i}`);
  assertEquals(await signIn(auth, ADA, PASSWORD, home), 200);
  assertEquals(await signIn(auth, ADA, PASSWORD, abroad), 429);
  // a known address has its own limit
  const statuses: number[] = [];
  for (let i = 0; i < 10; i++) statuses.push(await signIn(auth, ADA, `wrong ${i}`, home));
  assertEquals(count(statuses), { 401: 5, 429: 5 });
});

Deno.test("a lock of an account at one address leaves its other addresses open", async () => {
  const auth = createAuth(db, perAccount);
  await signUp(auth, ADA);
  const statuses: number[] = [];
  for (let i = 0; i < 9; i++) statuses.push(await signIn(auth, ADA, `wrong ${i}`, "203.0.113.1"));
  assertEquals(count(statuses), { 401: 5, 429: 4 });
  assertEquals(await signIn(auth, ADA, PASSWORD, "203.0.113.2"), 200);
});

Deno.test("successful sign-ins are not counted by account", async () => {
  const auth = createAuth(db, perAccount);
  await signUp(auth, ADA);
  for (let i = 0; i < 25; i++) assertEquals(await signIn(auth, ADA, PASSWORD, "203.0.113.1"), 200);
  const { rows } = await pglite.query<{ count: number }>("select count from rate_limits");
  assertEquals(rows, [{ count: 0 }, { count: 0 }]);
});

Deno.test("a correct password is no failure when the address is not verified", async () => {
  const auth = createAuth(db, {
    ...perAccount,
    emailAndPassword: { ...config.emailAndPassword!, requireEmailVerification: true },
  });
  await signUp(auth, ADA);
  for (let i = 0; i < 8; i++) assertEquals(await signIn(auth, ADA, PASSWORD, "203.0.113.1"), 403);
});

Deno.test("spellings of an account and of a body count as one account", async () => {
  const auth = createAuth(db, perAccount);
  await signUp(auth, ADA);
  const from = "203.0.113.1";
  const bodies = [
    { email: ADA, password: "1" },
    { email: "ADA@Example.com", password: "2" },
    { email: "aDA@example.com", password: "3", rememberMe: false },
    "email=Ada%40example.com&password=4",
    { password: "5", callbackURL: "/", email: ADA },
    { email: ADA, password: PASSWORD },
    `email=ada%40example.com&password=${encodeURIComponent(PASSWORD)}`,
  ];
  const statuses: number[] = [];
  for (const body of bodies) {
    const headers = { origin: "https://api.example.com" };
    statuses.push((await call(auth, { from, body, headers })).statusCode);
  }
  assertEquals(statuses, [401, 401, 401, 401, 401, 429, 429]);
});

Deno.test("addresses of one IPv6 network count as one", async () => {
  const auth = createAuth(db, config);
  const statuses: number[] = [];
  for (let i = 1; i <= 5; i++) statuses.push(await signIn(auth, ADA, "x", `2001:db8::${i}`));
  assertEquals(count(statuses), { 401: 3, 429: 2 });
  assertEquals(await signIn(auth, ADA, "x", "2001:db8:0:1::1"), 401);
});

Deno.test("a refused request has the headers of its limit and our error body", async () => {
  const auth = createAuth(db, defaults);
  const { lines } = await captureLogs(async () => {
    for (let i = 0; i < 3; i++) await signIn(auth, ADA, "x", "203.0.113.1");
    const { statusCode, headers = {}, body } = await call(auth, {
      from: "203.0.113.1",
      body: { email: ADA, password: "x" },
    });
    assertEquals(statusCode, 429);
    const { message, code, correlationId } = JSON.parse(body);
    assertEquals([message, code], ["Too many requests. Try again later", "TOO_MANY_REQUESTS"]);
    assertEquals(correlationId, headers["X-Correlation-Id"]);
    const seconds = Number(headers["Retry-After"]);
    assert(seconds >= 1 && seconds <= 10);
    assertEquals(headers["RateLimit-Policy"], '"address";q=3;w=10');
    assertEquals(headers["RateLimit"], `"address";r=0;t=${seconds}`);
    assertEquals(
      headers["Access-Control-Expose-Headers"],
      "RateLimit, RateLimit-Policy, Retry-After",
    );
  });
  assertEquals(lines.filter(({ RateLimited }) => RateLimited === 1).length, 1);
});

Deno.test("requests for messages are limited by account, and unknown accounts look the same", async () => {
  const sent: string[] = [];
  const auth = createAuth(db, {
    ...perAccount,
    emailAndPassword: {
      ...config.emailAndPassword!,
      sendResetPassword: ({ user }) => Promise.resolve(void sent.push(user.email)),
    },
  });
  await signUp(auth, ADA);
  const answers: Record<string, string[]> = { [ADA]: [], "nobody@example.com": [] };
  for (const [email, all] of Object.entries(answers)) {
    for (let i = 0; i < 12; i++) {
      const { statusCode, body } = await call(auth, {
        path: "/request-password-reset",
        body: { email },
      });
      const { message, code } = JSON.parse(body);
      all.push(`${statusCode} ${code} ${message}`);
    }
  }
  assertEquals(answers[ADA], answers["nobody@example.com"]);
  assertEquals(answers[ADA].filter((answer) => answer.startsWith("429")).length, 2);
  assertEquals(sent.length, 10);
});

Deno.test("wrong one-time codes are limited by account", async () => {
  const auth = createAuth(db, {
    ...perAccount,
    plugins: [emailOTP({ sendVerificationOTP: () => Promise.resolve(), allowedAttempts: 1_000 })],
  });
  await signUp(auth, ADA);
  const send = { path: "/email-otp/send-verification-otp", body: { email: ADA, type: "sign-in" } };
  assertEquals((await call(auth, send)).statusCode, 200);
  const statuses: number[] = [];
  for (let i = 0; i < 40; i++) {
    const body = { email: ADA, otp: String(100_000 + i) };
    statuses.push((await call(auth, { path: "/sign-in/email-otp", body })).statusCode);
  }
  assertEquals(count(statuses), { 400: 20, 429: 20 });
});

Deno.test("wrong passwords for a username and for a phone number are limited by account", async () => {
  const people = pgTable("people", {
    ...AUTH_USER_COLUMNS,
    username: text("username"),
    displayUsername: text("display_username"),
    phoneNumber: text("phone_number"),
    phoneNumberVerified: boolean("phone_number_verified"),
  });
  await pglite.exec(
    `CREATE TABLE people (LIKE users INCLUDING ALL, username text UNIQUE, display_username text,
    phone_number text UNIQUE, phone_number_verified boolean)`,
  );
  const auth = createAuth(db, {
    ...perAccount,
    schema: { user: people },
    plugins: [username(), phoneNumber({ sendOTP: () => {} })],
  });
  const body = { name: "x", email: ADA, password: PASSWORD, username: "ada" };
  await auth.api.signUpEmail({ body: body as never });
  await pglite.exec("UPDATE people SET phone_number = '+4912345678', phone_number_verified = true");
  const wrong: Record<string, Record<string, string>> = {
    "/sign-in/username": { username: "Ada" },
    "/sign-in/phone-number": { phoneNumber: "+4912345678" },
  };
  for (const [path, account] of Object.entries(wrong)) {
    const statuses: number[] = [];
    for (let i = 0; i < 25; i++) {
      // better-auth ignores a field that the route does not have
      const body = { ...account, email: `other${i}@example.com`, password: "wrong password" };
      statuses.push((await call(auth, { path, body })).statusCode);
    }
    assertEquals(count(statuses), { 401: 20, 429: 5 }, path);
  }
  await pglite.exec("DROP TABLE people");
});

Deno.test("wrong second factors are limited by account", async () => {
  const people = pgTable("people", {
    ...AUTH_USER_COLUMNS,
    twoFactorEnabled: boolean("two_factor_enabled"),
  });
  const twoFactors = pgTable("two_factors", {
    id: uuid("id").primaryKey(),
    secret: text("secret").notNull(),
    backupCodes: text("backup_codes").notNull(),
    userId: uuid("user_id").notNull(),
    verified: boolean("verified"),
    failedVerificationCount: bigint("failed_verification_count", { mode: "number" }),
    lockedUntil: timestamp("locked_until", { withTimezone: true }),
  });
  await pglite.exec(`CREATE TABLE people (LIKE users INCLUDING ALL, two_factor_enabled boolean);
    CREATE TABLE two_factors (id uuid PRIMARY KEY, secret text NOT NULL, backup_codes text NOT NULL, user_id uuid NOT NULL,
      verified boolean DEFAULT true, failed_verification_count bigint DEFAULT 0, locked_until timestamptz)`);
  const auth = createAuth(db, {
    ...perAccount,
    useSecureCookies: false,
    schema: { user: people, twoFactor: twoFactors },
    // without better-auth's own lock, which would be reached first
    plugins: [twoFactor({ accountLockout: { enabled: false } })],
  });
  const { token } = await auth.api.signUpEmail({
    body: { name: "x", email: ADA, password: PASSWORD },
  });
  const headers = { authorization: `Bearer ${token}` };
  await call(auth, { path: "/two-factor/enable", headers, body: { password: PASSWORD } });
  await pglite.exec(
    "UPDATE people SET two_factor_enabled = true; UPDATE two_factors SET verified = true",
  );
  const statuses: number[] = [];
  for (let i = 0; i < 22; i++) {
    // each attempt has signed in anew: better-auth allows few codes for one sign-in
    const signedIn = await call(auth, { body: { email: ADA, password: PASSWORD } });
    const cookie = signedIn.cookies!.map((each) => each.split(";")[0]).join("; ");
    const code = String(100_000 + i);
    const origin = "https://api.example.com";
    const answer = await call(auth, {
      path: "/two-factor/verify-totp",
      headers: { cookie, origin },
      body: { code },
    });
    statuses.push(answer.statusCode);
  }
  assertEquals(count(statuses), { 401: 20, 429: 2 });
  await pglite.exec("DROP TABLE people; DROP TABLE two_factors");
});

Deno.test("wrong passwords with a stolen session are limited", async () => {
  const auth = createAuth(db, perAccount);
  await signUp(auth, ADA);
  const { body } = await call(auth, { body: { email: ADA, password: PASSWORD } });
  const headers = { authorization: `Bearer ${JSON.parse(body).token}` };
  const statuses: number[] = [];
  for (let i = 0; i < 30; i++) {
    const change = {
      currentPassword: `wrong ${i}`,
      newPassword: "another long password",
      email: `other${i}@example.com`,
    };
    statuses.push(
      (await call(auth, { path: "/change-password", headers, body: change })).statusCode,
    );
  }
  assertEquals(count(statuses), { 400: 20, 429: 10 });
});

Deno.test("invented bearer tokens add no rows to the table", async () => {
  const auth = createAuth(db, config);
  const from = "203.0.113.9";
  for (let at = 0; at < 3; at++) {
    const { statusCode } = await call(auth, {
      path: "/change-password",
      from,
      headers: { authorization: `Bearer invented-${at}` },
      body: { currentPassword: "wrong", newPassword: "another long password" },
    });
    assertEquals(statusCode, 401);
  }
  const { rows } = await pglite.query("select key from rate_limits");
  assertEquals(rows, [{ key: `route|/change-password|${from}` }]);
});

Deno.test("behind a CDN visitors are counted by their own addresses", async () => {
  const secret = "a-secret-of-the-cdn-0123";
  await withEnv({ ORIGIN_VERIFY_SECRET: secret }, async () => {
    const auth = createAuth(db, { ...config, clientAddress: "cloudfront-viewer-address" });
    const visit = async (viewer: string) => {
      const headers = {
        "x-origin-verify": secret,
        "cloudfront-viewer-address": `${viewer}:4321`,
        "x-forwarded-for": "1.2.3.4",
      };
      const body = { email: `${viewer}@example.com`, password: "x" };
      return (await call(auth, { from: "130.176.0.1", headers, body })).statusCode;
    };
    for (let i = 0; i < 4; i++) assertEquals(await visit("192.0.2.1"), i < 3 ? 401 : 429);
    assertEquals(await visit("192.0.2.2"), 401);
  });
});

Deno.test("a client cannot choose the address that it is counted by", async () => {
  const auth = createAuth(db, config);
  const { getClientAddressHeader } = await import(
    "../../auth/better_auth/client_address_header.ts"
  );
  const statuses: number[] = [];
  for (let i = 0; i < 6; i++) {
    const address = nextAddress();
    const headers = {
      "x-forwarded-for": address,
      "x-real-ip": address,
      "cf-connecting-ip": address,
      [getClientAddressHeader()]: address,
    };
    const body = { email: `u${i}@example.com`, password: "x" };
    statuses.push((await call(auth, { from: "203.0.113.1", headers, body })).statusCode);
  }
  assertEquals(count(statuses), { 401: 3, 429: 3 });
});

Deno.test("the route's own handler answers 429, too, and calls of the API are not limited", async () => {
  const auth = createAuth(db, config);
  await signUp(auth, ADA);
  const responses: Response[] = [];
  for (let i = 0; i < 4; i++) {
    responses.push(
      await auth.handler(
        new Request("https://api.example.com/api/auth/sign-in/email", {
          method: "POST",
          headers: { "content-type": "application/json", "x-forwarded-for": nextAddress() },
          body: JSON.stringify({ email: ADA, password: "wrong" }),
        }),
      ),
    );
  }
  assertEquals(responses.map(({ status }) => status), [401, 401, 401, 429]);
  assertEquals(responses[3].headers.get("ratelimit-policy"), '"address";q=3;w=3600');
  assertEquals((await responses[3].json()).code, "TOO_MANY_REQUESTS");
  for (let i = 0; i < 30; i++) {
    await auth.api.signInEmail({ body: { email: ADA, password: PASSWORD } });
  }
});

Deno.test("paths of any number share the rows of their route", async () => {
  const auth = createAuth(db, config);
  for (let i = 0; i < 20; i++) {
    await call(auth, { path: `/unknown-${i}`, from: "203.0.113.1", body: {} });
    await call(auth, { path: `/callback/${i}`, from: "203.0.113.1", body: {} });
  }
  const { rows } = await pglite.query<{ key: string }>("select key from rate_limits order by key");
  assertEquals(rows.map(({ key }) => key), [
    "route|/callback/:id|203.0.113.1",
    "route|unknown|203.0.113.1",
  ]);
});

Deno.test("a path that no route has is not counted as a route", async () => {
  const auth = createAuth(db, config);
  // counted as a route, such paths would restart its window, because their limit has a shorter one
  for (const path of ["/:x/email", "/sign-in/:x", "/:x", "//sign-in/email"]) {
    assertEquals((await call(auth, { path, body: {} })).statusCode, 404, path);
  }
  const { rows } = await pglite.query<{ key: string }>("select key from rate_limits");
  assertEquals([...new Set(rows.map(({ key }) => key.split("|")[1]))], ["unknown"]);
});

Deno.test("rows of the table show no email address", async () => {
  const auth = createAuth(db, config);
  await signIn(auth, ADA, "x");
  await call(auth, { path: "/request-password-reset", body: { email: ADA } });
  const { rows } = await pglite.query<{ key: string }>("select key from rate_limits");
  assertEquals(rows.length, 5);
  assert(rows.every(({ key }) => !key.includes("ada") && !key.includes("@")));
});

Deno.test("limits are off on a loopback address, and on when enabled there", async () => {
  const local = { ...config, baseURL: "http://localhost:3000" };
  for (let i = 0; i < 6; i++) {
    assertEquals(await signIn(createAuth(db, local), ADA, "x", "::1"), 401);
  }
  assertEquals(queries.filter((query) => query.includes("rate_limits")).length, 0);
  const limited = createAuth(db, { ...local, rateLimit: { ...config.rateLimit, enabled: true } });
  for (let i = 0; i < 4; i++) {
    assertEquals(await signIn(limited, ADA, "x", "::1"), i < 3 ? 401 : 429);
  }
});

Deno.test("a missing table is named at the first request, with what creates it", async () => {
  await pglite.exec("alter table rate_limits rename to other");
  try {
    const { lines, result } = await captureLogs(() =>
      call(createAuth(db, { ...config, appName: "no table" }), {
        body: { email: ADA, password: "x" },
      })
    );
    assertEquals([result.statusCode, JSON.parse(result.body).code], [500, "CONFIGURATION"]);
    const [{ error }] = lines.filter(({ level }) => level === "ERROR");
    assert(JSON.stringify(error).includes("The table rate_limits does not exist"));
    assert(JSON.stringify(error).includes("Run `trellis generate auth-schema`"));
  } finally {
    await pglite.exec("alter table other rename to rate_limits");
    setLogOutput(() => {});
  }
});

Deno.test("a session keeps the client's address", async () => {
  const auth = createAuth(db, config);
  await signUp(auth, ADA);
  await signIn(auth, ADA, PASSWORD, "203.0.113.7");
  const { rows } = await pglite.query<{ ip: string }>(
    "select ip_address as ip from sessions where ip_address <> ''",
  );
  assertEquals(rows, [{ ip: "203.0.113.7" }]);
});

Deno.test("removeExpiredAuthRows() removes limits that are older than a day", async () => {
  const auth = createAuth(db, config);
  await signIn(auth, ADA, "x");
  await pglite.exec("update rate_limits set last_request = last_request - 2 * 86400000");
  await signIn(auth, BOB, "x");
  assertEquals((await removeExpiredAuthRows(auth)).removed.rateLimit, 3);
  assertEquals((await pglite.query("select from rate_limits")).rows.length, 3);
});
