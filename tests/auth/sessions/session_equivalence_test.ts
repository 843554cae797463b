import { assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { createHmac } from "node:crypto";
import { createAuth, resetAuth, type SessionResult, validateSession } from "../../../auth/mod.ts";
import { isAppError, UnauthorizedError } from "../../../errors/mod.ts";
import { atTime, openAuthDatabase, SECRET } from "../auth_database.ts";
import { testSeed } from "../../support/seed.ts";

const NOW = Date.UTC(2030, 4, 6, 7, 8, 9, 123);
const USER = "0b9f2c1e-6a54-4c53-9a57-0d6f2b3c4d5e";
const SESSION = "7d3f0a52-0c0b-4b6e-8f3a-1e2d3c4b5a69";
const TOKEN = "hK3vT9xQ2mW8rB5nY7cJ4pL6sD1fG0aZ";
const EXPIRES_IN = 3600;
const UPDATE_AGE = 600;

const { pglite, db, reset } = await openAuthDatabase();
globalThis.addEventListener("unload", () => void pglite.close());

interface Case {
  /** Milliseconds from now to the end of the stored session. */
  expiresInMs?: number;
  user?: boolean;
  nullable?: boolean;
  expiresIn?: number;
  updateAge?: number;
}

const config = (options: Case) => ({
  secret: SECRET,
  baseURL: "http://localhost:3000",
  sessionExpiresIn: options.expiresIn ?? EXPIRES_IN,
  sessionUpdateAge: options.updateAge ?? UPDATE_AGE,
});

async function seed(
  { expiresInMs = EXPIRES_IN * 1000, user = true, nullable = false }: Case,
): Promise<void> {
  await reset();
  const before = new Date(NOW - 86_400_000).toISOString();
  if (user) {
    await pglite.query(
      "INSERT INTO users (id, name, email, email_verified, image, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $6)",
      [
        USER,
        "Ada",
        "ada@example.com",
        true,
        nullable ? null : "https://example.com/ada.png",
        before,
      ],
    );
  }
  await pglite.query(
    "INSERT INTO sessions (id, expires_at, token, created_at, updated_at, ip_address, user_agent, user_id) VALUES ($1, $2, $3, $4, $4, $5, $6, $7)",
    [
      SESSION,
      new Date(NOW + expiresInMs).toISOString(),
      TOKEN,
      before,
      "203.0.113.7",
      "test",
      USER,
    ],
  );
}

async function rows(): Promise<unknown> {
  const users = await pglite.query("SELECT * FROM users");
  const sessions = await pglite.query("SELECT * FROM sessions");
  return { users: users.rows, sessions: sessions.rows };
}

type Outcome = { session: SessionResult | "refused"; rows: unknown };

/** What better-auth makes of it, in the form of ours. */
async function theirs(token: string, options: Case): Promise<Outcome> {
  await seed(options);
  const authorization = `Bearer ${token}`;
  const auth = createAuth(db, config(options));
  const found = await atTime(
    NOW,
    () => auth.api.getSession({ headers: new Headers({ authorization }) }),
  );
  if (found === null) return { session: "refused", rows: await rows() };
  const { id, email, name, image, emailVerified } = found.user;
  return {
    session: {
      user: { id, email, name, ...(image && { image }), emailVerified },
      session: {
        id: found.session.id,
        token: found.session.token,
        expiresAt: found.session.expiresAt,
      },
    },
    rows: await rows(),
  };
}

async function refusing(check: () => Promise<SessionResult>): Promise<SessionResult | "refused"> {
  try {
    return await atTime(NOW, check);
  } catch (error) {
    if (isAppError(error, "UNAUTHORIZED")) return "refused";
    throw error;
  }
}

async function ours(token: string, options: Case): Promise<Outcome> {
  await seed(options);
  const auth = createAuth(db, config(options));
  const session = await refusing(() => validateSession(auth, token));
  return { session, rows: await rows() };
}

function sign(token: string, secret = SECRET): string {
  return `${token}.${createHmac("sha256", secret).update(token).digest("base64")}`;
}

const signed = sign(TOKEN);
const DUE_MS = (EXPIRES_IN - UPDATE_AGE) * 1000;

const SAME: [
  name: string,
  token: string,
  options: Case,
  expected: "fresh" | "extended" | "refused",
][] = [
  ["a fresh session", TOKEN, {}, "fresh"],
  ["a user without a picture", TOKEN, { nullable: true }, "fresh"],
  ["a session one millisecond before it is due", TOKEN, { expiresInMs: DUE_MS + 1 }, "fresh"],
  ["a session that is due this millisecond", TOKEN, { expiresInMs: DUE_MS }, "extended"],
  ["a session to be extended", TOKEN, { expiresInMs: 60_000 }, "extended"],
  ["a session in its last millisecond", TOKEN, { expiresInMs: 1 }, "extended"],
  ["an update age of zero", TOKEN, { updateAge: 0 }, "extended"],
  [
    "an update age longer than the session",
    TOKEN,
    { updateAge: 2 * EXPIRES_IN, expiresInMs: 1 },
    "fresh",
  ],
  [
    "a session that lasts longer than the setting",
    TOKEN,
    { expiresInMs: 10 * EXPIRES_IN * 1000 },
    "fresh",
  ],
  ["an unknown token", TOKEN.replace("h", "i"), {}, "refused"],
  ["a token in another case", TOKEN.toLowerCase(), {}, "refused"],
  ["a shorter token", TOKEN.slice(0, -1), {}, "refused"],
  ["a longer token", `${TOKEN}A`, {}, "refused"],
  ["a very long token", TOKEN.repeat(200), {}, "refused"],
  ["a deleted user", TOKEN, { user: false }, "refused"],
  ["a deleted user's session that is due", TOKEN, { user: false, expiresInMs: 1 }, "refused"],
  ["a signed token", signed, {}, "fresh"],
  ["a signed token, percent-encoded as in a cookie", encodeURIComponent(signed), {}, "fresh"],
  ["a percent sign that encodes nothing", `${signed}%`, {}, "refused"],
  ["a signed token that is due", signed, { expiresInMs: 1 }, "extended"],
  ["a token that was signed with another secret", sign(TOKEN, `${SECRET}x`), {}, "refused"],
  [
    "a changed signature",
    signed.replace(/.{3}$/, (end) => end[0] === "A" ? `B${end.slice(1)}` : `A${end.slice(1)}`),
    {},
    "refused",
  ],
  ["a shortened signature", signed.slice(0, -2), {}, "refused"],
  ["a signature without padding", signed.slice(0, -1), {}, "refused"],
  ["an empty signature", `${TOKEN}.`, {}, "refused"],
  ["a signature of another token", `${TOKEN}.${sign("other").split(".")[1]}`, {}, "refused"],
  ["a signed unknown token", sign("other"), {}, "refused"],
  ["a signature alone", `.${signed.split(".")[1]}`, {}, "refused"],
  ["a token signed twice", sign(signed), {}, "refused"],
  ["a wildcard", "%", {}, "refused"],
  ["a quote", `'${TOKEN}`, {}, "refused"],
  ["two tokens", `${TOKEN} ${TOKEN}`, {}, "refused"],
];

for (const [name, token, options, expected] of SAME) {
  Deno.test(`validateSession() gives what better-auth gives for ${name}`, async () => {
    const [a, b] = [await theirs(token, options), await ours(token, options)];
    assertEquals(b, a);
    if (expected === "refused") return assertEquals(b.session, "refused");
    const endsMs = (b.session as SessionResult).session.expiresAt.getTime();
    const stored = NOW + (options.expiresInMs ?? EXPIRES_IN * 1000);
    assertEquals(endsMs, expected === "extended" ? NOW + EXPIRES_IN * 1000 : stored);
  });
}

Deno.test("validateSession() gives what better-auth gives for random settings and ages", async () => {
  const seed = testSeed;
  // deno-lint-ignore no-console -- a failure must be repeatable
  console.info(`TRELLIS_SEED=${seed}`);
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 7200 }),
      fc.integer({ min: 0, max: 7200 }),
      fc.integer({ min: 1, max: 7_200_000 }),
      async (expiresIn, updateAge, expiresInMs) => {
        const options = { expiresIn, updateAge, expiresInMs };
        assertEquals(await ours(TOKEN, options), await theirs(TOKEN, options));
      },
    ),
    { seed, numRuns: 25 },
  );
  resetAuth();
});

