import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { createHmac } from "node:crypto";
import {
  type AuthConfig,
  createAuth,
  createAuthHandler,
  expireSession,
  validateCodeHostWebhook,
  validatePaymentsWebhook,
  validateSession,
  validateSessionFromHeader,
  validateStandardWebhook,
} from "../../auth/mod.ts";
import { UnauthorizedError } from "../../errors/mod.ts";
import { createLambdaContext, createRestApiEvent } from "../../testing/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { openAuthDatabase, SECRET } from "../auth/auth_database.ts";
import { captureLogs } from "../support/capture_logs.ts";
import { withEnv } from "../support/with_env.ts";

const USER = "0b9f2c1e-6a54-4c53-9a57-0d6f2b3c4d5e";
const OTHER = "1b9f2c1e-6a54-4c53-9a57-0d6f2b3c4d5e";
const TOKEN = "hK3vT9xQ2mW8rB5nY7cJ4pL6sD1fG0aZ";
const OTHER_TOKEN = "qK3vT9xQ2mW8rB5nY7cJ4pL6sD1fG0aZ";
const config: AuthConfig = { secret: SECRET, baseURL: "http://localhost:3000" };
const INVALID = "The session is invalid or has expired";

const { pglite, db, reset } = await openAuthDatabase();
globalThis.addEventListener("unload", () => void pglite.close());

async function seed(endsInMs = 3_600_000): Promise<void> {
  await reset();
  for (const [user, token, name] of [[USER, TOKEN, "ada"], [OTHER, OTHER_TOKEN, "eve"]]) {
    await pglite.query(
      "INSERT INTO users (id, name, email) VALUES ($1, $2, $2 || '@example.com')",
      [user, name],
    );
    await pglite.query("INSERT INTO sessions (expires_at, token, user_id) VALUES ($1, $2, $3)", [
      new Date(Date.now() + endsInMs).toISOString(),
      token,
      user,
    ]);
  }
}

const sign = (token: string, secret = SECRET): string =>
  `${token}.${createHmac("sha256", secret).update(token).digest("base64")}`;

/** What a thief may make of a token: nothing but the token itself is taken. */
function variants(token: string): [string, string][] {
  const flipped = (at: number) =>
    token.slice(0, at) + (token[at] === "x" ? "y" : "x") + token.slice(at + 1);
  return [
    ["another first character", flipped(0)],
    ["another last character", flipped(token.length - 1)],
    ["another character in the middle", flipped(token.length >> 1)],
    ["all but the last character", token.slice(0, -1)],
    ["all but the first character", token.slice(1)],
    ["one character", token[0]],
    ["one character more", `${token}A`],
    ["itself twice", token + token],
    ["upper case", token.toUpperCase()],
    ["lower case", token.toLowerCase()],
    ["a NUL byte behind it", `${token}\0`],
    ["a percent sign of a pattern", "%"],
    ["patterns", `${token.slice(0, 5)}%`],
    ["a quote", `' OR '1'='1`],
    ["homoglyphs", token.replace("a", "а")],
    ["a line break", `${token}\n`],
    ["spaces around it", ` ${token} `],
    ["percent encoding", `%${token.charCodeAt(0).toString(16)}${token.slice(1)}`],
    ["nothing", ""],
  ];
}

Deno.test("validateSession() accepts the exact token only", async () => {
  await seed();
  const auth = createAuth(db, config);
  assertEquals((await validateSession(auth, TOKEN)).user.id, USER);
  for (const [name, token] of variants(TOKEN)) {
    const error = await assertRejects(
      () => validateSession(auth, token),
      UnauthorizedError,
      undefined,
      name,
    );
    assertEquals(error.message, token === "" ? "The session token is missing" : INVALID, name);
    await assertRejects(() => expireSession(auth, token, db), UnauthorizedError, undefined, name);
  }
  const { rows } = await pglite.query(
    "SELECT token FROM sessions WHERE expires_at > now() ORDER BY token",
  );
  assertEquals(rows, [{ token: TOKEN }, { token: OTHER_TOKEN }]);
});

Deno.test("validateSession() rejects signatures of another token, with another secret, or truncated", async () => {
  await seed();
  const auth = createAuth(db, config);
  assertEquals((await validateSession(auth, sign(TOKEN))).user.id, USER);
  assertEquals((await validateSession(auth, encodeURIComponent(sign(TOKEN)))).user.id, USER);
  const [, signature] = sign(TOKEN).split(".");
  const forged: [string, string][] = [
    ["another's signature", `${TOKEN}.${sign(OTHER_TOKEN).split(".")[1]}`],
    ["another's token under a good signature", `${OTHER_TOKEN}.${signature}`],
    ["another secret", sign(TOKEN, "another-secret-of-32-characters-1234")],
    ["an empty secret", sign(TOKEN, "\0")],
    ["no signature", `${TOKEN}.`],
    ["half a signature", `${TOKEN}.${signature.slice(0, 20)}`],
    ["a signature without padding", `${TOKEN}.${signature.replace("=", "")}`],
    ["a signature in lower case", `${TOKEN}.${signature.toLowerCase()}`],
    ["a signature in hex", `${TOKEN}.${createHmac("sha256", SECRET).update(TOKEN).digest("hex")}`],
    ["two signatures", `${sign(TOKEN)}.${signature}`],
    ["no token", `.${signature}`],
    ["a signature of nothing", `.${createHmac("sha256", SECRET).update("").digest("base64")}`],
    ["SHA-1", `${TOKEN}.${createHmac("sha1", SECRET).update(TOKEN).digest("base64")}`],
  ];
  for (const [name, token] of forged) {
    await assertRejects(() => validateSession(auth, token), UnauthorizedError, INVALID, name);
  }
});

