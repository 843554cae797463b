import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { betterAuth } from "better-auth";
import { memoryAdapter } from "better-auth/adapters/memory";
import { multiSession } from "better-auth/plugins/multi-session";
import { username } from "better-auth/plugins/username";
import { socialProviderList } from "better-auth/social-providers";
import { pgTable, text } from "drizzle-orm/pg-core";
import {
  AUTH_USER_COLUMNS,
  type AuthConfig,
  createAuth,
  createAuthHandler,
  type SocialProvidersConfig,
} from "../../../auth/mod.ts";
import { PROVIDER_TREE } from "../../../auth/config/library_option_tree.ts";
import type { AuthHandlerOptions } from "../../../auth/routes/auth_handler.ts";
import {
  findAuthRoute,
  isMounted,
  isRouteMounted,
  listAuthRoutes,
  listMethods,
} from "../../../auth/better_auth/auth_routes.ts";
import type { ApiEvent, ProxyResult } from "../../../core/mod.ts";
import { ConfigurationError } from "../../../errors/mod.ts";
import { setLogOutput } from "../../../observability/mod.ts";
import {
  createAlbEvent,
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
  type EventOptions,
} from "../../../testing/mod.ts";
import { openAuthDatabase, SECRET } from "../auth_database.ts";
import { FAST_PASSWORDS } from "../fast_passwords.ts";

const config: AuthConfig = {
  secret: SECRET,
  baseURL: "http://localhost:3000",
  trustedOrigins: ["https://app.example.com"],
  emailAndPassword: { enabled: true, password: FAST_PASSWORDS },
};
const ADA = { name: "Ada", email: "ada@example.com", password: "correct horse battery" };

const { pglite, db, reset } = await openAuthDatabase();
globalThis.addEventListener("unload", () => void pglite.close());
const auth = createAuth(db, config);

function call(
  options: EventOptions,
  given: AuthHandlerOptions = {},
  createEvent: (options: EventOptions) => ApiEvent = createHttpApiEvent,
  instance = auth,
): Promise<ProxyResult> {
  const handler = createAuthHandler(() => instance, given);
  return handler(createEvent(options), createLambdaContext());
}

function post(path: string, body?: unknown, headers: Record<string, string> = {}): EventOptions {
  return { method: "POST", path: `/api/auth${path}`, headers, ...body !== undefined && { body } };
}

function getHeaders({ headers = {} }: ProxyResult): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]),
  );
}

Deno.test("createAuthHandler() serves only the routes that it mounts, and several functions together serve all", async () => {
  await reset();
  const signIn = { routes: ["/sign-in/*", "/sign-up/email"] };
  const rest = { routes: ["/sign-out", "/get-session", "/reset-password/:token"] };
  assertEquals((await call(post("/sign-up/email", ADA), signIn)).statusCode, 200);
  const signedIn = await call(post("/sign-in/email", ADA), signIn);
  assertEquals(signedIn.statusCode, 200);
  const headers = { authorization: `Bearer ${JSON.parse(signedIn.body).token}` };
  const session = { path: "/api/auth/get-session", headers };
  assertEquals((await call(session, signIn)).statusCode, 404);
  assertEquals(JSON.parse((await call(session, rest)).body).user.email, ADA.email);
  const reset_ = { path: "/api/auth/reset-password/abc?callbackURL=%2F" };
  assertEquals((await call(reset_, rest)).statusCode, 302);
  const out = await call(post("/sign-in/email", ADA), rest);
  assertEquals([out.statusCode, JSON.parse(out.body).code], [404, "NOT_FOUND"]);
  assertEquals((await call(post("/sign-out", {}, headers), rest)).statusCode, 200);
  assertEquals((await call({ path: "/api/authentic/get-session" }, rest)).statusCode, 404);
});

Deno.test("createAuthHandler() answers 404 to a route that it does not mount without loading better-auth", async () => {
  const broken = createAuth(
    {
      select: () => {
        throw new Error("no database");
      },
    } as unknown as Parameters<typeof createAuth>[0],
    config,
  );
  const result = await call(post("/sign-in/email", ADA), { routes: ["/ok"] }, undefined, broken);
  assertEquals(result.statusCode, 404);
});

