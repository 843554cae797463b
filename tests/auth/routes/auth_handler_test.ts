// deno-lint-ignore-file no-console
import { assert, assertEquals, assertFalse, assertMatch } from "@std/assert";
import { drizzle } from "drizzle-orm/pglite";
import {
  type AuthConfig,
  createAuth,
  createAuthHandler,
  validateSession,
} from "../../../auth/mod.ts";
import type { ApiEvent, ProxyResult } from "../../../core/mod.ts";
import { setLogOutput } from "../../../observability/mod.ts";
import {
  createAlbEvent,
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
  type EventOptions,
} from "../../../testing/mod.ts";
import { withEnv } from "../../support/with_env.ts";
import { openAuthDatabase, SECRET } from "../auth_database.ts";
import { FAST_PASSWORDS } from "../fast_passwords.ts";

const config: AuthConfig = {
  secret: SECRET,
  baseURL: "http://localhost:3000",
  emailAndPassword: { enabled: true, password: FAST_PASSWORDS },
};
const ADA = { name: "Ada", email: "ada@example.com", password: "correct horse battery" };

const { pglite, db, reset } = await openAuthDatabase();
globalThis.addEventListener("unload", () => void pglite.close());

const auth = createAuth(db, config);
const handler = createAuthHandler(() => auth);

async function call(
  event: ApiEvent,
  serve = handler,
): Promise<{ result: ProxyResult; log: string }> {
  let log = "";
  const restore = setLogOutput((text) => log += text);
  try {
    return { result: await serve(event, createLambdaContext()), log };
  } finally {
    restore();
  }
}

const post = (path: string, body: unknown, headers: Record<string, string> = {}): EventOptions => ({
  method: "POST",
  path: `/api/auth${path}`,
  body,
  headers,
});

/** Values of Set-Cookie, wherever the source wants them. */
function getCookies({ headers = {}, multiValueHeaders = {}, cookies = [] }: ProxyResult): string[] {
  const single = Object.entries(headers).filter(([name]) => name.toLowerCase() === "set-cookie")
    .map(([, value]) => value);
  const several = Object.entries(multiValueHeaders).filter(([name]) =>
    name.toLowerCase() === "set-cookie"
  );
  return [...single, ...several.flatMap(([, values]) => values), ...cookies].map(String);
}

const SOURCES: [string, (options: EventOptions) => ApiEvent][] = [
  ["a REST API", createRestApiEvent],
  ["an HTTP API or function URL", createHttpApiEvent],
  ["a load balancer", createAlbEvent],
  [
    "a load balancer with multi-value headers",
    (options) => createAlbEvent({ ...options, multiValue: true }),
  ],
];

for (const [source, createEvent] of SOURCES) {
  Deno.test(`createAuthHandler() signs up, reads the session by cookie and signs out behind ${source}`, async () => {
    await reset();
    const up = (await call(createEvent(post("/sign-up/email", ADA)))).result;
    assertEquals(up.statusCode, 200, up.body);
    const { token, user } = JSON.parse(up.body);
    assertEquals(user.email, ADA.email);
    assertEquals((await validateSession(auth, token)).user.id, user.id);
    const [cookie] = getCookies(up);
    assertMatch(
      cookie,
      /^__Secure-better-auth\.session_token=[^;]+; Max-Age=2592000; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );

    const headers = { cookie: cookie.split(";")[0] };
    const session = (await call(createEvent({ path: "/api/auth/get-session", headers }))).result;
    assertEquals(JSON.parse(session.body).user.id, user.id);

    const out = (await call(
      createEvent(post("/sign-out", {}, { ...headers, origin: "http://localhost:3000" })),
    )).result;
    assertEquals([out.statusCode, JSON.parse(out.body)], [200, { success: true }]);
    const names = getCookies(out).map((cleared) => cleared.split("=")[0]);
    assert(names.length > 1, "sign-out clears several cookies, and all of them must arrive");
    assertEquals(names.length, new Set(names).size);
    assert(getCookies(out).every((cleared) => cleared.includes("Max-Age=0")));
    const { rows } = await pglite.query("SELECT * FROM sessions");
    assertEquals(rows, []);
  });
}

