// deno-lint-ignore-file no-console -- the number of cases is part of the result
/** Requests with forged credentials, from every event source, at every mode of authentication. */
import { assertEquals } from "@std/assert";
import { createHmac } from "node:crypto";
import { configureSessionAuth, resetSessionAuth } from "../../auth/session_auth.ts";
import type { ApiEvent } from "../../core/http/lambda.ts";
import { buildValidatedResponse } from "../../core/http/response.ts";
import { setLogOutput } from "../../observability/output.ts";
import {
  createAlbEvent,
  createFunctionUrlEvent,
  createHttpApiEvent,
  createRestApiEvent,
  type EventOptions,
} from "../../testing/events.ts";
import { createLambdaContext } from "../../testing/context.ts";
import { defineApiHandler } from "../../validation/define_api_handler.ts";
import { openAuthDatabase, SECRET } from "../auth/auth_database.ts";
import { createRandom } from "../support/random.ts";
import { testSeed } from "../support/seed.ts";
import { withEnv } from "../support/with_env.ts";

const CASES = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 100_000 : 1_500;
const TOKEN = "hK3vT9xQ2mW8rB5nY7cJ4pL6sD1fG0aZ";
const USER = "0b9f2c1e-6a54-4c53-9a57-0d6f2b3c4d5e";

const SOURCES: ((options: EventOptions) => ApiEvent)[] = [
  createRestApiEvent,
  createHttpApiEvent,
  createFunctionUrlEvent,
  createAlbEvent,
  (options) => createAlbEvent({ ...options, multiValue: true }),
];
const MODES = ["bearer", "session", "authorizer", "authorizer-optional"] as const;
const answer = (params: unknown) =>
  buildValidatedResponse(createLambdaContext(), 200, {
    userId: (params as { userId?: string }).userId ?? null,
  });
const handlers = MODES.map((auth) => defineApiHandler({ auth, metrics: false })(answer));

const sign = (text: string, secret = SECRET, hash = "sha256", form: "base64" | "hex" = "base64") =>
  `${text}.${createHmac(hash, secret).update(text).digest(form)}`;
const GOOD = new Set([TOKEN, sign(TOKEN), encodeURIComponent(sign(TOKEN))]);

const { next: random, below, pick } = createRandom(testSeed);

const encode = (value: unknown) =>
  btoa(JSON.stringify(value)).replace(/[+/=]/g, (char) => ({ "+": "-", "/": "_" })[char] ?? "");
const CLAIMS = { sub: USER, userId: USER, userStatus: "AUTHENTICATED", admin: true };

const FORGERIES: (() => string)[] = [
  () => pick([TOKEN, sign(TOKEN)]).slice(0, below(40)),
  () => pick([TOKEN, sign(TOKEN)]).slice(1 + below(10)),
  () => change(pick([TOKEN, sign(TOKEN), encodeURIComponent(sign(TOKEN))])),
  () => change(change(TOKEN)),
  () =>
    pick([TOKEN.toUpperCase(), TOKEN.toLowerCase(), TOKEN + TOKEN, [...TOKEN].reverse().join("")]),
  () => sign(TOKEN, pick(["", "x", SECRET.slice(1), `${SECRET} `, SECRET.toUpperCase()])),
  () => sign(TOKEN, SECRET, pick(["sha1", "sha512", "md5"])),
  () => sign(TOKEN, SECRET, "sha256", "hex"),
  () => `${TOKEN}.${sign(change(TOKEN)).split(".")[1]}`,
  () => `${change(TOKEN)}.${sign(TOKEN).split(".")[1]}`,
  () => `${encode({ alg: "none" })}.${encode(CLAIMS)}.`,
  () => `${encode({ alg: "HS256" })}.${encode(CLAIMS)}.${encode("x")}`,
  () =>
    pick([
      "",
      " ",
      "null",
      "undefined",
      "true",
      "0",
      "[object Object]",
      "%",
      "*",
      "' OR '1'='1",
      "\0",
    ]),
  () => `${TOKEN}${pick(["\0", "\n", " ", ",", ";", "%00", "=", "==", "%", "/", "\t", "é"])}`,
  () => `${TOKEN}, Bearer ${TOKEN}`,
  () => Array.from({ length: below(60) }, () => String.fromCharCode(33 + below(94))).join(""),
];
const SCHEMES = [
  "Bearer ",
  "bearer ",
  "BEARER  ",
  "Basic ",
  "Token ",
  "Bearer",
  "Bearer:",
  "",
  "Bearer\t",
  "Digest ",
];

/** Changes, removes or adds one character. */
function change(text: string): string {
  const at = below(text.length);
  const letter = pick([..."abcXYZ019._~+/-=%а"]);
  return text.slice(0, at) + pick([letter, "", letter + text[at]]) + text.slice(at + 1);
}