Deno.test("validateSessionFromHeader() rejects a second credential, scheme or parameter", async () => {
  await seed();
  const auth = createAuth(db, config);
  for (
    const header of [
      TOKEN,
      `Basic ${TOKEN}`,
      `Bearer ${TOKEN}, Bearer ${OTHER_TOKEN}`,
      `Bearer ${TOKEN} ${OTHER_TOKEN}`,
      `Bearer: ${TOKEN}`,
      `Bearer\t${TOKEN}`,
      `Bearer\n${TOKEN}`,
      `Bearer ${TOKEN}\r\nX-Admin: 1`,
      `bearer`,
      `Bearer "${TOKEN}"`,
      `xBearer ${TOKEN}`,
    ]
  ) {
    await assertRejects(
      () => validateSessionFromHeader(auth, header),
      UnauthorizedError,
      undefined,
      header,
    );
  }
});

Deno.test("validateSession() rejects expired sessions, and sessions of deleted users", async () => {
  const auth = createAuth(db, config);
  await seed(-1000);
  await assertRejects(() => validateSession(auth, TOKEN), UnauthorizedError, INVALID);
  await seed();
  await pglite.query("DELETE FROM users WHERE id = $1", [USER]);
  await assertRejects(() => validateSession(auth, TOKEN), UnauthorizedError, INVALID);
  assertEquals((await validateSession(auth, OTHER_TOKEN)).user.id, OTHER);
});

Deno.test("an ended session stays ended for each form of its token", async () => {
  await seed();
  const auth = createAuth(db, config);
  await expireSession(auth, TOKEN, db);
  for (const token of [TOKEN, sign(TOKEN)]) {
    await assertRejects(() => validateSession(auth, token), UnauthorizedError, INVALID);
  }
});

Deno.test("signing in creates a new token, even if the browser has one (session fixation)", async () => {
  await reset();
  const auth = createAuth(db, { ...config, useSecureCookies: false });
  const handler = createAuthHandler(() => auth);
  const person = { name: "Ada", email: "ada@example.com", password: "correct horse battery" };
  const call = async (path: string, cookie?: string) => {
    const headers = {
      Origin: "http://localhost:3000",
      ...(cookie !== undefined && { Cookie: cookie }),
    };
    const event = createRestApiEvent({
      method: "POST",
      path: `/api/auth${path}`,
      body: person,
      headers,
    });
    const { result } = await captureLogs(() => handler(event, createLambdaContext()));
    assertEquals(result.statusCode, 200, result.body);
    return JSON.parse(result.body!).token as string;
  };
  const first = await call("/sign-up/email");
  // planted by somebody else: one that nobody has, signed or not, and the living session of another sign-in
  const planted = [TOKEN, sign(TOKEN), sign(first)];
  const seen = new Set([first]);
  for (const token of planted) {
    const given = await call(
      "/sign-in/email",
      `better-auth.session_token=${encodeURIComponent(token)}`,
    );
    assertNotEquals(given, token.split(".")[0]);
    assert(!seen.has(given));
    seen.add(given);
    assert(given.length >= 32);
  }
  // a value that was never issued has not become a session
  await assertRejects(() => validateSession(auth, TOKEN), UnauthorizedError, INVALID);
});

Deno.test("the auth routes do not use a host from the path, and do not redirect to other hosts", async () => {
  await reset();
  const auth = createAuth(db, { ...config, useSecureCookies: false });
  const handler = createAuthHandler(() => auth);
  const call = async (path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const event = {
      ...createRestApiEvent({ method: body === undefined ? "GET" : "POST", body, headers }),
      path,
    };
    return (await captureLogs(() => handler(event, createLambdaContext()))).result;
  };
  assertEquals((await call("/api/auth/ok")).statusCode, 200);
  for (
    const path of [
      "@evil.example/api/auth/ok",
      ":80@evil.example/api/auth/ok",
      ".evil.example/api/auth/ok",
    ]
  ) {
    assertEquals((await call(path)).statusCode, 404, path);
  }
  const Origin = "http://localhost:3000";
  const person = { name: "Ada", email: "ada@example.com", password: "correct horse battery" };
  assertEquals((await call("/api/auth/sign-up/email", person, { Origin })).statusCode, 200);
  for (
    const callbackURL of [
      "https://evil.example/",
      "//evil.example",
      "/\\evil.example",
      "javascript:alert(1)",
    ]
  ) {
    const { statusCode } = await call("/api/auth/sign-in/email", { ...person, callbackURL }, {
      Origin,
    });
    assertEquals(statusCode, 403, callbackURL);
  }
  const forwarded = {
    Origin: "https://evil.example",
    Cookie: "a=b",
    "X-Forwarded-Host": "evil.example",
    Host: "evil.example",
  };
  assertEquals((await call("/api/auth/sign-in/email", person, forwarded)).statusCode, 403);
});

