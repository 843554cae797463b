import { assert, assertEquals } from "@std/assert";
import { betterAuth } from "better-auth/minimal";
import fc from "fast-check";
import { createHmac } from "node:crypto";
import { createAuth, createAuthHandler } from "../../auth/mod.ts";
import { readSessionCookies } from "../../auth/cookies/session_cookies.ts";
import type { ApiEvent } from "../../core/mod.ts";
import {
  createAlbEvent,
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
} from "../../testing/mod.ts";
import { openAuthDatabase, SECRET } from "./auth_database.ts";
import { testSeed } from "../support/seed.ts";

const BASE_URL = "http://localhost:3000";
const NAME = "better-auth.session_token";
const USER = "0b9f2c1e-6a54-4c53-9a57-0d6f2b3c4d5e";
const HEADERS = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 20_000 : 30;

const { pglite, db, reset } = await openAuthDatabase();
globalThis.addEventListener("unload", () => void pglite.close());

function sign(token: string, secret = SECRET): string {
  return `${token}.${createHmac("sha256", secret).update(token).digest("base64")}`;
}

/** A session of the user, and a session of another user that must outlive the sign-out. */
async function createSessions(): Promise<void> {
  await reset();
  await pglite.query("INSERT INTO users (id, name, email) VALUES ($1, 'Ada', 'ada@example.com')", [
    USER,
  ]);
  await pglite.query(
    "INSERT INTO sessions (token, expires_at, user_id) SELECT t, now() + interval '30 days', $1 FROM unnest($2::text[]) t",
    [USER, ["real", "other"]],
  );
}

async function storedTokens(): Promise<string[]> {
  const { rows } = await pglite.query<{ token: string }>(
    "SELECT token FROM sessions ORDER BY token",
  );
  return rows.map(({ token }) => token);
}

interface Cookies {
  secure: boolean;
  /** Cookies in the request's order; `real` is the session's cookie. */
  pairs: string[];
  separator: string;
  source: (options: Parameters<typeof createRestApiEvent>[0]) => ApiEvent;
}

const auths = [false, true].map((useSecureCookies) =>
  createAuth(db, { secret: SECRET, baseURL: BASE_URL, useSecureCookies })
);
const handlers = auths.map((auth) => createAuthHandler(() => auth));

async function signOut({ secure, pairs, separator, source }: Cookies): Promise<number> {
  const name = secure ? `__Secure-${NAME}` : NAME;
  const cookie = pairs.map((pair) =>
    pair === "real" ? `${name}=${encodeURIComponent(sign("real"))}` : pair
  ).join(
    separator,
  );
  const event = source({
    method: "POST",
    path: "/api/auth/sign-out",
    body: {},
    headers: { cookie, origin: BASE_URL },
  });
  return (await handlers[Number(secure)](event, createLambdaContext())).statusCode;
}

/** Names that end in `session_token`, or nearly, and are not the session cookie's. */
const decoyNames = fc.oneof(
  fc.constantFrom(
    "session_token",
    `x${NAME}`,
    `x-${NAME}`,
    `app.session_token`,
    `__Secure-app.session_token`,
    `__Host-session_token`,
    `__secure-${NAME}`,
    `__Secure-__Host-${NAME}`,
    NAME.toUpperCase(),
    `${NAME}_multi-other`,
    `${NAME}.0`,
    `${NAME}\u00e9`,
  ),
  fc.stringMatching(/^[a-z_.-]{1,12}$/).map((start) => `${start}session_token`),
);
const NAMES = [NAME, `__Secure-${NAME}`, `__Host-${NAME}`];
/** Values that are invalid as a session cookie under any name. */
const badValues = fc.oneof(
  fc.constantFrom(
    "",
    "x",
    ".",
    "real",
    "real.",
    encodeURIComponent(sign("real", "another secret")),
    "%",
    "a=b",
    '"',
  ),
  fc.string({ maxLength: 20 }).map((text) => text.replace(/[;\n\r\0]/g, "")),
);
const other = encodeURIComponent(sign("other"));
const decoys = fc.oneof(
  fc.tuple(decoyNames, fc.oneof(fc.constant(other), badValues)),
  fc.tuple(fc.constantFrom(...NAMES), badValues),
  fc.tuple(fc.stringMatching(/^[a-z]{1,6}$/), badValues),
).map(([name, value]) => `${name}=${value}`);

