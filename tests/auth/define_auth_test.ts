import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { apiKey as apiKeyPlugin } from "@better-auth/api-key";
import { configureSessionAuth, createAuth, defineAuth, resetSessionAuth } from "../../auth/mod.ts";
import { useConfiguredSession } from "../../core/http/auth_registry.ts";
import type { AuthMethod } from "../../core/http/auth_method.ts";
import { ConfigurationError } from "../../errors/mod.ts";
import {
  createFakeClock,
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
} from "../../testing/mod.ts";
import { createWebSocketConnectEvent } from "../../testing/mod.ts";
import { defineWebSocketHandler } from "../../triggers/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { ACCOUNTS_CONFIG, getPluginApi, signUp } from "./accounts_app.ts";
import { accountsSchema, openAccountsDatabase } from "./accounts_database.ts";
import { API_KEY_TABLE, apikey } from "./api_keys_database.ts";
import { startIssuer } from "./jwt_issuer.ts";

const { pglite, db, queries } = await openAccountsDatabase();
await pglite.exec(API_KEY_TABLE);
globalThis.addEventListener("unload", () => void pglite.close());

const getDb = () => Promise.resolve(db);
const CONFIG = { ...ACCOUNTS_CONFIG, schema: { ...accountsSchema, apikey } };
const QUIET = { logging: { level: "SILENT" }, metrics: false } as const;
const context = createLambdaContext({ clock: createFakeClock() });

async function empty(): Promise<void> {
  await pglite.exec(
    "TRUNCATE people, visits, accounts, verification, members, organizations, api_keys",
  );
}

/** Sends a request to a handler and returns the status and what the handler received. */
async function ask(auth: AuthMethod, headers: Record<string, string> = {}) {
  let seen: Record<string, unknown> = {};
  const handler = defineApiHandler({ auth, ...QUIET })((params) => {
    seen = params as unknown as Record<string, unknown>;
    return { statusCode: 200, body: "{}" };
  });
  const { statusCode, headers: sent } = await handler(
    createHttpApiEvent({ path: "/", headers }),
    context,
  );
  return { statusCode, seen, sent: sent as Record<string, string> };
}

Deno.test("a value of defineAuth() checks sessions without anything that is registered", async () => {
  await empty();
  resetSessionAuth();
  const ada = await signUp(db, "ada@example.com");
  const { session } = defineAuth(getDb, CONFIG);
  const bearer = { authorization: `Bearer ${ada.token}` };
  const { statusCode, seen } = await ask(session(), bearer);
  assertEquals([statusCode, seen.userId], [200, ada.id]);
  assertEquals((await ask(session())).statusCode, 401);
  assertEquals((await ask(session({ optional: true }))).statusCode, 200);
  assertEquals((await ask(session({ roles: ["admin"] }), bearer)).statusCode, 403);
  assertThrows(
    () => useConfiguredSession().authenticate(createRestApiEvent()),
    ConfigurationError,
  );

  const connect = defineWebSocketHandler({ auth: session(), ...QUIET })((params) => {
    if (params.eventType === "CONNECT") assertEquals(params.session.user.email, "ada@example.com");
  });
  const open = (headers: Record<string, string>) =>
    connect(createWebSocketConnectEvent({ headers }), context);
  assertEquals((await open(bearer) as { statusCode: number }).statusCode, 200);
  assertEquals((await open({}) as { statusCode: number }).statusCode, 401);
});

Deno.test("two configurations of defineAuth() check the same process's requests, each its own", async () => {
  await empty();
  const ada = await signUp(db, "ada@example.com");
  const other = {
    ...CONFIG,
    secret: "another-secret-of-at-least-32-characters",
    trustedOrigins: ["https://b.example"],
  };
  const one = defineAuth(getDb, { ...CONFIG, trustedOrigins: ["https://a.example"] });
  const two = defineAuth(getDb, other);
  const three = defineAuth(getDb, CONFIG);
  const signed = { cookie: ada.cookie, origin: "https://a.example" };
  assertEquals((await ask(one.session(), signed)).statusCode, 200);
  // the cookie is signed with the other secret
  assertEquals((await ask(two.session(), signed)).statusCode, 401);
  const credentials = async (auth: AuthMethod, origin: string) =>
    (await ask(auth, { origin })).sent["Access-Control-Allow-Credentials"];
  assertEquals(await credentials(one.session(), "https://a.example"), "true");
  assertEquals(await credentials(one.session(), "https://b.example"), undefined);
  assertEquals(await credentials(two.session(), "https://b.example"), "true");
  assertEquals(await credentials(three.session(), "https://a.example"), undefined);
});

