import { assertEquals, assertRejects } from "@std/assert";
import type { BetterAuthPlugin } from "better-auth";
import { APIError, createAuthMiddleware } from "better-auth/api";
import { type AuthConfig, type BetterAuthInstance, createAuth } from "../../auth/mod.ts";
import { waitForCounts } from "../../auth/counted_adapter.ts";
import { getClientAddressHeader } from "../../auth/client_address_header.ts";
import { findRequestCounts, runInScope } from "../../auth/request_scope.ts";
import type { RateLimitStore } from "../../core/rate_limit/rate_limit.ts";
import { openAuthDatabase, SECRET } from "./auth_database.ts";
import { FAST_PASSWORDS } from "./fast_passwords.ts";

const { db, pglite, reset, queries } = await openAuthDatabase();
Deno.test.beforeEach(reset);
Deno.test.afterAll(() => pglite.close());

const ADA = "ada@example.com", PASSWORD = "correct horse battery";
const BASE = "https://api.example.com";

let configs = 0;

/** An instance of its own, with a limit of 3 sign-ins by address and 2 failures by account. */
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

Deno.test("a sign-in is counted by route and account in one statement", async () => {
  const auth = open();
  await signUp(auth);
  await call(auth);
  queries.length = 0;
  assertEquals(await call(auth), 200);
  const kinds = queries.map((query) => query.trim().split(/[\s(]/)[0]);
  assertEquals(kinds, ["with", "select", "select", "update", "update", "insert"]);
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

const ALLOWED = { allowed: true, remaining: 1, resetSeconds: 1, windowStart: "0" };

const store: RateLimitStore = {
  take: () => Promise.resolve(ALLOWED),
  takeInOrder: (counts) => Promise.resolve(counts.map(() => ALLOWED)),
  giveBack: () => Promise.resolve(),
};

/** An adapter that records its calls, and whose reads are answered when the test says so. */
function createRecorder() {
  const calls: string[] = [];
  let answer = (_row: unknown): void => {};
  const adapter = waitForCounts(() => ({
    findOne: () => (calls.push("findOne"), new Promise((resolve) => answer = resolve)),
    update: () => Promise.resolve(calls.push("update")),
    create: (_: { model: string }) => Promise.resolve(calls.push("create")),
    transaction: () => Promise.resolve(calls.push("transaction")),
  }))({});
  return { adapter, calls, answer: (row: unknown) => answer(row) };
}

Deno.test("waitForCounts() sends a read with the counts, and returns its row after them", async () => {
  const seen: unknown[] = [];
  await runInScope("/sign-in/email", store, async () => {
    const { adapter, calls, answer } = createRecorder();
    const { promise, resolve } = Promise.withResolvers<void>();
    findRequestCounts()!.decideLater(promise);
    let row: unknown;
    const reading = adapter.findOne().then((found) => row = found);
    seen.push(...calls);
    answer("row");
    await new Promise((next) => setTimeout(next, 0));
    seen.push(row);
    resolve();
    seen.push(await reading);
  });
  // outside of the request, which waits for the counts before it reports an error
  assertEquals(seen, ["findOne", undefined, "row"]);
});

Deno.test("waitForCounts() refuses a request without its rows, and sends none of its writes", async () => {
  const { adapter, calls, answer } = createRecorder();
  let results: PromiseSettledResult<unknown>[] = [];
  await assertRejects(
    () =>
      runInScope("/sign-in/email", store, async () => {
        const { promise, reject } = Promise.withResolvers<void>();
        findRequestCounts()!.decideLater(promise);
        const all = Promise.allSettled([
          adapter.findOne(),
          adapter.update(),
          adapter.create({ model: "user" }),
          adapter.transaction(),
        ]);
        reject(new Error("refused"));
        answer("a row that is not returned");
        results = await all;
        return "a response that nobody sees";
      }),
    Error,
    "refused",
  );
  // outside of the request, whose refusal takes the place of other errors
  assertEquals(results.map(({ status }) => status), Array(4).fill("rejected"));
  assertEquals(calls, ["findOne"]);
});
