// deno-lint-ignore-file no-console -- a test watches what the library prints
import {
  assert,
  assertEquals,
  assertFalse,
  assertMatch,
  assertNotEquals,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { drizzle } from "drizzle-orm/pglite";
import { pgTable, text, timestamp } from "drizzle-orm/pg-core";
import {
  AUTH_SESSION_COLUMNS,
  AUTH_USER_COLUMNS,
  type AuthConfig,
  createAuth,
  getAuth,
  resetAuth,
  type SocialProvidersConfig,
  validateSession,
} from "../../../auth/mod.ts";
import { ConfigurationError } from "../../../errors/mod.ts";
import { setLogOutput } from "../../../observability/mod.ts";
import { withEnv } from "../../support/with_env.ts";
import { openAuthDatabase, SECRET } from "../auth_database.ts";
import { isDrizzleOne } from "../../../database/session/drizzle_version.ts";

const config: AuthConfig = { secret: SECRET, baseURL: "http://localhost:3000" };
const ADA = { name: "Ada", email: "ada@example.com", password: "correct horse battery" };
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

// where NODE_ENV is "test" when it is loaded, better-auth leaves checks out, unless it is told otherwise
await withEnv({ NODE_ENV: "test" }, () => import("../../../auth/accounts/better_auth.ts"));

const { pglite, db, queries, reset } = await openAuthDatabase();
globalThis.addEventListener("unload", () => void pglite.close());

/** What was logged, and what was printed past the log, while a function ran. */
async function logged(run: () => Promise<unknown>): Promise<{ lines: string; printed: unknown[] }> {
  let lines = "";
  const printed: unknown[] = [];
  const restore = setLogOutput((text) => lines += text);
  const { error, warn, log } = console;
  console.error = console.warn = console.log = (...values: unknown[]) =>
    void printed.push(...values);
  try {
    await run();
  } finally {
    restore();
    Object.assign(console, { error, warn, log });
  }
  return { lines, printed };
}

Deno.test("createAuth() gives one instance for equal configurations and another for any difference", () => {
  const auth = createAuth(db, config);
  assertStrictEquals(createAuth(db, config), auth);
  assertStrictEquals(createAuth(db, { baseURL: config.baseURL, secret: SECRET }), auth);
  assertStrictEquals(
    createAuth(db, {
      ...config,
      sessionExpiresIn: 2_592_000,
      useSecureCookies: true,
      trustedOrigins: [],
    }),
    auth,
  );
  const google = { clientId: "a", clientSecret: "b" };
  const own = pgTable("people", AUTH_USER_COLUMNS);
  const others: AuthConfig[] = [
    { ...config, secret: `${SECRET}2` },
    { ...config, sessionExpiresIn: 60 },
    { ...config, socialProviders: { google } },
    { ...config, socialProviders: { google: { ...google, clientId: "c" } } },
    { ...config, schema: { user: own } },
    { ...config, schema: { user: pgTable("people", AUTH_USER_COLUMNS) } },
  ];
  const instances = new Set([auth, ...others.map((other) => createAuth(db, other))]);
  assertEquals(instances.size, 1 + others.length);
  assertStrictEquals(
    createAuth(db, { ...config, schema: { user: own } }),
    createAuth(db, others[4]),
  );
  assertStrictEquals(
    createAuth(db, { ...config, socialProviders: { idp_two: google } }),
    createAuth(db, others[2]),
  );
  assertStrictEquals(
    createAuth(db, { ...config, socialProviders: { github: google, google } }),
    createAuth(db, { ...config, socialProviders: { google, github: google } }),
  );
  assertNotEquals(createAuth(drizzle({ client: pglite }), config), auth);
});

Deno.test("createAuth() reads the configuration once", () => {
  const mine = {
    ...config,
    trustedOrigins: ["https://app.example.com"],
    emailAndPassword: { enabled: true, requireEmailVerification: true },
  };
  const auth = createAuth(db, mine);
  mine.trustedOrigins.push("https://evil.example.com");
  mine.secret = "";
  mine.emailAndPassword.requireEmailVerification = false;
  assertStrictEquals(createAuth(db, mine), auth);
  assertEquals(auth.options.trustedOrigins, ["https://app.example.com"]);
  assertEquals(auth.options.emailAndPassword!.requireEmailVerification, true);
  assertEquals(auth.options.secret, config.secret);
});

Deno.test("resetAuth() makes the next createAuth() give a fresh instance", () => {
  const auth = createAuth(db, config);
  resetAuth();
  assertFalse(createAuth(db, config) === auth);
});

Deno.test("getAuth() gives the same instance each time, and follows a client that was made again", async () => {
  let client: typeof db = db;
  const auth = await getAuth(() => Promise.resolve(client), config);
  assertStrictEquals(await getAuth(() => Promise.resolve(client), config), auth);
  assertStrictEquals(createAuth(db, config), auth);
  client = drizzle({ client: pglite }) as unknown as typeof db;
  assertStrictEquals(
    await getAuth(() => Promise.resolve(client), config),
    createAuth(client, config),
  );
});

Deno.test("getAuth() tries again after a failure", async () => {
  let calls = 0;
  const getDb = () =>
    ++calls === 1 ? Promise.reject(new Error("no route to host")) : Promise.resolve(db);
  await assertRejects(() => getAuth(getDb, config), Error, "no route to host");
  assertStrictEquals(await getAuth(getDb, config), createAuth(db, config));
});

const BAD: [name: string, change: object, message: string][] = [
  [
    "no secret",
    { secret: undefined },
    "AuthConfig.secret is missing: set it to at least 32 random characters",
  ],
  [
    "an empty secret",
    { secret: "" },
    "AuthConfig.secret is missing: set it to at least 32 random characters",
  ],
  ["no base URL", { baseURL: undefined }, "got undefined"],
  [
    "a base URL without a scheme",
    { baseURL: "api.example.com" },
    'such as "https://api.example.com", got "api.example.com"',
  ],
  ["a base URL of another scheme", { baseURL: "ftp://example.com" }, 'got "ftp://example.com"'],
  [
    "sessions that last no time",
    { sessionExpiresIn: 0 },
    "AuthConfig.sessionExpiresIn must be above 0 and at most 34560000 seconds, got 0",
  ],
  [
    "sessions of over 400 days",
    { sessionExpiresIn: 34_560_001 },
    "at most 34560000 seconds, got 34560001",
  ],
  ["an expiry that is no number", { sessionExpiresIn: NaN }, "got NaN"],
  [
    "an update age below 0",
    { sessionUpdateAge: -1 },
    "AuthConfig.sessionUpdateAge must be a number of seconds from 0, got -1",
  ],
  [
    "a schema without the keys",
    { schema: { users: {}, notes: {} } },
    "AuthConfig.schema has none of the keys user, session, account, verification; it has users, notes",
  ],
  [
    "a schema with something else than a table",
    { schema: { user: {} } },
    "AuthConfig.schema.user is not a drizzle table",
  ],
  [
    "a table without needed columns",
    { schema: { user: pgTable("u", { id: text("id"), email: text("email") }) } },
    "AuthConfig.schema.user lacks name, emailVerified, image, createdAt, updatedAt: spread AUTH_USER_COLUMNS into the table",
  ],
  [
    "a key that neither it nor better-auth has",
    { emailAndPasswords: { enabled: false } },
    "AuthConfig has no option emailAndPasswords: did you mean emailAndPassword? It has secret, baseURL, trustedOrigins,",
  ],
  [
    "one thing in two spellings",
    { sessionExpiresIn: 60, session: { expiresIn: 60 } },
    "AuthConfig.sessionExpiresIn and AuthConfig.session.expiresIn are both set: keep one",
  ],
  [
    "two paths",
    { baseURL: "https://api.example.com/auth", basePath: "/login" },
    'AuthConfig.baseURL has the path /auth and AuthConfig.basePath is "/login": keep one',
  ],
  [
    "additional fields without a column",
    { user: { additionalFields: { plan: { type: "string" } } } },
    "AuthConfig.user.additionalFields has plan, but the user table has no such column",
  ],
  [
    "names of columns that drizzle tables have already",
    { session: { fields: { token: "key" } } },
    "AuthConfig.session.modelName and .fields are not supported",
  ],
  [
    "sessions outside of the database",
    { secondaryStorage: { get() {}, set() {}, delete() {} } },
    "set AuthConfig.session.storeSessionInDatabase to true",
  ],
  ["plugins that are none", { plugins: {} }, "AuthConfig.plugins is {}: it must be a list of"],
  [
    "a misspelt key",
    { sessionExpiresin: 60 },
    "AuthConfig has no option sessionExpiresin: did you mean sessionExpiresIn?",
  ],
  [
    "trusted origins that are no list",
    { trustedOrigins: "https://app.example.com" },
    'AuthConfig.trustedOrigins is "https://app.example.com": it must be a list of origins',
  ],
  [
    "a flag that is a text",
    { useSecureCookies: "false" },
    'AuthConfig.useSecureCookies is "false": it must be true or false',
  ],
  [
    "a session's creation that is no Date",
    {
      schema: {
        session: pgTable("s", {
          ...AUTH_SESSION_COLUMNS,
          createdAt: timestamp("created_at", { mode: "string" }).notNull(),
        }),
      },
    },
    'AuthConfig.schema.session.createdAt must be a timestamp of drizzle\'s mode "date"',
  ],
  [
    "a session's end that is no Date",
    {
      schema: {
        session: pgTable("s", {
          ...AUTH_SESSION_COLUMNS,
          expiresAt: timestamp("expires_at", { mode: "string" }).notNull(),
        }),
      },
    },
    'AuthConfig.schema.session.expiresAt must be a timestamp of drizzle\'s mode "date"',
  ],
];

for (const [name, change, message] of BAD) {
  Deno.test(`createAuth() refuses ${name}`, () => {
    const error = assertThrows(
      () => createAuth(db, { ...config, ...change } as AuthConfig),
      ConfigurationError,
      message,
    );
    assertFalse(String(error).includes(SECRET));
  });
}

Deno.test("createAuth() refuses a configuration that is no object", () => {
  for (const given of [undefined, null, SECRET]) {
    const error = assertThrows(
      () => createAuth(db, given as unknown as AuthConfig),
      ConfigurationError,
      "AuthConfig",
    );
    assertFalse(error.message.includes(SECRET));
  }
});

const LOOPBACK = [
  "localhost",
  "localhost:3000",
  "app.localhost",
  "127.0.0.1:8080",
  "127.255.0.9",
  "[::1]:3000",
];
const NO_LOOPBACK = [
  "api.example.com",
  "localhost.example.com",
  "notlocalhost",
  "127.0.0.1.example.com",
  "128.0.0.1",
  "0.0.0.0",
  "192.168.0.1",
  "[::2]",
];

Deno.test("createAuth() refuses a secret below 32 characters, unless baseURL is a loopback address", () => {
  const short = SECRET.slice(0, 31);
  for (const host of LOOPBACK) createAuth(db, { secret: "x", baseURL: `http://${host}` });
  for (const host of NO_LOOPBACK) {
    const error = assertThrows(
      () => createAuth(db, { secret: short, baseURL: `https://${host}` }),
      ConfigurationError,
      "AuthConfig.secret is too short for",
    );
    assertFalse(error.message.includes(short));
    createAuth(db, { secret: SECRET.slice(0, 32), baseURL: `https://${host}` });
  }
});

Deno.test("createAuth() refuses what is no drizzle client", () => {
  for (const client of [undefined, null, {}, Promise.resolve(db)]) {
    assertThrows(
      () => createAuth(client as typeof db, config),
      ConfigurationError,
      "needs a drizzle client",
    );
  }
});

Deno.test("createAuth() does not show the secret when the instance is printed", () => {
  const auth = createAuth(db, config);
  assertFalse(
    Deno.inspect(auth, { depth: 9 }).includes(SECRET) || JSON.stringify(auth).includes(SECRET),
  );
  assertEquals(auth.options.secret, SECRET);
});

const P = { clientId: "id", clientSecret: "secret" };
const BAD_PROVIDERS: [SocialProvidersConfig, string][] = [
  [
    { idp_one: P, apple: P },
    "socialProviders.idp_one and socialProviders.apple are one provider: keep one",
  ],
  [
    { google: P, idp_two: P },
    "socialProviders.google and socialProviders.idp_two are one provider: keep one",
  ],
  [
    { idp_three: P, github: { ...P, enabled: false } },
    "socialProviders.idp_three and socialProviders.github are one provider",
  ],
  [
    { google: { ...P, clientId: "" } },
    "socialProviders.google.clientId is missing: set it, or set socialProviders.google.enabled to false",
  ],
  [
    { idp_three: { clientId: "id" } as typeof P },
    "socialProviders.idp_three.clientSecret is missing",
  ],
  [
    { google: { ...P, scope: ["email"] } as typeof P },
    "socialProviders.google has no option scope: it has clientId",
  ],
  [
    {
      custom: [{
        ...P,
        providerId: "okta",
        discoveryUrl: "https://x.test",
        options: { discoveryUrl: "https://x.test" },
      } as never],
    },
    "socialProviders.custom[0] has no option discoveryUrl",
  ],
  [{ custom: [{ ...P, providerId: "" }] }, "socialProviders.custom[0].providerId is missing"],
  [
    { custom: [{ ...P, providerId: "okta" }] },
    'socialProviders.custom[0].options of "okta" needs discoveryUrl, or authorizationUrl and tokenUrl',
  ],
  [
    {
      google: P,
      custom: [{ ...P, providerId: "google", options: { discoveryUrl: "https://x.test" } }],
    },
    'there is another provider with the id "google"',
  ],
];

for (const [socialProviders, message] of BAD_PROVIDERS) {
  Deno.test(`the api refuses providers before its first answer: ${message}`, async () => {
    await assertRejects(
      async () => await createAuth(db, { ...config, socialProviders }).api.ok(),
      ConfigurationError,
      message,
    );
  });
}

Deno.test("api.signInSocial() leads to the configured providers, under either name", async () => {
  await reset();
  const options = {
    authorizationUrl: "https://idp.example.com/authorize",
    tokenUrl: "https://idp.example.com/token",
    scopes: ["openid"],
  };
  const auth = createAuth(db, {
    ...config,
    socialProviders: {
      idp_one: { clientId: "apple-id", clientSecret: "s", appBundleIdentifier: "com.example.app" },
      idp_two: {
        clientId: "google-id",
        clientSecret: "s",
        appBundleIdentifier: "x",
        options: { prompt: "consent" },
      },
      github: { clientId: "github-id", clientSecret: "s" },
      discord: { clientId: "discord-id", clientSecret: "s" },
      microsoft: { clientId: "", clientSecret: "", enabled: false },
      custom: [{ providerId: "okta", clientId: "okta-id", clientSecret: "s", options }],
    },
  });
  assertEquals(auth.options.socialProviders?.apple, {
    clientId: "apple-id",
    clientSecret: "s",
    appBundleIdentifier: "com.example.app",
  } as never);
  assertEquals(
    auth.options.socialProviders?.google,
    { clientId: "google-id", clientSecret: "s", prompt: "consent" } as never,
  );
  const hosts: Record<string, string> = {
    apple: "https://appleid.apple.com/",
    google: "https://accounts.google.com/",
    github: "https://github.com/login/oauth/",
    discord: "https://discord.com/",
    okta: "https://idp.example.com/authorize",
  };
  for (const [provider, host] of Object.entries(hosts)) {
    const { url } = await auth.api.signInSocial({ body: { provider } });
    assert(url?.startsWith(host), `${provider}: ${url}`);
    assertEquals(new URL(url!).searchParams.get("client_id"), `${provider}-id`);
  }
  const error = await assertRejects(() =>
    auth.api.signInSocial({ body: { provider: "microsoft" } })
  );
  assertEquals((error as { statusCode?: number }).statusCode, 404);
});

Deno.test("api refuses a provider that better-auth does not have, and tries again at the next call", async () => {
  const message = "socialProviders has no option gogle: did you mean google?";
  for (const socialProviders of [{ gogle: P }, () => ({ gogle: P })]) {
    const auth = createAuth(db, { ...config, socialProviders });
    for (let i = 0; i < 2; i++) {
      await assertRejects(() => auth.api.ok(), ConfigurationError, message);
    }
  }
});

Deno.test("api signs up and in, and its tokens pass validateSession()", async () => {
  await reset();
  const auth = createAuth(db, config);
  const up = await auth.api.signUpEmail({ body: ADA, returnHeaders: true });
  assertMatch(up.response.user.id, UUID);
  const { user } = await validateSession(auth, up.response.token!);
  assertEquals(user, {
    id: up.response.user.id,
    email: ADA.email,
    name: "Ada",
    emailVerified: false,
  });
  const signed = up.headers.get("set-auth-token")!;
  assertEquals((await validateSession(auth, signed)).session.token, up.response.token);
  const cookies = up.headers.getSetCookie();
  assert(
    cookies.some((cookie) => /^__Secure-better-auth\.session_token=.*; Secure/.test(cookie)),
    String(cookies),
  );
  const raw = cookies[0].split(";")[0].split("=").slice(1).join("=");
  assertEquals((await validateSession(auth, raw)).session.token, up.response.token);
  const back = await auth.api.signInEmail({ body: ADA });
  assertNotEquals(back.token, up.response.token);
  const again = await assertRejects(() => auth.api.signUpEmail({ body: ADA }));
  assertEquals((again as { statusCode?: number }).statusCode, 422);
  const wrong = await assertRejects(() =>
    auth.api.signInEmail({ body: { ...ADA, password: "wrong horse" } })
  );
  assertEquals((wrong as { statusCode?: number }).statusCode, 401);
});

Deno.test("api.signUpEmail() leaves nothing behind when it fails half way", async () => {
  await reset();
  await pglite.exec("ALTER TABLE accounts ADD CONSTRAINT closed CHECK (false) NOT VALID");
  try {
    const failing = () =>
      assertRejects(() => createAuth(db, config).api.signUpEmail({ body: ADA }));
    const { lines, printed } = await logged(failing);
    assertEquals(printed, []);
    assertFalse(lines.includes(ADA.email) || lines.includes("insert into"), lines);
    const { rows } = await pglite.query("SELECT * FROM users");
    assertEquals(rows, []);
  } finally {
    await pglite.exec("ALTER TABLE accounts DROP CONSTRAINT closed");
  }
});

Deno.test("api logs the library's lines with the cause and without SQL, tokens and addresses", async () => {
  await reset();
  const auth = createAuth(db, config);
  const { token } = await auth.api.signUpEmail({ body: ADA });
  await pglite.exec("ALTER TABLE sessions RENAME TO away");
  try {
    const { lines, printed } = await logged(async () => {
      const headers = new Headers({ authorization: `Bearer ${token}` });
      await assertRejects(() => auth.api.getSession({ headers }));
      await assertRejects(() =>
        auth.api.signInEmail({ body: { ...ADA, email: "nobody@example.com" } })
      );
    });
    assertMatch(lines, /"level":"ERROR","message":"\[better-auth\] INTERNAL_SERVER_ERROR".*42P01/);
    assertMatch(lines, /"level":"WARN","message":"\[better-auth\] User not found"/);
    assertFalse(lines.includes(token!) || /select|nobody@|correct horse/.test(lines), lines);
    assertEquals(printed, []);
  } finally {
    await pglite.exec("ALTER TABLE away RENAME TO sessions");
  }
});

Deno.test("databaseGenerateId leaves ids to the columns' defaults", async () => {
  await reset();
  await pglite.exec(
    "ALTER TABLE users ALTER COLUMN id SET DEFAULT '00000000-0000-4000-8000-000000000001'",
  );
  try {
    const { user } = await createAuth(db, { ...config, databaseGenerateId: true }).api.signUpEmail({
      body: ADA,
    });
    assertEquals(user.id, "00000000-0000-4000-8000-000000000001");
  } finally {
    await pglite.exec("ALTER TABLE users ALTER COLUMN id SET DEFAULT gen_random_uuid()");
  }
});

Deno.test("useSecureCookies false gives cookies for plain HTTP", async () => {
  await reset();
  const auth = createAuth(db, { ...config, useSecureCookies: false });
  const { headers } = await auth.api.signUpEmail({ body: ADA, returnHeaders: true });
  assertMatch(headers.getSetCookie()[0], /^better-auth\.session_token=/);
  assertFalse(headers.getSetCookie()[0].includes("Secure"));
});

Deno.test("encryptOAuthTokens reaches the library, and is off unless told", () => {
  assertEquals(createAuth(db, config).options.account?.encryptOAuthTokens, false);
  assertEquals(
    createAuth(db, { ...config, encryptOAuthTokens: true }).options.account?.encryptOAuthTokens,
    true,
  );
});

Deno.test("experimentalJoins reads a session with its user in one query", {
  ignore: isDrizzleOne,
}, async () => {
  await reset();
  const joined = createAuth(db, { ...config, experimentalJoins: true });
  const { token } = await joined.api.signUpEmail({ body: ADA });
  const headers = new Headers({ authorization: `Bearer ${token}` });
  queries.length = 0;
  assertEquals((await joined.api.getSession({ headers }))?.user.email, ADA.email);
  assertEquals(queries.length, 1);
  assertEquals((await joined.api.signInEmail({ body: ADA })).user.email, ADA.email);
  queries.length = 0;
  await createAuth(db, config).api.getSession({ headers });
  assertEquals(queries.length, 2);
});

Deno.test("experimentalJoins without relations is refused: sessions would be read without their users", async () => {
  const auth = createAuth(drizzle({ client: pglite }), { ...config, experimentalJoins: true });
  await assertRejects(
    () => auth.api.ok(),
    ConfigurationError,
    isDrizzleOne
      ? "experimentalJoins needs the relations of drizzle-orm 0.45"
      : "experimentalJoins needs the user table and its drizzle relation",
  );
});

Deno.test("api refuses a secret from the environment that overrides the configured one", async () => {
  const auth = createAuth(db, { ...config, secret: `${SECRET}-env` });
  await withEnv(
    { BETTER_AUTH_SECRETS: `1:${"x".repeat(40)}` },
    () =>
      assertRejects(
        () => auth.api.ok(),
        ConfigurationError,
        "BETTER_AUTH_SECRETS overrides AuthConfig.secret",
      ),
  );
  assertEquals(await auth.api.ok(), { ok: true });
});

Deno.test("api starts the library once for callers at the same time", async () => {
  resetAuth();
  const auth = createAuth(db, config);
  let starts = 0;
  const { options } = auth;
  // the library asks for this option once when it starts
  const get = () => (starts++, "http://localhost:3000");
  Object.defineProperty(options, "baseURL", { get, enumerable: true, configurable: true });
  await auth.api.ok();
  const once = starts;
  resetAuth();
  const second = createAuth(db, config);
  Object.defineProperty(second.options, "baseURL", { get, enumerable: true, configurable: true });
  starts = 0;
  await Promise.all([
    second.api.ok(),
    second.api.ok(),
    second.handler(new Request("http://localhost:3000/api/auth/ok")),
  ]);
  assertEquals(starts, once);
});

Deno.test("api rejects an endpoint that there is not, and is no promise itself", async () => {
  const { api } = createAuth(db, config);
  const lookup = api as unknown as Record<string, () => Promise<unknown>>;
  await assertRejects(
    () => lookup.signUpFax(),
    TypeError,
    'better-auth has no endpoint "signUpFax"',
  );
  assertEquals(
    [lookup.then, String(lookup), JSON.stringify(lookup)],
    [undefined, "[object Object]", "{}"] as never,
  );
});

Deno.test("handler refuses a foreign origin, also where NODE_ENV is test", async () => {
  await reset();
  const auth = createAuth(db, { ...config, trustedOrigins: ["https://app.example.com"] });
  const signIn = (origin: string) =>
    auth.handler(
      new Request("http://localhost:3000/api/auth/sign-in/email", {
        method: "POST",
        headers: { "content-type": "application/json", origin, cookie: "a=b" },
        body: JSON.stringify(ADA),
      }),
    );
  const { lines, printed } = await logged(async () => {
    assertEquals((await signIn("https://evil.example.com")).status, 403);
    assertEquals((await signIn("https://app.example.com")).status, 401); // trusted, but nobody signed up
  });
  assertFalse(lines.includes(ADA.email) || lines.includes(ADA.password), lines);
  assertEquals(printed, []);
});

Deno.test("handler answers 500 and logs the cause without SQL when the database fails", async () => {
  const auth = createAuth(drizzle({ client: pglite }), { ...config, sessionUpdateAge: 3 });
  await pglite.exec("ALTER TABLE users RENAME TO away");
  try {
    let response: Response | undefined;
    const { lines, printed } = await logged(async () => {
      response = await auth.handler(
        new Request("http://localhost:3000/api/auth/sign-in/email", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(ADA),
        }),
      );
    });
    assertEquals(response?.status, 500);
    assertEquals(await response?.json(), { message: "Internal Server Error", code: "UNEXPECTED" });
    assertMatch(lines, /42P01/);
    assertFalse(/select|ada@example\.com|correct horse/.test(lines), lines);
    assertEquals(printed, []);
  } finally {
    await pglite.exec("ALTER TABLE away RENAME TO users");
  }
});