Deno.test("createAuthHandler() reads a base64 body and repeated query parameters", async () => {
  await reset();
  const event = createRestApiEvent(
    post("/sign-up/email", new TextEncoder().encode(JSON.stringify({ ...ADA, name: "Ádá 😀" })), {
      "content-type": "application/json",
    }),
  );
  assert(event.isBase64Encoded);
  assertEquals(JSON.parse((await call(event)).result.body).user.name, "Ádá 😀");
});

Deno.test("createAuthHandler() passes the library's refusals on and logs no credentials", async () => {
  await reset();
  await call(createRestApiEvent(post("/sign-up/email", ADA)));
  const cases: [EventOptions, number, string | undefined][] = [
    [
      post("/sign-in/email", { ...ADA, password: "wrong horse battery" }),
      401,
      "INVALID_EMAIL_OR_PASSWORD",
    ],
    [
      post("/sign-in/email", { ...ADA, email: "nobody@example.com" }),
      401,
      "INVALID_EMAIL_OR_PASSWORD",
    ],
    [post("/sign-up/email", { ...ADA, email: "no address" }), 400, "VALIDATION_ERROR"],
    [
      post("/sign-up/email", { ...ADA, email: "b@example.com", password: "short" }),
      400,
      "PASSWORD_TOO_SHORT",
    ],
    [
      post("/sign-in/email", ADA, { origin: "https://evil.example.com", cookie: "a=b" }),
      403,
      "INVALID_ORIGIN",
    ],
    [
      {
        ...post("/sign-in/email", undefined),
        body: "{",
        headers: { "content-type": "application/json" },
      },
      400,
      undefined,
    ],
    [{ path: "/api/auth/nothing" }, 404, undefined],
    [{ path: "/elsewhere" }, 404, undefined],
  ];
  for (const [options, status, code] of cases) {
    const { result, log } = await call(createRestApiEvent(options));
    assertEquals(result.statusCode, status, `${options.path}: ${result.body}`);
    if (code !== undefined) assertEquals(JSON.parse(result.body).code, code);
    assertFalse(/correct horse|wrong horse|ada@example\.com|nobody@example/.test(log), log);
  }
});

Deno.test("createAuthHandler() answers 500 with the documented body when the database fails", async () => {
  const broken = createAuth(drizzle({ client: pglite }), config);
  await pglite.exec("ALTER TABLE users RENAME TO away");
  try {
    const { result, log } = await call(
      createRestApiEvent(post("/sign-in/email", ADA)),
      createAuthHandler(() => broken),
    );
    assertEquals(result.statusCode, 500);
    const { message, code, requestId, correlationId } = JSON.parse(result.body);
    assertEquals([message, code], ["Internal Server Error", "DATABASE"]);
    assert(requestId && correlationId);
    assertMatch(log, /42P01/);
    assertFalse(/ada@example\.com|select |correct horse/.test(log), log);
  } finally {
    await pglite.exec("ALTER TABLE away RENAME TO users");
  }
});

Deno.test("createAuthHandler() gives every response the correlation id", async () => {
  const { result } = await call(
    createRestApiEvent({ path: "/api/auth/ok", headers: { "X-Correlation-Id": "c-1" } }),
  );
  assertEquals(JSON.parse(result.body), { ok: true });
  assertEquals(
    Object.entries(result.headers!).find(([name]) => name.toLowerCase() === "x-correlation-id")
      ?.[1],
    "c-1",
  );
});

Deno.test("createAuthHandler() sends CORS headers with answers and errors", async () => {
  const serve = createAuthHandler(() => auth, { cors: ["https://app.example.com"] });
  const failing = createAuthHandler(() => Promise.reject(new Error("no database")), { cors: "*" });
  const event = createRestApiEvent({
    path: "/api/auth/ok",
    headers: { Origin: "https://app.example.com" },
  });
  assertEquals(
    (await call(event, serve)).result.headers?.["Access-Control-Allow-Origin"],
    "https://app.example.com",
  );
  const { result } = await call(event, failing);
  assertEquals([result.statusCode, result.headers?.["Access-Control-Allow-Origin"]], [500, "*"]);
});

