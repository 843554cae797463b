import { assertEquals } from "@std/assert";
import type { BetterAuthPlugin } from "better-auth";
import { APIError, createAuthMiddleware } from "better-auth/api";
import { type AuthConfig, type BetterAuthInstance, createAuth } from "../../../auth/mod.ts";
import { getClientAddressHeader } from "../../../auth/better_auth/client_address_header.ts";
import { openAuthDatabase, SECRET } from "../auth_database.ts";
import { FAST_PASSWORDS } from "../fast_passwords.ts";

const { db, pglite, reset, queries } = await openAuthDatabase();
Deno.test.beforeEach(reset);
Deno.test.afterAll(() => pglite.close());

const ADA = "ada@example.com", PASSWORD = "correct horse battery";
const BASE = "https://api.example.com";

let configs = 0;

/** A separate instance, with a limit of 3 sign-ins by address and 2 failures by account. */
function open(config: Partial<AuthConfig> = {}): BetterAuthInstance {
  return createAuth(db, {
    secret: SECRET,
    baseURL: BASE,
    appName: `counts ${++configs}`,
    emailAndPassword: { enabled: true, password: FAST_PASSWORDS },
    rateLimit: { customRules: { "/**": { max: 3, window: 3_600 } } },
    accountLimits: { failuresPerAddress: { limit: 2, windowSeconds: 3_600 } },
    ...config,
  });
}

interface Call {
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

async function call(
  auth: BetterAuthInstance,
  { path = "/sign-in/email", headers, body = { email: ADA, password: PASSWORD } }: Call = {},
): Promise<number> {
  const response = await auth.handler(
    new Request(`${BASE}/api/auth${path}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        [getClientAddressHeader()]: "203.0.113.1",
        ...headers,
      },
      body: typeof body === "string" ? body : JSON.stringify(body),
    }),
  );
  return response.status;
}

const signUp = (auth: BetterAuthInstance) =>
  auth.api.signUpEmail({ body: { name: "Ada", email: ADA, password: PASSWORD } });

async function readCounts(): Promise<[kind: string, count: number][]> {
  const { rows } = await pglite.query<{ key: string; count: number }>(
    "select key, count from rate_limits order by key",
  );
  return rows.map(({ key, count }) => [key.split("|")[0], count]);
}

Deno.test("a sign-in is counted by its route, then by its account in one statement", async () => {
  const auth = open();
  await signUp(auth);
  await call(auth);
  queries.length = 0;
  assertEquals(await call(auth), 200);
  const kinds = queries.map((query) => query.trim().split(/[\s(]/)[0]);
  assertEquals(kinds, ["with", "with", "select", "select", "insert", "update", "update"]);
  assertEquals(await readCounts(), [["attempt", 0], ["attempt", 0], ["route", 2]]);
});

Deno.test("a request that better-auth refuses before the endpoint is counted by its route only", async () => {
  const auth = open();
  await signUp(auth);
  const headers = { cookie: "a=b", origin: "https://attacker.example" };
  assertEquals(await call(auth, { headers }), 403);
  assertEquals(await call(auth, { body: "{" }), 400);
  assertEquals(await call(auth, { headers }), 403);
  assertEquals(await readCounts(), [["route", 3]]);
  assertEquals([await call(auth, { headers }), await call(auth)], [429, 429]);
  assertEquals(await readCounts(), [["route", 3]]);
});

Deno.test("a refused attempt checks no password, also among concurrent ones", async () => {
  let checked = 0;
  const password = {
    ...FAST_PASSWORDS,
    verify(input: { hash: string; password: string }): Promise<boolean> {
      checked++;
      return FAST_PASSWORDS.verify(input);
    },
  };
  const auth = open({
    emailAndPassword: { enabled: true, password },
    rateLimit: { customRules: { "/**": false } },
  });
  await signUp(auth);
  const body = { email: ADA, password: "wrong" };
  const statuses = await Promise.all(Array.from({ length: 12 }, () => call(auth, { body })));
  assertEquals(statuses.filter((status) => status === 401).length, 2);
  assertEquals(statuses.filter((status) => status === 429).length, 10);
  assertEquals(checked, 2);
  // the correct password neither
  assertEquals([await call(auth), checked], [429, 2]);
});

Deno.test("a hook of the application does not run for a request over the limit of its route", async () => {
  let ran = 0;
  const before = createAuthMiddleware(() => Promise.resolve(void ran++));
  const auth = open({ hooks: { before } });
  const statuses: number[] = [];
  for (let i = 0; i < 5; i++) {
    statuses.push(await call(auth, { path: "/sign-in/email", body: { email: `${i}@x.example` } }));
  }
  assertEquals([statuses.slice(3), ran], [[429, 429], 3]);
});

Deno.test("a hook of a plugin does not run for an attempt over the limit of its account", async () => {
  let ran = 0;
  const plugin: BetterAuthPlugin = {
    id: "watcher",
    hooks: {
      before: [{
        matcher: ({ path }) => path === "/sign-in/email",
        handler: createAuthMiddleware(() => Promise.resolve(void ran++)),
      }],
    },
  };
  const auth = open({ plugins: [plugin], rateLimit: { customRules: { "/**": false } } });
  const statuses: number[] = [];
  for (let i = 0; i < 4; i++) {
    statuses.push(await call(auth, { body: { email: ADA, password: `${i}` } }));
  }
  assertEquals([statuses, ran], [[401, 401, 429, 429], 2]);
});

Deno.test("a sign-in that a later hook refuses stays counted", async () => {
  const after = createAuthMiddleware(({ path }) => {
    if (path !== "/sign-in/email") return Promise.resolve();
    throw new APIError("FORBIDDEN", { message: "Not today" });
  });
  const auth = open({ hooks: { after }, rateLimit: { customRules: { "/**": false } } });
  await signUp(auth);
  const statuses: number[] = [];
  for (let i = 0; i < 4; i++) statuses.push(await call(auth));
  assertEquals(statuses, [403, 403, 429, 429]);
  assertEquals(await readCounts(), [["attempt", 2], ["attempt", 2]]);
});

Deno.test("a sign-up over the limit of messages writes nothing", async () => {
  const messages = { limit: 1, windowSeconds: 3_600 };
  const auth = open({ accountLimits: { messages } });
  const body = { name: "Ada", email: ADA, password: "short" };
  assertEquals(await call(auth, { path: "/sign-up/email", body }), 400);
  queries.length = 0;
  const valid = { ...body, password: PASSWORD };
  assertEquals(await call(auth, { path: "/sign-up/email", body: valid }), 429);
  assertEquals(queries.filter((query) => /begin|insert into "(?!rate)/.test(query)), []);
});

Deno.test("a request over the limit of its route reads no session of another storage", async () => {
  const stored = new Map<string, unknown>();
  let reads = 0;
  const unused = () => Promise.reject(new Error("not used"));
  const auth = open({
    session: { storeSessionInDatabase: true },
    secondaryStorage: {
      get: (key) => (reads++, stored.get(key)),
      set: (key, value) => void stored.set(key, value),
      delete: (key) => void stored.delete(key),
      increment: unused,
      getAndDelete: unused,
    },
  });
  const { token } = await signUp(auth);
  const headers = { authorization: `Bearer ${token}` };
  const body = { currentPassword: PASSWORD, newPassword: PASSWORD };
  const change = () => call(auth, { path: "/change-password", headers, body });
  for (let i = 0; i < 3; i++) assertEquals(await change(), 200);
  reads = 0;
  assertEquals([await change(), reads], [429, 0]);
});
