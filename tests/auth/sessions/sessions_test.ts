import {
  assert,
  assertEquals,
  assertFalse,
  assertInstanceOf,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import { boolean, pgTable, text, timestamp } from "drizzle-orm/pg-core";
import { drizzle } from "drizzle-orm/pglite";
import { createHmac } from "node:crypto";
import {
  AUTH_SESSION_COLUMNS,
  AUTH_USER_COLUMNS,
  type AuthConfig,
  createAuth,
  expireSession,
  getSessionExpirationISO,
  refreshSession,
  validateSession,
  validateSessionFromHeader,
} from "../../../auth/mod.ts";
import type { PlainSql } from "../../../database/session/plain_sql.ts";
import { describeError } from "../../../observability/describe_error.ts";
import { ConfigurationError, DatabaseError, UnauthorizedError } from "../../../errors/mod.ts";
import { isSessionActive } from "../../../auth/sessions/sessions.ts";
import { atTime, openAuthDatabase, SECRET } from "../auth_database.ts";

const NOW = Date.UTC(2030, 4, 6, 7, 8, 9, 123);
const USER = "0b9f2c1e-6a54-4c53-9a57-0d6f2b3c4d5e";
const SESSION = "7d3f0a52-0c0b-4b6e-8f3a-1e2d3c4b5a69";
const TOKEN = "hK3vT9xQ2mW8rB5nY7cJ4pL6sD1fG0aZ";
const config: AuthConfig = { secret: SECRET, baseURL: "http://localhost:3000" };
const DAY_MS = 86_400_000;
const INVALID = "The session is invalid or has expired";

const { pglite, db, queries, reset } = await openAuthDatabase();
globalThis.addEventListener("unload", () => void pglite.close());

async function seed(expiresAtMs = NOW + 30 * DAY_MS): Promise<void> {
  await reset();
  await pglite.query("INSERT INTO users (id, name, email) VALUES ($1, 'Ada', 'ada@example.com')", [
    USER,
  ]);
  await pglite.query(
    "INSERT INTO sessions (id, expires_at, token, user_id) VALUES ($1, $2, $3, $4)",
    [
      SESSION,
      new Date(expiresAtMs).toISOString(),
      TOKEN,
      USER,
    ],
  );
}

async function storedEnd(): Promise<number | undefined> {
  const { rows } = await pglite.query<{ expires_at: Date }>("SELECT expires_at FROM sessions");
  return rows[0]?.expires_at.getTime();
}

/** Returns a view of the client that runs something in place of updates. */
function onUpdate(run: (update: () => Promise<unknown>) => Promise<unknown>): typeof db {
  const execute: typeof db.execute = (query) => {
    const send = () => db.execute(query) as unknown as Promise<unknown>;
    const { text } = query as unknown as PlainSql;
    return (text.startsWith("update") ? run(send) : send()) as never;
  };
  return new Proxy(db, {
    get: (target, name) => name === "execute" ? execute : Reflect.get(target, name),
  });
}

Deno.test("validateSession() sends one query when the session is not due", async () => {
  await seed();
  const auth = createAuth(db, config);
  const result = await atTime(NOW, () => validateSession(auth, TOKEN));
  assertEquals(result, {
    user: { id: USER, email: "ada@example.com", name: "Ada", emailVerified: false },
    session: { id: SESSION, token: TOKEN, expiresAt: new Date(NOW + 30 * DAY_MS) },
  });
  assertEquals(queries.length, 1);
});

Deno.test("validateSession() extends by 30 days after 24 hours unless told", async () => {
  const auth = createAuth(db, config);
  await seed(NOW + 29 * DAY_MS + 1);
  assertEquals(
    (await atTime(NOW, () => validateSession(auth, TOKEN))).session.expiresAt.getTime(),
    NOW + 29 * DAY_MS + 1,
  );
  await seed(NOW + 29 * DAY_MS);
  assertEquals(
    (await atTime(NOW, () => validateSession(auth, TOKEN))).session.expiresAt.getTime(),
    NOW + 30 * DAY_MS,
  );
  assertEquals(await storedEnd(), NOW + 30 * DAY_MS);
  assertEquals(queries.length, 2);
});

Deno.test("validateSession() and expireSession() refuse a missing, an unknown and a malformed token, and one at its end", async () => {
  await seed(NOW);
  const auth = createAuth(db, config);
  const checks: ((...args: Parameters<typeof expireSession>) => Promise<unknown>)[] = [
    validateSession,
    expireSession,
  ];
  for (const check of checks) {
    for (const token of [TOKEN, "unknown"]) {
      await assertRejects(
        () => atTime<unknown>(NOW, () => check(auth, token, db)),
        UnauthorizedError,
        INVALID,
      );
    }
    // the database is not asked about what cannot be a token
    queries.length = 0;
    for (const token of [`${TOKEN}\0`, "a b", `${TOKEN}.x`, `${TOKEN}.${"A".repeat(43)}=`]) {
      await assertRejects(
        () => atTime<unknown>(NOW, () => check(auth, token, db)),
        UnauthorizedError,
        INVALID,
      );
    }
    for (const token of ["", undefined as unknown as string]) {
      await assertRejects(
        () => check(auth, token, db),
        UnauthorizedError,
        "The session token is missing",
      );
    }
    assertEquals(queries, []);
  }
  assertEquals((await atTime(NOW - 1, () => validateSession(auth, TOKEN))).session.id, SESSION);
});

Deno.test("validateSession() takes the signed token", async () => {
  await seed();
  const signature = createHmac("sha256", SECRET).update(TOKEN).digest("base64");
  const auth = createAuth(db, config);
  const { session } = await atTime(NOW, () => validateSession(auth, `${TOKEN}.${signature}`));
  assertEquals([session.id, session.token], [SESSION, TOKEN]);
});

Deno.test("validateSession() and expireSession() name the query that the database refused", async () => {
  await seed(NOW + 1000);
  const refusal = Object.assign(new Error("permission denied"), {
    code: "42501",
    severity: "ERROR",
  });
  const broken = onUpdate(() => Promise.reject(refusal));
  const auth = createAuth(broken, config);
  const extended = await assertRejects(
    () => atTime(NOW, () => validateSession(auth, TOKEN)),
    DatabaseError,
  );
  assertEquals(extended.message, "Query extendSession failed with SQLSTATE 42501");
  const expired = await assertRejects(
    () => atTime(NOW, () => expireSession(auth, TOKEN, broken)),
    DatabaseError,
  );
  assertEquals(expired.message, "Query expireSession failed with SQLSTATE 42501");
});

Deno.test("validateSession() gives the user's picture, and leaves out what is not set", async () => {
  const auth = createAuth(db, config);
  await seed();
  await pglite.query("UPDATE users SET image = 'https://example.com/a.png', email_verified = true");
  assertEquals((await atTime(NOW, () => validateSession(auth, TOKEN))).user, {
    id: USER,
    email: "ada@example.com",
    name: "Ada",
    image: "https://example.com/a.png",
    emailVerified: true,
  });
});

Deno.test("validateSession() extends by the times that createAuth was given, and notes when", async () => {
  const auth = createAuth(db, { ...config, sessionExpiresIn: 600, sessionUpdateAge: 60 });
  for (const [leftMs, expectedMs] of [[540_001, 540_001], [540_000, 600_000], [1, 600_000]]) {
    await seed(NOW + leftMs);
    const { session } = await atTime(NOW, () => validateSession(auth, TOKEN));
    assertEquals([session.expiresAt.getTime(), await storedEnd()], [
      NOW + expectedMs,
      NOW + expectedMs,
    ]);
    const { rows } = await pglite.query<{ updated_at: Date }>("SELECT updated_at FROM sessions");
    assertEquals(rows[0].updated_at.getTime() === NOW, expectedMs === 600_000);
  }
});

Deno.test("validateSession() extends no other session", async () => {
  await seed(NOW + 1000);
  const end = new Date(NOW + 1000).toISOString();
  await pglite.query(
    "INSERT INTO sessions (id, expires_at, token, user_id) VALUES ($1, $2, 'other', $3)",
    [
      crypto.randomUUID(),
      end,
      USER,
    ],
  );
  await atTime(NOW, () => validateSession(createAuth(db, config), TOKEN));
  const { rows } = await pglite.query<{ expires_at: Date }>(
    "SELECT expires_at FROM sessions WHERE token = 'other'",
  );
  assertEquals(rows[0].expires_at.toISOString(), end);
});

Deno.test("validateSession() does not bring a session back that was ended while it was being extended", async () => {
  await seed(NOW + 1000);
  const racing = onUpdate(async (update) => {
    // by a clock that is a little ahead, so that the end is not past yet where the session is extended
    const ahead = new Date(NOW + 5).toISOString();
    await pglite.query("UPDATE sessions SET expires_at = $1", [ahead]);
    return await update();
  });
  const auth = createAuth(racing, config);
  assertEquals(
    (await atTime(NOW, () => validateSession(auth, TOKEN))).session.expiresAt.getTime(),
    NOW + 5,
  );
  assertEquals(await storedEnd(), NOW + 5);
});

Deno.test("validateSession() extends a session whose end has microseconds", async () => {
  await seed();
  await pglite.query("UPDATE sessions SET expires_at = $1", ["2030-05-07T07:08:09.123987Z"]);
  const { session } = await atTime(NOW, () => validateSession(createAuth(db, config), TOKEN));
  assertEquals([session.expiresAt.getTime(), await storedEnd()], [
    NOW + 30 * DAY_MS,
    NOW + 30 * DAY_MS,
  ]);
});

Deno.test("validateSession() reads tables of one's own: other names, more columns, text ids", async () => {
  const members = pgTable("members", {
    ...AUTH_USER_COLUMNS,
    id: text("member_key").primaryKey(),
    email: text("mail").notNull(),
    emailVerified: boolean("mail_ok").notNull().default(false),
    name: text("nick"),
    plan: text("plan").notNull().default("free"),
  });
  const visits = pgTable("visits", {
    ...AUTH_SESSION_COLUMNS,
    id: text("visit_key").primaryKey(),
    userId: text("member_key").notNull(),
    expiresAt: timestamp("ends", { withTimezone: true }).notNull(),
  });
  await pglite.exec(`
    CREATE TABLE members (member_key text PRIMARY KEY, mail text NOT NULL, mail_ok boolean NOT NULL DEFAULT false, nick text,
      image text, plan text NOT NULL DEFAULT 'free', created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now());
    CREATE TABLE visits (visit_key text PRIMARY KEY, member_key text NOT NULL, ends timestamptz NOT NULL, token text UNIQUE NOT NULL,
      ip_address text, user_agent text, created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now());
    INSERT INTO members (member_key, mail) VALUES ('m-1', 'bo@example.com');
    INSERT INTO visits (visit_key, member_key, ends, token) VALUES ('v-1', 'm-1', '${
    new Date(NOW + 1000).toISOString()
  }', 'token-1')`);
  try {
    const auth = createAuth(db, { ...config, schema: { user: members, session: visits } });
    const { user, session } = await atTime(NOW, () => validateSession(auth, "token-1"));
    assertEquals<unknown>(user, {
      id: "m-1",
      email: "bo@example.com",
      emailVerified: false,
      plan: "free",
    });
    assertEquals(session, { id: "v-1", token: "token-1", expiresAt: new Date(NOW + 30 * DAY_MS) });
    await atTime(NOW, () => expireSession(auth, "token-1", db));
    await assertRejects(
      () => atTime(NOW, () => validateSession(auth, "token-1")),
      UnauthorizedError,
      INVALID,
    );
  } finally {
    await pglite.exec("DROP TABLE members; DROP TABLE visits");
  }
});

Deno.test("validateSession() throws DatabaseError without the token when the database fails", async () => {
  const broken = drizzle({ client: pglite, schema: {} });
  const auth = createAuth(broken, config);
  await pglite.exec("ALTER TABLE sessions RENAME TO away");
  try {
    const error = await assertRejects(() => validateSession(auth, TOKEN), DatabaseError);
    assertInstanceOf(error, DatabaseError);
    assertEquals([error.code, error.sqlState, error.message], [
      "DATABASE",
      "42P01",
      "Query findSession failed with SQLSTATE 42P01",
    ]);
    assertFalse(JSON.stringify(describeError(error)).includes(TOKEN));
  } finally {
    await pglite.exec("ALTER TABLE away RENAME TO sessions");
  }
});

Deno.test("validateSession() refuses what createAuth did not make", async () => {
  const foreign = { api: {}, handler: () => Promise.resolve(new Response()), options: {} } as never;
  await assertRejects(
    () => validateSession(foreign, TOKEN),
    ConfigurationError,
    "make it with createAuth",
  );
});

Deno.test("validateSessionFromHeader() takes the scheme in any case and nothing but one token", async () => {
  await seed();
  const auth = createAuth(db, config);
  const check = (header: string | null | undefined) =>
    atTime(NOW, () => validateSessionFromHeader(auth, header));
  for (const header of [`Bearer ${TOKEN}`, `bearer ${TOKEN}`, `BEARER   ${TOKEN}`]) {
    assertEquals((await check(header)).session.id, SESSION);
  }
  queries.length = 0;
  const malformed = [
    undefined,
    null,
    "",
    "Bearer",
    "Bearer ",
    TOKEN,
    `Basic ${TOKEN}`,
    `Bearer${TOKEN}`,
    `Bearer\t${TOKEN}`,
    `Bearer\u00a0${TOKEN}`,
    ` Bearer ${TOKEN}`,
    `Bearer ${TOKEN} `,
    `Bearer ${TOKEN}\n`,
    `Bearer ${TOKEN}, Bearer ${TOKEN}`,
    `Bearer ${TOKEN} ${TOKEN}`,
    `Bearer "${TOKEN}"`,
  ];
  for (const header of malformed) {
    await assertRejects(
      () => check(header),
      UnauthorizedError,
      "The Authorization header must be: Bearer <token>",
    );
  }
  assertEquals(queries, []);
});

Deno.test("isSessionActive() tells an active session from others, and a failure from both", async () => {
  await seed();
  const auth = createAuth(db, config);
  assertEquals(await atTime(NOW, () => isSessionActive(auth, TOKEN)), true);
  assertEquals(await atTime(NOW, () => isSessionActive(auth, "another token")), false);
  assertEquals(await atTime(NOW + 31 * DAY_MS, () => isSessionActive(auth, TOKEN)), false);
  await pglite.exec("ALTER TABLE sessions RENAME TO away");
  try {
    await assertRejects(() => atTime(NOW, () => isSessionActive(auth, TOKEN)), DatabaseError);
  } finally {
    await pglite.exec("ALTER TABLE away RENAME TO sessions");
  }
});

Deno.test("expireSession() ends a session now and keeps its row", async () => {
  await seed();
  const auth = createAuth(db, config);
  await atTime(NOW, () => expireSession(auth, TOKEN, db));
  assertEquals(await storedEnd(), NOW);
  assertEquals(queries.length, 1);
  await assertRejects(
    () => atTime(NOW, () => validateSession(auth, TOKEN)),
    UnauthorizedError,
    INVALID,
  );
});

Deno.test("expireSession() refuses an ended, an unknown and a malformed token, and changes nothing", async () => {
  await seed(NOW);
  const auth = createAuth(db, config);
  for (const token of [TOKEN, "unknown", `${TOKEN}\0`, `${TOKEN}.x`]) {
    await assertRejects(
      () => atTime(NOW, () => expireSession(auth, token, db)),
      UnauthorizedError,
      INVALID,
    );
  }
  await assertRejects(
    () => expireSession(auth, "", db),
    UnauthorizedError,
    "The session token is missing",
  );
  assertEquals(await storedEnd(), NOW);
});

Deno.test("expireSession() takes the signed token", async () => {
  await seed();
  const signature = createHmac("sha256", SECRET).update(TOKEN).digest("base64");
  await atTime(NOW, () => expireSession(createAuth(db, config), `${TOKEN}.${signature}`, db));
  assertEquals(await storedEnd(), NOW);
});

Deno.test("expireSession() writes with the client that it is given, such as a transaction", async () => {
  await seed();
  const auth = createAuth(db, config);
  await assertRejects(() =>
    db.transaction(async (transaction) => {
      await expireSession(auth, TOKEN, transaction);
      throw new Error("roll back");
    })
  );
  assertEquals(await storedEnd(), NOW + 30 * DAY_MS);
});

Deno.test("refreshSession() does what validateSession() does", async () => {
  await seed(NOW + 1000);
  const { session } = await atTime(NOW, () => refreshSession(createAuth(db, config), TOKEN));
  assertEquals(session.expiresAt.getTime(), NOW + 30 * DAY_MS);
});

Deno.test("getSessionExpirationISO() gives the end in UTC", async () => {
  await seed();
  const result = await atTime(NOW, () => validateSession(createAuth(db, config), TOKEN));
  assertStrictEquals(getSessionExpirationISO(result), "2030-06-05T07:08:09.123Z");
  assert(result.session.expiresAt instanceof Date);
});