Deno.test("createAuthHandler() sends security headers with answers and errors, unless securityHeaders omits them", async () => {
  const event = createRestApiEvent({
    path: "/api/auth/ok",
    headers: { "X-Forwarded-Proto": "https" },
  });
  const names = ["X-Content-Type-Options", "Cache-Control", "Strict-Transport-Security"];
  async function read(handler = createAuthHandler(() => auth)): Promise<unknown[]> {
    const { headers } = (await call(event, handler)).result;
    return names.map((name) => headers?.[name]);
  }
  const secure = ["nosniff", "no-store", "max-age=31536000"];
  assertEquals(await read(), secure);
  assertEquals(await read(createAuthHandler(() => Promise.reject(new Error("away")))), secure);
  const bare = createAuthHandler(() => auth, { securityHeaders: { "cache-control": false } });
  assertEquals(await read(bare), ["nosniff", undefined, "max-age=31536000"]);
});

Deno.test("createAuthHandler() refuses a request that the web has no form for with 400", async () => {
  const { result } = await call({
    ...createRestApiEvent({ path: "/api/auth/ok" }),
    headers: { "bad name": "x" },
    multiValueHeaders: null,
  });
  assertEquals([result.statusCode, JSON.parse(result.body).code], [400, "VALIDATION_FAILED"]);
});

Deno.test("createAuthHandler() answers a wrong method with 405 and the methods of the route", async () => {
  for (
    const [method, path, allowed] of [
      ["GET", "/sign-in/email", "POST"],
      ["DELETE", "/sign-out", "POST"],
      ["POST", "/get-session", "GET"],
      ["HEAD", "/verify-email", "GET"],
      ["PUT", "/callback/google", "GET, POST"],
      ["TRACE", "/sign-out", "POST"],
    ]
  ) {
    const event = createHttpApiEvent({ method, path: `/api/auth${path}` });
    const { result } = await call(event);
    assertEquals([result.statusCode, result.headers?.Allow], [405, allowed], `${method} ${path}`);
    assertEquals(JSON.parse(result.body).code, "METHOD_NOT_ALLOWED");
  }
  const unknown = createHttpApiEvent({ method: "PUT", path: "/api/auth/unknown" });
  assertEquals((await call(unknown)).result.statusCode, 404);
});

Deno.test("createAuthHandler() finds its routes under a stage and under a path of baseURL", async () => {
  const staged = createAuth(db, { ...config, baseURL: "https://api.example.com/prod/api/auth" });
  const serve = createAuthHandler(() => staged);
  const rest = createRestApiEvent({ path: "/api/auth/ok" });
  const withStage = {
    ...rest,
    requestContext: { ...rest.requestContext, path: "/prod/api/auth/ok" },
  };
  assertEquals((await call(withStage, serve)).result.statusCode, 200);
  assertEquals(
    (await call(createHttpApiEvent({ path: "/prod/api/auth/ok" }), serve)).result.statusCode,
    200,
  );
  assertEquals(
    (await call(createHttpApiEvent({ path: "/api/auth/ok" }), serve)).result.statusCode,
    404,
  );
});

Deno.test("createAuthHandler() notes the address that the gateway saw, not the one that a client claims", async () => {
  const claimed = { "x-forwarded-for": "198.51.100.1, 198.51.100.2" };
  const signUp = (n: number) =>
    post("/sign-up/email", { ...ADA, email: `ada${n}@example.com` }, claimed);
  const rest = createRestApiEvent(signUp(1));
  const http = createHttpApiEvent(signUp(2));
  const events: [ApiEvent, string][] = [
    [
      {
        ...rest,
        requestContext: { ...rest.requestContext, identity: { sourceIp: "203.0.113.1" } },
      },
      "203.0.113.1",
    ],
    [{
      ...http,
      requestContext: {
        ...http.requestContext,
        http: { ...http.requestContext.http, sourceIp: "203.0.113.2" },
      },
    }, "203.0.113.2"],
    [createAlbEvent(signUp(3)), "198.51.100.2"],
  ];
  for (const [event, address] of events) {
    await reset();
    await call(event);
    const { rows } = await pglite.query<{ ip_address: string }>("SELECT ip_address FROM sessions");
    assertEquals(rows.map((row) => row.ip_address), [address]);
  }
});