Deno.test("the trusted origins of configureSessionAuth() do not apply to values of defineAuth()", async () => {
  resetSessionAuth();
  configureSessionAuth(getDb, { ...CONFIG, trustedOrigins: ["https://a.example"] });
  const headers = { origin: "https://a.example" };
  const { sent } = await ask(defineAuth(getDb, CONFIG).session(), headers);
  assertEquals(sent["Access-Control-Allow-Credentials"], undefined);
  resetSessionAuth();
});

Deno.test("the name session stands for the value of the same configuration", async () => {
  await empty();
  resetSessionAuth();
  const ada = await signUp(db, "ada@example.com");
  configureSessionAuth(getDb, CONFIG);
  const headers = { authorization: `Bearer ${ada.token}` };
  const outcomes: unknown[] = [];
  for (const auth of ["session", defineAuth(getDb, CONFIG).session()] as const) {
    queries.length = 0;
    let seen: object = {};
    const handler = defineApiHandler({ auth, ...QUIET })(({ userId, session }) => {
      seen = { userId, session };
      return { statusCode: 200, body: "" };
    });
    await handler(createRestApiEvent({ headers }), context);
    const { operation: { auth: mode, isRestricted, isOptional } } = handler;
    outcomes.push({ seen, mode, isRestricted, isOptional, queries: [...queries] });
  }
  assertEquals(outcomes[0], outcomes[1]);
  resetSessionAuth();
});

Deno.test("configureSessionAuth() is refused with other values, and accepted with the same ones", () => {
  resetSessionAuth();
  configureSessionAuth(getDb, CONFIG);
  configureSessionAuth(getDb, { ...CONFIG });
  const others: Parameters<typeof configureSessionAuth>[] = [
    [getDb, { ...CONFIG, sessionExpiresIn: 60 }],
    [getDb, { ...CONFIG, databaseHooks: {} }],
    [() => Promise.resolve(db), CONFIG],
  ];
  for (const given of others) {
    const error = assertThrows(() => configureSessionAuth(...given), ConfigurationError);
    assertStringIncludes(error.message, "called before with another database or configuration");
    assert(!error.message.includes(CONFIG.secret));
  }
  resetSessionAuth();
  configureSessionAuth(...others[0]);
  resetSessionAuth();
});

Deno.test("a value describes itself", () => {
  const { session, apiKey, jwt } = defineAuth(getDb, CONFIG);
  const authorize = () => true;
  const needs = {
    roles: ["admin"],
    organization: { role: "owner" },
    freshWithinSeconds: 300,
    authorize,
  };
  const { mode, needs: given } = session(needs);
  assertEquals([mode, given], ["session", needs]);
  assertEquals(session().needs, {});
  const key = apiKey({ permissions: { notes: ["read"] } });
  assertEquals([key.mode, key.needs], ["api-key", { permissions: { notes: ["read"] } }]);
  const token = jwt({ issuer: "https://login.example.com", audience: "notes" });
  assertEquals([token.mode, token.needs], ["jwt", {}]);

  const operation = (auth: AuthMethod) =>
    defineApiHandler({ auth, ...QUIET })(() => ({ statusCode: 200, body: "" })).operation;
  assertEquals(operation(session(needs)).isRestricted, true);
  assertEquals(operation(session()).isRestricted, false);
  assertEquals(operation(session({ optional: true })).isOptional, true);
  assertEquals(operation(key).auth, "api-key");
});