const BAD_OPTIONS: [string, Record<string, unknown>, string][] = [
  ["no routes", { routes: [] }, "routes is empty"],
  ["a path without a slash", { routes: ["sign-in"] }, '"sign-in"'],
  ["a star in the middle", { routes: ["/sign-in/*/x"] }, '"/sign-in/*/x"'],
  ["no list", { routes: "/sign-in/*" }, "a list of paths"],
  ["an unknown option", { route: ["/sign-in/*"] }, "has no option route"],
  ["an origin with a path", { cors: "https://app.example.com/x" }, "without a path"],
  ["an error body that is no function", { errorBody: {} }, "a function"],
];

for (const [name, options, message] of BAD_OPTIONS) {
  Deno.test(`createAuthHandler() throws when it is created with ${name}`, () => {
    const error = assertThrows(
      () => createAuthHandler(() => auth, options as AuthHandlerOptions),
      ConfigurationError,
    );
    assertStringIncludes(error.message, message);
  });
}

Deno.test("createAuthHandler() reports a mounted route that the configuration does not serve", async () => {
  let log = "";
  const restore = setLogOutput((line) => log += line);
  const result = await call(post("/two-factor/enable", {}), {
    routes: ["/two-factor/*", "/ok"],
  });
  restore();
  assertEquals(result.statusCode, 500);
  assertStringIncludes(log, "option routes has /two-factor/*, which the configuration does not");
});

const usernameUsers = pgTable("users", {
  ...AUTH_USER_COLUMNS,
  username: text("username").unique(),
  displayUsername: text("display_username"),
});

const NO_OBJECTS: [string, unknown][] = [
  ["no body", undefined],
  ["null", "null"],
  ["a text", '"text"'],
  ["a list", "[1]"],
];

for (const path of ["/sign-up/email", "/update-user", "/sign-in/email"]) {
  for (const [name, body] of NO_OBJECTS) {
    Deno.test(`createAuthHandler() answers 400 to ${path} with ${name}, also with the username plugin`, async () => {
      const plugged = createAuth(db, {
        ...config,
        schema: { user: usernameUsers },
        plugins: [username()],
      });
      const event = {
        ...post(path, body, body === undefined ? {} : { "content-type": "application/json" }),
      };
      const result = await call(event, {}, createRestApiEvent, plugged);
      assertEquals([result.statusCode, JSON.parse(result.body).code], [400, "VALIDATION_ERROR"]);
      const library = betterAuth({
        secret: SECRET,
        baseURL: config.baseURL,
        emailAndPassword: { enabled: true },
        database: memoryAdapter({}),
        logger: { disabled: true },
        rateLimit: { enabled: false },
      });
      const theirs = await library.handler(
        new Request(`${config.baseURL}/api/auth${path}`, {
          method: "POST",
          body: body as string | undefined,
          headers: body === undefined ? {} : { "content-type": "application/json" },
        }),
      );
      // without plugins better-auth validates the body itself; /update-user needs a session first
      if (path !== "/update-user") {
        assertEquals(JSON.parse(result.body), await theirs.json());
        assertEquals(theirs.status, 400);
      }
    });
  }
}

Deno.test("createAuthHandler() answers 4xx to an invalid identity token of every built-in provider", async () => {
  const given = { tenantId: "common", domain: "a.example.com", region: "eu", userPoolId: "p" };
  const credentials = { clientId: "id", clientSecret: "secret" };
  const socialProviders = Object.fromEntries(
    socialProviderList.map((id) => {
      const options = Object.entries(given).filter(([name]) => name in PROVIDER_TREE[id]);
      return [id, { ...credentials, options: Object.fromEntries(options) }];
    }),
  ) as unknown as SocialProvidersConfig;
  const social = createAuth(db, { ...config, socialProviders });
  assert(socialProviderList.length > 30);
  const statuses = new Set<number>();
  for (const provider of socialProviderList) {
    for (const token of ["garbage", "a.b.c"]) {
      const event = post("/sign-in/social", { provider, idToken: { token } });
      statuses.add((await call(event, {}, undefined, social)).statusCode);
    }
  }
  assertEquals([...statuses].sort(), [401, 404]);
});