Deno.test("createAuthHandler() notes the viewer's address behind a CDN that proves itself", async () => {
  const headers = {
    "cloudfront-viewer-address": "198.51.100.7:443",
    "x-forwarded-for": "198.51.100.8",
  };
  const cases: [Record<string, string>, string][] = [
    [{ ...headers, "x-origin-verify": "0123456789abcdef" }, "198.51.100.7"],
    [{ ...headers, "x-origin-verify": "0123456789abcdeF" }, "203.0.113.1"],
    [headers, "203.0.113.1"],
  ];
  await withEnv({ ORIGIN_VERIFY_SECRET: "0123456789abcdef" }, async () => {
    for (const [sent, address] of cases) {
      await reset();
      const rest = createRestApiEvent(post("/sign-up/email", ADA, sent));
      await call({
        ...rest,
        requestContext: { ...rest.requestContext, identity: { sourceIp: "203.0.113.1" } },
      });
      const { rows } = await pglite.query<{ ip_address: string }>(
        "SELECT ip_address FROM sessions",
      );
      assertEquals(rows.map((row) => row.ip_address), [address]);
    }
  });
});

Deno.test("createAuthHandler() does not say that somebody is signed out whose session is still there", async () => {
  await reset();
  const up = (await call(createRestApiEvent(post("/sign-up/email", ADA)))).result;
  const { token } = JSON.parse(up.body);
  const byToken = { Authorization: `Bearer ${token}` };
  const getCookie = (result: ProxyResult) => ({
    cookie: getCookies(result)[0].split(";")[0],
    origin: config.baseURL,
  });
  const signOut = async (headers: Record<string, string>): Promise<number> =>
    (await call(createRestApiEvent(post("/sign-out", {}, headers)))).result.statusCode;

  await pglite.exec(
    `create function refuse() returns trigger language plpgsql as $$ begin raise 'not today'; end $$;
    create trigger refuse before delete on sessions execute function refuse();`,
  );
  try {
    assertEquals([await signOut(byToken), await signOut(getCookie(up))], [503, 503]);
  } finally {
    await pglite.exec("drop function refuse cascade");
  }
  // the session of the token is meant, and that of a cookie beside it stays
  const other = (await call(createRestApiEvent(post("/sign-in/email", ADA)))).result;
  assertEquals(await signOut({ ...byToken, ...getCookie(other) }), 200);
  assertEquals((await validateSession(auth, JSON.parse(other.body).token)).user.email, ADA.email);
  assertEquals(await signOut(byToken), 200);
});

Deno.test("a query of the auth library that fails shows neither SQL nor values, also where the library prints it", async () => {
  await reset();
  const { token } = JSON.parse(
    (await call(createRestApiEvent(post("/sign-up/email", ADA)))).result.body,
  );
  const printed: unknown[] = [];
  const { error } = console;
  console.error = (...args: unknown[]): void => void printed.push(...args);
  await pglite.exec("alter table users rename to gone");
  try {
    const headers = { Authorization: `Bearer ${token}` };
    const session = await call(createRestApiEvent({ path: "/api/auth/get-session", headers }));
    const again = await call(createRestApiEvent(post("/sign-in/email", ADA)));
    const all = [
      session.log,
      again.log,
      session.result.body,
      again.result.body,
      Deno.inspect(printed, { depth: 9 }),
    ]
      .join();
    assertEquals([session.result.statusCode >= 500, again.result.statusCode >= 500], [true, true]);
    assert(/42P01/.test(all), all);
    assertFalse(
      /select|insert|params/i.test(all) || all.includes(token) || all.includes(ADA.email),
      all,
    );
  } finally {
    console.error = error;
    await pglite.exec("alter table gone rename to users");
  }
});