Deno.test("validateSession() keeps the row of an expired session, which better-auth deletes", async () => {
  const options = { expiresInMs: -1 };
  const [a, b] = [await theirs(TOKEN, options), await ours(TOKEN, options)];
  assertEquals([a.session, b.session], ["refused", "refused"]);
  assertEquals((a.rows as { sessions: unknown[] }).sessions.length, 0);
  await seed(options);
  assertEquals(b.rows, await rows());
});

Deno.test("validateSession() refuses a session that ends this very millisecond, which better-auth extends", async () => {
  const options = { expiresInMs: 0 };
  const [a, b] = [await theirs(TOKEN, options), await ours(TOKEN, options)];
  assertEquals((a.session as SessionResult).session.expiresAt.getTime(), NOW + EXPIRES_IN * 1000);
  assertEquals(b.session, "refused");
  await seed(options);
  assertEquals(b.rows, await rows());
  assertEquals((await ours(TOKEN, { ...options, updateAge: 2 * EXPIRES_IN })).session, "refused"); // without an update
});

Deno.test("validateSession() refuses what no header can carry, without asking the database", async () => {
  await seed({});
  const auth = createAuth(db, config({}));
  const before = (await rows()) as object;
  for (
    const token of [
      `${TOKEN}\0`,
      `\0`,
      "a\nb",
      ` ${TOKEN}`,
      "\ud800",
      "é",
      `${TOKEN}%00.x`,
      "x".repeat(4097),
    ]
  ) {
    await assertRejects(
      () => validateSession(auth, token),
      UnauthorizedError,
      "The session is invalid or has expired",
    );
  }
  // a NUL byte that comes out of a signed, percent-encoded token
  const nul = createHmac("sha256", SECRET).update("a\0").digest("base64");
  await assertRejects(
    () => validateSession(auth, encodeURIComponent(`a\0.${nul}`)),
    UnauthorizedError,
  );
  for (const token of ["", null, undefined] as unknown as string[]) {
    await assertRejects(
      () => validateSession(auth, token),
      UnauthorizedError,
      "The session token is missing",
    );
  }
  assertEquals(await rows(), before);
});
