import { assert, assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import {
  configureSessionAuth,
  createAuth,
  getConfiguredSessionAuth,
  resetSessionAuth,
} from "../../auth/mod.ts";
import { getSessionAuthenticator } from "../../core/http/session_registry.ts";
import { ConfigurationError, UnauthorizedError } from "../../errors/mod.ts";
import { createRestApiEvent } from "../../testing/mod.ts";
import { openAuthDatabase, SECRET } from "./auth_database.ts";

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
  assertThrows(() => getSessionAuthenticator(), ConfigurationError);
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
  const authenticate = getSessionAuthenticator();
  assertThrows(
    () => authenticate(createRestApiEvent({})),
    UnauthorizedError,
    "The Authorization header must be: Bearer <token>",
  );
  assertEquals([connects, queries.length], [1, 0]);
  const { user } = (await authenticate(withBearer(String(token)))).session!;
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
  const authenticate = getSessionAuthenticator();
  await assertRejects(() => authenticate(withBearer("unknown")), Error, "away");
  await assertRejects(
    () => authenticate(withBearer("unknown")),
    UnauthorizedError,
    "The session is invalid or has expired",
  );
  resetSessionAuth();
});