/** An `Authorization` header that must not be taken. */
function forgeHeader(): string {
  for (;;) {
    const [scheme, token] = [pick(SCHEMES), pick(FORGERIES)()];
    const header = scheme + token;
    const taken = /^bearer +(\S+)$/i.exec(header)?.[1];
    if (taken === undefined || !GOOD.has(taken)) return header;
  }
}

/** A forged token in the session cookie, or a good one in another cookie. */
function forgeCookie(): string {
  const name = "better-auth.session_token";
  if (random() < 0.3) {
    const other = pick([`x${name}`, name.toUpperCase(), "session_token", `${name}.0`, `${name}_x`]);
    return `${other}=${encodeURIComponent(sign(TOKEN))}`;
  }
  for (;;) {
    const token = pick(FORGERIES)().replace(/[;\s\0]/g, "");
    const value = random() < 0.5 ? encodeURIComponent(token) : token;
    if (!GOOD.has(token) && !GOOD.has(value)) return `${name}=${value}`;
  }
}

/** Headers by which others say who calls. */
const CLAIMED = [
  "X-User-Id,X-Authorizer-UserId,X-Amzn-Oidc-Identity,X-Amzn-Oidc-Data,X-Forwarded-User,Remote-User",
  "X-Api-Key,X-Authorization,Proxy-Authorization,Authorization-Token,X-Original-Authorization",
].join(",").split(",");

function forgeRequest(): EventOptions {
  const headers: Record<string, string> = {};
  if (random() < 0.8) {
    headers[pick(["Authorization", "authorization", "AUTHORIZATION"])] = forgeHeader();
  }
  if (random() < 0.4) {
    headers[pick(CLAIMED)] = pick([USER, TOKEN, `Bearer ${TOKEN}`, JSON.stringify(CLAIMS)]);
  }
  if (random() < 0.3) headers.Cookie = forgeCookie();
  const query = {
    access_token: TOKEN,
    token: TOKEN,
    userId: USER,
    authorization: `Bearer ${TOKEN}`,
  };
  return {
    method: pick(["GET", "POST", "PUT", "DELETE", "PATCH"]),
    path: pick(["/", "/me", `/${TOKEN}`, "/%2e%2e/admin"]),
    headers,
    ...(random() < 0.3 && { query }),
    ...(random() < 0.3 && { body: { ...CLAIMS, requestContext: { authorizer: CLAIMS } } }),
  };
}

Deno.test(`each auth mode rejects ${CASES} forged requests`, async () => {
  const { pglite, db } = await openAuthDatabase();
  const restore = setLogOutput(() => {});
  try {
    await pglite.query(
      "INSERT INTO users (id, name, email) VALUES ($1, 'Ada', 'ada@example.com')",
      [USER],
    );
    await pglite.query(
      "INSERT INTO sessions (expires_at, token, user_id) VALUES (now() + interval '1 day', $1, $2)",
      [TOKEN, USER],
    );
    configureSessionAuth(() => Promise.resolve(db), {
      secret: SECRET,
      baseURL: "http://localhost:3000",
    });
    await withEnv({ API_BEARER_TOKEN: TOKEN }, async () => {
      for (const good of GOOD) await assertTaken(good);
      const answers: Record<string, number> = {};
      for (let i = 0; i < CASES; i++) {
        const [mode, source, options] = [below(MODES.length), pick(SOURCES), forgeRequest()];
        const { statusCode, body } = await handlers[mode](source(options), createLambdaContext());
        const isNobody = MODES[mode] === "authorizer-optional" && statusCode === 200 &&
          JSON.parse(body!).userId === null;
        const result = isNobody ? "anonymous" : String(statusCode);
        if (!["anonymous", "401", "403"].includes(result)) {
          throw new Error(`${result} ${JSON.stringify(options)}`);
        }
        const key = `${MODES[mode]} ${result}`;
        answers[key] = (answers[key] ?? 0) + 1;
      }
      console.log(`${CASES} forged requests, seed ${testSeed}: ${JSON.stringify(answers)}`);
    });
  } finally {
    restore();
    resetSessionAuth();
    await pglite.close();
  }
});

/** A check that refuses everything would pass the rest. */
async function assertTaken(token: string): Promise<void> {
  for (const [mode, auth] of MODES.entries()) {
    if (auth !== "session" && (auth !== "bearer" || token !== TOKEN)) continue;
    const event = createRestApiEvent({ headers: { Authorization: `Bearer ${token}` } });
    const { statusCode } = await handlers[mode](event, createLambdaContext());
    assertEquals([auth, statusCode], [auth, 200]);
  }
}
