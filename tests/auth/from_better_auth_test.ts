import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { PGlite } from "@electric-sql/pglite";
import { betterAuth } from "better-auth";
import { drizzleAdapter } from "better-auth/adapters/drizzle";
import { boolean, pgTable, text, timestamp } from "drizzle-orm/pg-core";
import { drizzle } from "drizzle-orm/pglite";
import {
  type AuthConfig,
  configureSessionAuth,
  createAuth,
  resetSessionAuth,
  validateSession,
} from "../../auth/mod.ts";
import { RATE_LIMIT_MIGRATION_SQL } from "../../database/mod.ts";
import { createLambdaContext, createRestApiEvent } from "../../testing/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { loadEmptySnapshot } from "../../testing/embedded_snapshot.ts";
import { captureLogs } from "../support/capture_logs.ts";

/** An application that used better-auth with drizzle and its own tables, and moves. */
const SECRET = "Zr8vY2kQ0b7Xn4Wm1Tj6Lp3Hs9Dg5FcA-test";
const user = pgTable("user", {
  id: text("id").primaryKey(),
  name: text("name").notNull(),
  email: text("email").notNull().unique(),
  emailVerified: boolean("email_verified").default(false).notNull(),
  image: text("image"),
  createdAt: timestamp("created_at").defaultNow().notNull(),
  updatedAt: timestamp("updated_at").defaultNow().$onUpdate(() => new Date()).notNull(),
});
const session = pgTable("session", {
  id: text("id").primaryKey(),
  expiresAt: timestamp("expires_at").notNull(),
  token: text("token").notNull().unique(),
  createdAt: timestamp("created_at").defaultNow().notNull(),
  updatedAt: timestamp("updated_at").$onUpdate(() => new Date()).notNull(),
  ipAddress: text("ip_address"),
  userAgent: text("user_agent"),
  userId: text("user_id").notNull().references(() => user.id, { onDelete: "cascade" }),
});
const account = pgTable("account", {
  id: text("id").primaryKey(),
  accountId: text("account_id").notNull(),
  providerId: text("provider_id").notNull(),
  userId: text("user_id").notNull().references(() => user.id, { onDelete: "cascade" }),
  accessToken: text("access_token"),
  refreshToken: text("refresh_token"),
  idToken: text("id_token"),
  accessTokenExpiresAt: timestamp("access_token_expires_at"),
  refreshTokenExpiresAt: timestamp("refresh_token_expires_at"),
  scope: text("scope"),
  password: text("password"),
  createdAt: timestamp("created_at").defaultNow().notNull(),
  updatedAt: timestamp("updated_at").$onUpdate(() => new Date()).notNull(),
});
const verification = pgTable("verification", {
  id: text("id").primaryKey(),
  identifier: text("identifier").notNull(),
  value: text("value").notNull(),
  expiresAt: timestamp("expires_at").notNull(),
  createdAt: timestamp("created_at").defaultNow().notNull(),
  updatedAt: timestamp("updated_at").defaultNow().$onUpdate(() => new Date()).notNull(),
});
const schema = { user, session, account, verification };
const DDL = `
create table "user" (id text primary key, name text not null, email text not null unique, email_verified boolean not null default false, image text, created_at timestamp not null default now(), updated_at timestamp not null default now());
create table session (id text primary key, expires_at timestamp not null, token text not null unique, created_at timestamp not null default now(), updated_at timestamp not null, ip_address text, user_agent text, user_id text not null references "user"(id) on delete cascade);
create table account (id text primary key, account_id text not null, provider_id text not null, user_id text not null references "user"(id) on delete cascade, access_token text, refresh_token text, id_token text, access_token_expires_at timestamp, refresh_token_expires_at timestamp, scope text, password text, created_at timestamp not null default now(), updated_at timestamp not null);
create table verification (id text primary key, identifier text not null, value text not null, expires_at timestamp not null, created_at timestamp not null default now(), updated_at timestamp not null default now());`;

const BASE_URL = "https://api.example.com";
const WEEK_SECONDS = 604_800;
const CREDENTIALS = { email: "ada@example.com", password: "correct horse battery" };
const FORMER = { secret: SECRET, baseURL: BASE_URL, emailAndPassword: { enabled: true } };
const MOVED: AuthConfig = { ...FORMER, schema, session: { expiresIn: WEEK_SECONDS } };