Deno.test("values of defineAuth() are refused when they are made, not at the first request", () => {
  const { session, apiKey, jwt } = defineAuth(getDb, CONFIG);
  const cases: [make: () => unknown, message: string][] = [
    [() => session({ roles: undefined }), "roles is undefined, which would lift what it protects"],
    [() => session({ authorize: undefined }), "authorize is undefined"],
    [() => session({ organization: { role: undefined } }), "organization.role is undefined"],
    [() => session({ roles: [] }), "roles is []"],
    [() => session({ roles: "admin" } as never), 'roles is "admin"'],
    [() => session({ roles: ["admin", ""] }), "a list of roles"],
    [() => session({ organization: true } as never), "organization is true"],
    [() => session({ organization: { rolle: "owner" } } as never), "organization has no option"],
    [() => session({ organization: { role: [] } }), "organization.role is []"],
    [() => session({ organization: undefined }), "organization is undefined"],
    [() => session({ freshWithinSeconds: 0 }), "freshWithinSeconds is 0: it must be"],
    [() => session({ freshWithinSeconds: undefined }), "freshWithinSeconds is undefined"],
    [() => session({ authorize: "admin" } as never), "a function"],
    [() => session({ optional: true, authorize: () => true }), "does not go with optional"],
    [() => session({ freshWithin: 5 } as never), "session has no option freshWithin"],
    [() => session({ optional: true, roles: ["admin"] }), "does not go with optional"],
    [() => apiKey({ permissions: undefined }), "permissions is undefined"],
    [() => apiKey({ permission: {} } as never), "apiKey has no option permission"],
    [() => apiKey({ plugin: { defaultPrefx: "k" } } as never), "apiKey.plugin has no option"],
    [() => jwt({ issuer: "https://a.example" } as never), "jwt needs the option audience"],
    [() => defineAuth(getDb, ACCOUNTS_CONFIG).apiKey(), "AuthConfig.schema.apikey"],
    [
      () => defineAuth(getDb, { ...CONFIG, secret: "short", baseURL: "https://a.example" }),
      "secret",
    ],
    [() => defineAuth(getDb, { ...CONFIG, sessionUpdatAge: 1 } as never), "sessionUpdatAge"],
    [() => defineApiHandler({ auth: session as never }), "auth is a function"],
    [
      () => defineApiHandler({ auth: session(), roles: ["admin"] } as never),
      "write auth: session({ roles: … })",
    ],
  ];
  for (const [make, message] of cases) {
    assertStringIncludes(assertThrows(make, ConfigurationError).message, message);
  }
});

Deno.test("apiKey() checks the keys of better-auth's plugin", async () => {
  await empty();
  const auth = createAuth(db, { ...CONFIG, plugins: [apiKeyPlugin()] });
  const ada = await signUp(db, "ada@example.com");
  const { key } = await getPluginApi(auth).createApiKey({
    body: { userId: ada.id, permissions: { notes: ["read"] } },
  });
  const { apiKey } = defineAuth(getDb, CONFIG);
  const headers = { "x-api-key": key as string };
  const { statusCode, seen } = await ask(apiKey({ permissions: { notes: ["read"] } }), headers);
  assertEquals([statusCode, seen.userId], [200, ada.id]);
  assertEquals((await ask(apiKey({ permissions: { notes: ["write"] } }), headers)).statusCode, 403);
  assertEquals((await ask(apiKey())).statusCode, 401);
});

Deno.test("jwt() checks tokens of an issuer", async () => {
  const issuer = startIssuer();
  await issuer.addKey("ES256", "k1");
  const { jwt } = defineAuth(getDb, CONFIG);
  const auth = jwt({ issuer: issuer.issuer, audience: "notes" });
  const claims = { iss: issuer.issuer, aud: "notes", sub: "u1", exp: Date.now() / 1000 + 60 };
  const token = await issuer.sign("k1", claims);
  const { statusCode, seen } = await ask(auth, { authorization: `Bearer ${token}` });
  assertEquals([statusCode, seen.userId], [200, "u1"]);
  assertEquals((await ask(auth, { authorization: "Bearer x" })).statusCode, 401);
  await issuer.close();
});
