import { assert, assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import {
  configureSessionAuth,
  createAuth,
  getConfiguredSessionAuth,
  resetSessionAuth,
} from "../../../auth/mod.ts";
import { checkSessionOf } from "../../support/session_check.ts";
import { ConfigurationError, UnauthorizedError } from "../../../errors/mod.ts";
import {
  createLambdaContext,
  createRestApiEvent,
  createWebSocketConnectEvent,
} from "../../../testing/mod.ts";
import { defineWebSocketHandler } from "../../../triggers/mod.ts";
import { openAuthDatabase, SECRET } from "../auth_database.ts";

const config = { secret: SECRET, baseURL: "http://localhost:3000" };
const withBearer = (token: string) =>
  createRestApiEvent({ headers: { Authorization: `Bearer ${token}` } });
const { pglite, db, queries, reset } = await openAuthDatabase();
globalThis.addEventListener("unload", () => void pglite.close());

Deno.test("getConfiguredSessionAuth() throws until configureSessionAuth() was called, and after resetSessionAuth()", async () => {
  const message = "call configureSessionAuth(getDb, config) at module scope";
  await assertRejects(() => getConfiguredSessionAuth(), ConfigurationError, message);
  configureSessionAuth(() => Promise.resolve(db), config);
  assertStrictEquals(await getConfiguredSessionAuth(), createAuth(db, config));
  resetSessionAuth();
  await assertRejects(() => getConfiguredSessionAuth(), ConfigurationError, message);
  await assertRejects(
    () => checkSessionOf(withBearer("t")),
    ConfigurationError,
    "configureSessionAuth",
  );
});

Deno.test("configureSessionAuth() connects at the first request, not before, and not without a credential", async () => {
  await reset();
  let connects = 0;
  configureSessionAuth(() => (connects++, Promise.resolve(db)), config);
  assertEquals(connects, 0);
  const auth = await getConfiguredSessionAuth();
  assertEquals(connects, 1);
  const { token } = await auth.api.signUpEmail({
    body: { name: "A", email: "a@example.com", password: "correct horse" },
  });
  queries.length = 0;
  await assertRejects(
    () => checkSessionOf(createRestApiEvent({})),
    UnauthorizedError,
    "The Authorization header must be: Bearer <token>",
  );
  assertEquals([connects, queries.length], [1, 0]);
  const { user } = (await checkSessionOf(withBearer(String(token)))).session!;
  assertEquals(user.email, "a@example.com");
  assert(queries.length === 1);
  resetSessionAuth();
});

Deno.test("configureSessionAuth() lets a handler try again after the database was away", async () => {
  let calls = 0;
  configureSessionAuth(
    () => ++calls === 1 ? Promise.reject(new Error("away")) : Promise.resolve(db),
    config,
  );
  await assertRejects(() => checkSessionOf(withBearer("unknown")), Error, "away");
  await assertRejects(
    () => checkSessionOf(withBearer("unknown")),
    UnauthorizedError,
    "The session is invalid or has expired",
  );
  resetSessionAuth();
});

Deno.test("defineWebSocketHandler() with auth session admits sessions, and cookies from trusted origins only", async () => {
  await reset();
  configureSessionAuth(() => Promise.resolve(db), {
    ...config,
    trustedOrigins: ["https://app.example.com"],
  });
  const auth = await getConfiguredSessionAuth();
  const { headers } = await auth.api.signUpEmail({
    body: { name: "A", email: "a@example.com", password: "correct horse" },
    asResponse: true,
  });
  const cookie = headers.getSetCookie().map((pair) => pair.split(";")[0]).join("; ");
  const token = headers.get("set-auth-token")!;
  const users: string[] = [];
  const handler = defineWebSocketHandler({
    auth: "session",
    logging: { level: "SILENT" },
    metrics: false,
  })((params) => {
    if (params.eventType === "CONNECT") users.push(`${params.userId} ${params.session.user.email}`);
  });
  const cases: [headers: Record<string, string>, status: number][] = [
    [{ Cookie: cookie, Origin: "https://app.example.com" }, 200],
    [{ cookie, origin: "http://localhost:3000" }, 200],
    [{ Authorization: `Bearer ${token}` }, 200],
    // a page of another site, which browsers send the cookie for
    [{ Cookie: cookie, Origin: "https://evil.example" }, 403],
    [{ Cookie: cookie, Origin: "null" }, 403],
    [{ Cookie: cookie }, 403],
    [{ Cookie: `${cookie.slice(0, -3)}abc`, Origin: "https://app.example.com" }, 401],
    [{ Authorization: "Bearer forged" }, 401],
    [{}, 401],
  ];
  for (const [headers, status] of cases) {
    users.length = 0;
    const event = createWebSocketConnectEvent({ headers });
    const result = await handler(event, createLambdaContext());
    assertEquals(result.statusCode, status, JSON.stringify(headers));
    assertEquals(users.length, status === 200 ? 1 : 0);
  }
  resetSessionAuth();
});