function call(
  path: string,
  { cookie, body }: { cookie?: string; body?: unknown } = {},
): Request {
  return new Request(`${BASE_URL}/api/auth${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      origin: BASE_URL,
      "x-forwarded-for": "192.0.2.1",
      ...cookie !== undefined && { cookie },
      ...body !== undefined && { "content-type": "application/json" },
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
}

function readCookies(response: Response): string {
  return response.headers.getSetCookie().map((each) => each.split(";")[0]).join("; ");
}

const pglite = await PGlite.create({ loadDataDir: await loadEmptySnapshot("a test") });
globalThis.addEventListener("unload", () => void pglite.close());

/** Resets the database to one in which plain better-auth has signed a user up. */
async function openFormer() {
  await pglite.exec(`drop schema public cascade; create schema public; ${DDL}`);
  const db = drizzle({ client: pglite, schema });
  const former = betterAuth({
    ...FORMER,
    database: drizzleAdapter(db, { provider: "pg", schema }),
  });
  const signedUp = await former.handler(
    call("/sign-up/email", { body: { name: "Ada", ...CREDENTIALS } }),
  );
  assertEquals(signedUp.status, 200);
  const cookie = readCookies(signedUp);
  const { token }: { token: string } = await signedUp.json();
  async function readLengths(): Promise<number[]> {
    const rows = await db.select().from(session).orderBy(session.createdAt);
    return rows.map(({ createdAt, expiresAt }) =>
      Math.round((expiresAt.getTime() - createdAt.getTime()) / 1000)
    );
  }
  return { db, former, cookie, token, readLengths };
}

Deno.test("createAuth() serves sessions, cookies and passwords that plain better-auth has stored", async () => {
  const { db, former, cookie, token, readLengths } = await openFormer();
  await pglite.exec(RATE_LIMIT_MIGRATION_SQL);
  const auth = createAuth(db, MOVED);
  const before = await (await former.handler(call("/get-session", { cookie }))).json();
  const after = await auth.handler(call("/get-session", { cookie }));
  assertEquals([after.status, await after.json()], [200, before]);
  const valid = await validateSession(auth, token);
  assertEquals(
    [valid?.user.id, valid?.session.id, valid?.session.expiresAt.toISOString()],
    [before.user.id, before.session.id, before.session.expiresAt],
  );
  const signedIn = await auth.handler(call("/sign-in/email", { body: CREDENTIALS }));
  assertEquals(signedIn.status, 200);
  assertEquals((await signedIn.json()).user.id, before.user.id);
  assertEquals(await readLengths(), [WEEK_SECONDS, WEEK_SECONDS]);
  // the way back: better-auth accepts the new cookie
  const back = await former.handler(call("/get-session", { cookie: readCookies(signedIn) }));
  assertEquals((await back.json()).user.email, CREDENTIALS.email);
});

Deno.test("defineApiHandler() with auth session accepts the cookie and the token of plain better-auth", async () => {
  const { db, cookie, token } = await openFormer();
  configureSessionAuth(() => Promise.resolve(db), MOVED);
  const handler = defineApiHandler({
    auth: "session",
    logging: { level: "SILENT" },
    metrics: false,
  })(({ session }) => ({ statusCode: 200, body: session.user.email }));
  const headers: Record<string, string>[] = [
    { Cookie: cookie },
    { Authorization: `Bearer ${token}` },
  ];
  for (const each of headers) {
    const event = createRestApiEvent({ headers: each });
    const { statusCode, body } = await handler(event, createLambdaContext());
    assertEquals(statusCode, 200);
    assertStringIncludes(String(body), CREDENTIALS.email);
  }
  resetSessionAuth();
});

Deno.test("createAuth() extends sessions of plain better-auth to 30 days unless expiresIn is set", async () => {
  const { db, cookie, token, readLengths } = await openFormer();
  await pglite.exec(RATE_LIMIT_MIGRATION_SQL);
  const auth = createAuth(db, { ...FORMER, schema });
  await validateSession(auth, token);
  assertEquals(await readLengths(), [WEEK_SECONDS]);
  await auth.handler(call("/get-session", { cookie }));
  assertEquals(await readLengths(), [30 * 86_400]);
});

Deno.test("createAuth() signs up with a password unless emailAndPassword is off", async () => {
  const { db } = await openFormer();
  await pglite.exec(RATE_LIMIT_MIGRATION_SQL);
  const { emailAndPassword: _, ...social } = MOVED;
  const body = { name: "B", email: "b@example.com", password: "correct horse battery" };
  const off = createAuth(db, { ...social, emailAndPassword: { enabled: false } });
  assertEquals((await off.handler(call("/sign-up/email", { body }))).status, 400);
  assertEquals(
    (await createAuth(db, social).handler(call("/sign-up/email", { body }))).status,
    200,
  );
});

Deno.test("createAuth() without the table rate_limits answers auth.api, and names the command for routes", async () => {
  const { db, cookie } = await openFormer();
  const auth = createAuth(db, MOVED);
  const found = await auth.api.getSession({ headers: new Headers({ cookie }) });
  assertEquals(found?.user.email, CREDENTIALS.email);
  const { result, lines } = await captureLogs(() => auth.handler(call("/get-session", { cookie })));
  assertEquals(result.status, 500);
  assertStringIncludes(
    JSON.stringify(lines),
    "The table rate_limits does not exist: rate limits are counted in it. Run `trellis generate auth-schema`, and " +
      "apply the migration",
  );
  // no restart is needed
  await pglite.exec(RATE_LIMIT_MIGRATION_SQL);
  assertEquals((await auth.handler(call("/get-session", { cookie }))).status, 200);
});

Deno.test("createAuth() without limits in the database needs no table, and takes cookie names and ids as told", async () => {
  const { db } = await openFormer();
  const baseURL = "http://api.example.com";
  async function signIn(options: Partial<AuthConfig>) {
    const auth = createAuth(db, { ...MOVED, baseURL, ...options });
    const request = new Request(`${baseURL}/api/auth/sign-in/email`, {
      method: "POST",
      headers: { origin: baseURL, "content-type": "application/json" },
      body: JSON.stringify(CREDENTIALS),
    });
    const response = await auth.handler(request);
    assertEquals(response.status, 200);
    const rows = await db.select().from(session).orderBy(session.createdAt);
    const [name] = response.headers.getSetCookie()[0].split("=");
    return { name, id: rows.at(-1)!.id, hasToken: response.headers.has("set-auth-token") };
  }
  const { name, id, hasToken } = await signIn({ rateLimit: { enabled: false } });
  assertEquals([name, hasToken], ["__Secure-better-auth.session_token", true]);
  assertMatch(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
  const asBefore = await signIn({
    rateLimit: { enabled: true, storage: "memory" },
    useSecureCookies: false,
    advanced: { database: { generateId: () => "own id" } },
  });
  assertEquals([asBefore.name, asBefore.id], ["better-auth.session_token", "own id"]);
});