Deno.test("createAuthHandler() gives error bodies the form of errorBody, and keeps better-auth's code", async () => {
  await reset();
  const options: AuthHandlerOptions = {
    errorBody: ({ code, message, correlationId }, statusCode) => ({
      error: { code, statusCode, hasText: message !== "", hasId: correlationId !== undefined },
    }),
  };
  const refused = await call(post("/sign-in/email", ADA), options);
  assertEquals(JSON.parse(refused.body), {
    error: {
      code: "INVALID_EMAIL_OR_PASSWORD",
      statusCode: 401,
      hasText: true,
      hasId: true,
    },
  });
  const unknown = await call(post("/nothing", {}), options);
  assertEquals([unknown.statusCode, JSON.parse(unknown.body).error.code], [404, "NOT_FOUND"]);
  const own = await call(post("/ok"), { ...options, routes: ["/sign-out"] });
  assertEquals([own.statusCode, JSON.parse(own.body).error.code], [404, "NOT_FOUND"]);
  const plain = await call(post("/nothing", {}));
  assertEquals(Object.keys(JSON.parse(plain.body)), [
    "message",
    "code",
    "requestId",
    "correlationId",
  ]);
});

const SOURCES: [string, (options: EventOptions) => ApiEvent][] = [
  ["a REST API", createRestApiEvent],
  ["an HTTP API", createHttpApiEvent],
  ["a load balancer", createAlbEvent],
  ["a load balancer with lists", (options) => createAlbEvent({ ...options, multiValue: true })],
];

for (const [source, createEvent] of SOURCES) {
  Deno.test(`createAuthHandler() keeps both cookies of multiSession behind ${source}`, async () => {
    await reset();
    const several = createAuth(db, { ...config, plugins: [multiSession()] });
    const result = await call(post("/sign-up/email", ADA), {}, createEvent, several);
    const single = Object.entries(result.headers ?? {}).filter(([name]) =>
      name.toLowerCase() === "set-cookie"
    ).map(([, value]) => String(value));
    const lists = Object.entries(result.multiValueHeaders ?? {}).filter(([name]) =>
      name.toLowerCase() === "set-cookie"
    ).flatMap(([, values]) => values.map(String));
    const names = [...single, ...lists, ...result.cookies ?? []].map((cookie) =>
      cookie.split("=")[0].replace(/_multi-.*/, "_multi")
    );
    assertEquals(names.sort(), [
      "__Secure-better-auth.session_token",
      "__Secure-better-auth.session_token_multi",
    ]);
  });
}

function preflight(path: string, origin: string): EventOptions {
  return {
    method: "OPTIONS",
    path,
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-type,x-captcha-response",
    },
  };
}

for (const [source, createEvent] of SOURCES.slice(0, 3)) {
  Deno.test(`createAuthHandler() answers preflights of trusted origins behind ${source}`, async () => {
    const path = "/api/auth/sign-in/email";
    const result = await call(preflight(path, "https://app.example.com"), {}, createEvent);
    const headers = getHeaders(result);
    assertEquals(result.statusCode, 204);
    assertEquals(headers["access-control-allow-origin"], "https://app.example.com");
    assertEquals(headers["access-control-allow-credentials"], "true");
    assertEquals(headers["access-control-allow-methods"], "POST");
    assertEquals(headers["access-control-allow-headers"], "content-type,x-captcha-response");
    assertStringIncludes(headers.vary, "Origin");
    const other = await call(preflight(path, "https://evil.example.com"), {}, createEvent);
    assertEquals(getHeaders(other)["access-control-allow-origin"], undefined);
    assertStringIncludes(getHeaders(other).vary, "Origin");
  });
}