Deno.test("auth 'bearer' accepts the exact token only, and no empty token", async () => {
  const handler = defineApiHandler({ auth: "bearer", metrics: false })(() => ({
    statusCode: 200,
    body: "",
  }));
  const call = async (authorization: string) =>
    (await captureLogs(() =>
      handler(
        createRestApiEvent({ headers: { Authorization: authorization } }),
        createLambdaContext(),
      )
    )).result.statusCode;
  await withEnv({ API_BEARER_TOKEN: TOKEN }, async () => {
    assertEquals(await call(`Bearer ${TOKEN}`), 200);
    for (const [name, token] of variants(TOKEN)) {
      // spaces before a token belong to the scheme (RFC 6750); those behind it are refused here
      assertEquals(await call(`Bearer ${token}`), 401, name);
    }
  });
  for (const unset of [undefined, ""]) {
    await withEnv({ API_BEARER_TOKEN: unset }, async () => {
      for (const header of ["Bearer ", "Bearer", "Bearer undefined", ""]) {
        assert(await call(header) >= 401);
      }
    });
  }
});

const BODY = '{"amount":100}';
const hex = (text: string, secret = "whsec") =>
  createHmac("sha256", secret).update(text).digest("hex");

Deno.test("webhooks accept only the signature of the exact body, time and id", async () => {
  const seconds = Math.floor(Date.now() / 1000);
  const code = `sha256=${hex(BODY)}`;
  const pay = `t=${seconds},v1=${hex(`${seconds}.${BODY}`)}`;
  const key = btoa("standard-webhook-secret-32-bytes");
  const standard = (id: string, at: number, body = BODY) =>
    `v1,${createHmac("sha256", atob(key)).update(`${id}.${at}.${body}`).digest("base64")}`;
  const headers = {
    "webhook-id": "msg_1",
    "webhook-timestamp": `${seconds}`,
    "webhook-signature": standard("msg_1", seconds),
  };
  await validateCodeHostWebhook(BODY, code, "whsec");
  await validatePaymentsWebhook(BODY, pay, "whsec");
  await validateStandardWebhook(BODY, headers, key);
  const refused: [string, () => Promise<void>][] = [
    ["another body", () => validateCodeHostWebhook(BODY.replace("1", "9"), code, "whsec")],
    ["a body with one space more", () => validateCodeHostWebhook(`${BODY} `, code, "whsec")],
    ["a cut signature", () => validateCodeHostWebhook(BODY, code.slice(0, -2), "whsec")],
    ["no prefix", () => validateCodeHostWebhook(BODY, hex(BODY), "whsec")],
    ["the weaker hash", () => validateCodeHostWebhook(BODY, `sha1=${hex(BODY)}`, "whsec")],
    ["another secret", () => validateCodeHostWebhook(BODY, code, "whsed")],
    [
      "another time",
      () => validatePaymentsWebhook(BODY, pay.replace(`t=${seconds}`, `t=${seconds - 1}`), "whsec"),
    ],
    ["two times", () => validatePaymentsWebhook(BODY, `t=${seconds - 1},${pay}`, "whsec")],
    [
      "a version that is not known",
      () => validatePaymentsWebhook(BODY, pay.replace("v1=", "v0="), "whsec"),
    ],
    [
      "a good signature that is a day old",
      () =>
        validatePaymentsWebhook(
          BODY,
          `t=${seconds - 86_400},v1=${hex(`${seconds - 86_400}.${BODY}`)}`,
          "whsec",
        ),
    ],
    [
      "digits moved from the time into the body",
      () =>
        validatePaymentsWebhook(
          `1.${BODY}`,
          `t=${seconds},v1=${hex(`${seconds}1.${BODY}`)}`,
          "whsec",
        ),
    ],
    ["another id", () => validateStandardWebhook(BODY, { ...headers, "webhook-id": "msg_2" }, key)],
    [
      "an id that swallows the time",
      () => validateStandardWebhook(BODY, { ...headers, "webhook-id": `msg_1.${seconds}` }, key),
    ],
  ];
  for (const [name, call] of refused) await assertRejects(call, UnauthorizedError, undefined, name);
});