const requests: fc.Arbitrary<Cookies> = fc.record({
  secure: fc.boolean(),
  pairs: fc.tuple(
    fc.array(decoys, { maxLength: 4 }),
    fc.array(fc.oneof(decoys, fc.constantFrom("", "flag")), { maxLength: 4 }),
  )
    .map(([before, after]) => [...before, "real", ...after]),
  separator: fc.constantFrom("; ", ";"),
  source: fc.constantFrom(createRestApiEvent, createHttpApiEvent, createAlbEvent),
});

Deno.test("createAuthHandler() ends the session at a sign-out, and no other, whatever cookies come with it", async () => {
  const seed = testSeed;
  // deno-lint-ignore no-console -- a failure must be repeatable
  console.info(`TRELLIS_SEED=${seed} ${HEADERS} cookie headers`);
  await fc.assert(
    fc.asyncProperty(requests, async (request) => {
      await createSessions();
      assertEquals([await signOut(request), await storedTokens()], [200, ["other"]]);
    }),
    { seed, numRuns: HEADERS },
  );
});

const valid = (name: string, token: string) => `${name}=${encodeURIComponent(sign(token))}`;
const TWO: [name: string, pairs: string[], left: string[]][] = [
  ["twice under one name", [valid(NAME, "other"), "real"], []],
  ["the second time under one name", ["real", valid(NAME, "other")], []],
  ["with a prefix besides", [valid(`__Host-${NAME}`, "other"), "real"], []],
  ["under the name of another application", [valid("app.session_token", "other"), "real"], [
    "other",
  ]],
  ["quoted", [`${NAME}="${sign("real")}"`, "a=b"], ["other"]],
  ["after a part without a name", ["flag", "real"], ["other"]],
];

for (const [name, pairs, left] of TWO) {
  Deno.test(`createAuthHandler() ends every session that a sign-out shows: ${name}`, async () => {
    await createSessions();
    const request = { secure: false, pairs, separator: "; ", source: createRestApiEvent };
    assertEquals([await signOut(request), await storedTokens()], [200, left]);
  });
}

Deno.test("createAuthHandler() reads several Cookie headers of one request", async () => {
  await createSessions();
  const headers = { origin: BASE_URL };
  const event = createRestApiEvent({
    method: "POST",
    path: "/api/auth/sign-out",
    body: {},
    headers,
  });
  const multiValueHeaders = { ...event.multiValueHeaders, Cookie: ["a=b", valid(NAME, "real")] };
  const { statusCode } = await handlers[0]({ ...event, multiValueHeaders }, createLambdaContext());
  assertEquals([statusCode, await storedTokens()], [200, ["other"]]);
});

Deno.test("createAuthHandler() takes the cookies of an invalid token's request for what they are", async () => {
  await createSessions();
  const event = createRestApiEvent({
    method: "POST",
    path: "/api/auth/sign-out",
    body: {},
    headers: { origin: BASE_URL, authorization: "Bearer real.forged", cookie: valid(NAME, "real") },
  });
  assertEquals((await handlers[0](event, createLambdaContext())).statusCode, 200);
  assertEquals(await storedTokens(), ["other"]);
});

Deno.test("readSessionCookies() follows the name that better-auth gives its cookie", async () => {
  for (
    const advanced of [{}, { cookiePrefix: "shop" }, {
      cookies: { session_token: { name: "sid" } },
    }]
  ) {
    for (const useSecureCookies of [false, true]) {
      const { $context } = betterAuth({
        secret: SECRET,
        baseURL: BASE_URL,
        advanced: { ...advanced, useSecureCookies },
      });
      const { name } = (await $context).authCookies.sessionToken;
      const plain = name.replace("__Secure-", "");
      assertEquals(name.startsWith("__Secure-"), useSecureCookies);
      for (const accepted of [plain, `__Secure-${plain}`, `__Host-${plain}`]) {
        assertEquals(await readSessionCookies(`a=b; ${valid(accepted, "t")}`, name, SECRET), ["t"]);
      }
      for (const refused of [`x${plain}`, `${plain}x`, plain.slice(1), `__Secure-x.${plain}`]) {
        assertEquals(await readSessionCookies(valid(refused, "t"), name, SECRET), []);
      }
    }
  }
  assert((await readSessionCookies(null, NAME, SECRET)).length === 0);
});