Deno.test("createAuthHandler() allows credentials to trusted origins only, and keeps the exposed headers", async () => {
  await reset();
  await call(post("/sign-up/email", ADA));
  const signIn = (origin: string) => post("/sign-in/email", ADA, { origin });
  const trusted = getHeaders(await call(signIn("https://app.example.com"), { cors: "*" }));
  assertEquals(trusted["access-control-allow-origin"], "https://app.example.com");
  assertEquals(trusted["access-control-allow-credentials"], "true");
  assertEquals(trusted["access-control-expose-headers"], "set-auth-token");
  assert(trusted["set-auth-token"]);
  assertEquals(trusted.vary, "Origin");
  const other = getHeaders(await call(signIn("https://other.example.com"), { cors: "*" }));
  assertEquals(other["access-control-allow-origin"], "*");
  assertEquals(other["access-control-allow-credentials"], undefined);
  assertEquals(other.vary, "Origin");
  const off = getHeaders(await call(signIn("https://app.example.com"), { cors: false }));
  assertEquals(off["access-control-allow-origin"], undefined);
});

Deno.test("createAuthHandler() asks a function of trustedOrigins for the origins of preflights", async () => {
  const dynamic = createAuth(db, {
    ...config,
    trustedOrigins: (request?: Request) =>
      Promise.resolve(
        request?.headers.get("origin")?.endsWith(".tenant.example.com")
          ? [request.headers.get("origin")!]
          : [],
      ),
  });
  const allowed = async (origin: string) =>
    getHeaders(
      await call(preflight("/api/auth/sign-out", origin), {}, undefined, dynamic),
    )["access-control-allow-credentials"];
  assertEquals(await allowed("https://a.tenant.example.com"), "true");
  assertEquals(await allowed("https://a.example.com"), undefined);
});

Deno.test("listAuthRoutes() lists what better-auth's own router serves, and findAuthRoute() finds it", () => {
  const library = betterAuth({
    secret: SECRET,
    baseURL: config.baseURL,
    database: memoryAdapter({}),
    plugins: [multiSession()],
  });
  const routes = listAuthRoutes(library.api, { disabledPaths: ["/ok"] });
  const names = routes.map(({ method, path }) => `${method} ${path}`);
  const deferred = listAuthRoutes(library.api, { session: { deferSessionRefresh: true } });
  assertEquals(listMethods(deferred, "/get-session"), ["GET", "POST"]);
  assertEquals(listMethods(routes, "/get-session"), ["GET"]);
  assertEquals(listMethods(routes, "/ok"), []);
  for (
    const name of [
      "POST /sign-in/email",
      "GET /get-session",
      "GET /reset-password/:token",
      "GET /multi-session/list-device-sessions",
    ]
  ) assert(names.includes(name), name);
  assert(!names.includes("GET /ok"));
  assertEquals(findAuthRoute(routes, "GET", "/reset-password/x")?.path, "/reset-password/:token");
  assertEquals(findAuthRoute(routes, "POST", "/reset-password")?.path, "/reset-password");
  assertEquals(findAuthRoute(routes, "GET", "/reset-password"), undefined);
});

const MATCHES: [string, string, boolean][] = [
  ["/sign-in/*", "/sign-in/email", true],
  ["/sign-in/*", "/sign-in/a/b", true],
  ["/sign-in/*", "/sign-in", false],
  ["/sign-in/*", "/sign-inn/email", false],
  ["/*", "/ok", true],
  ["/ok", "/ok/", false],
  ["/reset-password/:token", "/reset-password/abc", true],
  ["/reset-password/:token", "/reset-password/", false],
  ["/reset-password/:token", "/reset-password/a/b", false],
  ["/callback/google", "/callback/:id", false],
  ["/sign-in/*", "/:x/email", false],
];

for (const [pattern, path, expected] of MATCHES) {
  Deno.test(`isMounted() is ${expected} for ${path} when ${pattern} is mounted`, () => {
    assertEquals(isMounted([pattern], path), expected);
  });
}

Deno.test("isRouteMounted() is true for a route whose parameter a mounted path can be", () => {
  assertEquals(isRouteMounted(["/callback/google"], "/callback/:id"), true);
  assertEquals(isRouteMounted(["/callback/google"], "/delete-user/:id"), false);
});
