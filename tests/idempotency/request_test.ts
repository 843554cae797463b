import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import type { ApiEvent, ProxyResult } from "../../core/mod.ts";
import { buildValidatedResponse } from "../../core/mod.ts";
import * as z from "zod";
import { sql } from "../../database/orm.ts";
import { AppError, ConfigurationError, NotFoundError } from "../../errors/mod.ts";
import { createHttpApiEvent, createLambdaContext, createRestApiEvent } from "../../testing/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { captureLogs } from "../support/capture_logs.ts";
import { createIdempotencyStore } from "../../idempotency/mod.ts";
import { shareStores, type StoreLab, testStores } from "./stores.ts";

const QUIET = { logging: { level: "SILENT" }, metrics: false } as const;

type Answer = (call: number, tx: unknown) => ProxyResult | Promise<ProxyResult>;

/** Handler that counts its executions. */
function createLab(
  { store }: StoreLab,
  answer: Answer,
  options: { required?: boolean; fingerprint?: false } = {},
) {
  const lab = { calls: 0 };
  const handler = defineApiHandler({ ...QUIET, idempotency: { store, ...options } })(
    function createOrder(params) {
      return answer(++lab.calls, (params as { tx?: unknown }).tx);
    },
  );
  async function send(key?: string, body = "{}", more: Partial<ApiEvent> = {}) {
    const event = createRestApiEvent({
      method: "POST",
      path: "/orders",
      headers: key === undefined ? {} : { "idempotency-key": key },
      body,
    });
    const requestId = crypto.randomUUID();
    const context = createLambdaContext({ functionName: "orders", awsRequestId: requestId });
    return await handler({ ...event, ...more } as ApiEvent, context);
  }
  return Object.assign(lab, { send, handler });
}

const created: Answer = (call) => ({
  statusCode: 201,
  headers: { "Content-Type": "application/json", Location: `/orders/${call}` },
  multiValueHeaders: { "X-Part": ["a", "b"] },
  body: `{"order": ${call}}`,
});

/** What a replay must have in common with the first response. */
function withoutDelivery({ headers = {}, ...rest }: ProxyResult): unknown {
  const {
    "X-Correlation-Id": _correlation,
    "Idempotency-Replayed": _replayed,
    ...kept
  } = headers;
  return { ...rest, headers: kept };
}

testStores(
  "defineApiHandler() replays the stored response when a key is sent again",
  async (lab) => {
    const orders = createLab(lab, created);
    const first = await orders.send("k-1");
    const second = await orders.send("k-1");
    assertEquals(orders.calls, 1);
    assertEquals(first.headers?.["Idempotency-Replayed"], undefined);
    assertEquals(second.headers?.["Idempotency-Replayed"], "true");
    assertEquals(withoutDelivery(second), withoutDelivery(first));
    assertEquals((await orders.send("k-2")).body, '{"order": 2}');
  },
);

testStores("defineApiHandler() accepts the key with and without quotes", async (lab) => {
  const orders = createLab(lab, created);
  await orders.send('"k-1"');
  await orders.send("k-1");
  assertEquals(orders.calls, 1);
});

testStores("defineApiHandler() answers 400 when the key is missing or malformed", async (lab) => {
  const orders = createLab(lab, created);
  for (const key of [undefined, "", '""', "a b", "ä", "x".repeat(256), 'a"b', "a\\b"]) {
    const { statusCode, body } = await orders.send(key);
    assertEquals([key, statusCode], [key, 400]);
    assertStringIncludes(body, "Idempotency-Key");
  }
  assertEquals(orders.calls, 0);
});

testStores(
  "defineApiHandler() executes requests without a key when none is required",
  async (lab) => {
    const orders = createLab(
      lab,
      (_, tx) => ({ statusCode: 200, body: String(tx !== undefined) }),
      {
        required: false,
      },
    );
    const { body } = await orders.send();
    await orders.send();
    assertEquals([orders.calls, body], [2, String(lab.name === "transaction")]);
    assertEquals(await lab.count(), 0);
  },
);

testStores(
  "defineApiHandler() answers 400 to an empty key also when none is required",
  async (lab) => {
    const orders = createLab(lab, created, { required: false });
    assertEquals([(await orders.send("")).statusCode, orders.calls], [400, 0]);
  },
);

testStores("defineApiHandler() answers 422 when a key comes with another request", async (lab) => {
  const orders = createLab(lab, created);
  await orders.send("k-1", '{"item":1}');
  assertEquals((await orders.send("k-1", '{"item":2}')).statusCode, 422);
  assertEquals((await orders.send("k-1", '{"item":1}', { path: "/other" })).statusCode, 422);
  assertEquals(
    (await orders.send("k-1", '{"item":1}', { queryStringParameters: { a: "1" } })).statusCode,
    422,
  );
  assertEquals((await orders.send("k-1", '{"item":1}')).statusCode, 201);
  assertEquals(orders.calls, 1);
});

testStores(
  "defineApiHandler() accepts any request with the key when fingerprint is false",
  async (lab) => {
    const orders = createLab(lab, created, { fingerprint: false });
    await orders.send("k-1", '{"item":1}');
    assertEquals((await orders.send("k-1", '{"item":2}')).body, '{"order": 1}');
  },
);

testStores(
  "defineApiHandler() answers 409 with Retry-After while the first request runs",
  async (lab) => {
    let finish = (_: ProxyResult) => {};
    const started = Promise.withResolvers<void>();
    const orders = createLab(lab, () => {
      started.resolve();
      return new Promise((resolve) => finish = resolve);
    });
    const first = orders.send("k-1", "1");
    await started.promise;
    if (lab.name !== "transaction") { // an embedded database has one connection, which the transaction holds
      const second = await orders.send("k-1", "1");
      assertEquals([second.statusCode, second.headers?.["Retry-After"]], [409, "1"]);
      assertEquals((await orders.send("k-1", "2")).statusCode, 422);
    }
    finish({ statusCode: 200, body: "done" });
    assertEquals((await first).body, "done");
    assertEquals((await orders.send("k-1", "1")).body, "done");
    assertEquals(orders.calls, 1);
  },
);

testStores("defineApiHandler() frees the key when the handler fails", async (lab) => {
  const failures: Answer[] = [
    () => Promise.reject(new TypeError("broken")),
    () => ({ statusCode: 503, body: "later" }),
    () => ({ statusCode: 429, body: "slow down" }),
    () => Promise.reject(new AppError("TOO_MANY_REQUESTS")),
    () => ({ body: "no status" }) as ProxyResult,
  ];
  for (const [index, failure] of failures.entries()) {
    const orders = createLab(lab, (call, tx) => call === 1 ? failure(1, tx) : created(call, tx));
    const { statusCode } = await orders.send(`k-${index}`);
    assertEquals(await lab.count(), index, "the key is still taken");
    assertEquals([statusCode === 429 || statusCode >= 500], [true]);
    assertEquals((await orders.send(`k-${index}`)).statusCode, 201);
    assertEquals(orders.calls, 2);
  }
});

testStores("defineApiHandler() replays a 4xx that is returned or thrown", async (lab) => {
  const failures: Answer[] = [
    () => ({ statusCode: 404, headers: { A: "b" }, body: "none" }),
    () => Promise.reject(new NotFoundError("No such order", { headers: { "X-Why": "gone" } })),
  ];
  for (const [index, failure] of failures.entries()) {
    const orders = createLab(lab, failure);
    const first = await orders.send(`k-${index}`);
    const second = await orders.send(`k-${index}`);
    assertEquals([first.statusCode, orders.calls], [404, 1]);
    assertEquals(second.headers?.["Idempotency-Replayed"], "true");
    assertEquals(withoutDelivery(second), withoutDelivery(first));
  }
});

testStores(
  "defineApiHandler() executes again when the lease or the record has expired",
  async (lab) => {
    const orders = createLab(lab, created);
    const stuck = createLab(lab, () => new Promise(() => {}));
    if (lab.name !== "transaction") {
      void stuck.send("k-1");
      while (await lab.count() === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      assertEquals((await orders.send("k-1")).statusCode, 409);
      await lab.endLeases();
    }
    assertEquals((await orders.send("k-1")).body, '{"order": 1}');
    await lab.expire();
    assertEquals((await orders.send("k-1")).body, '{"order": 2}');
    assertEquals(await lab.count(), 1);
  },
);

testStores(
  "defineApiHandler() does not let an execution change a record whose lease it lost",
  async (lab) => {
    if (lab.name === "transaction") return; // see race_test.ts
    for (const outcome of ["done", "failed"]) {
      const ends = Promise.withResolvers<ProxyResult>();
      const slow = createLab(lab, () => ends.promise);
      const first = slow.send(outcome);
      while (!(await lab.dump()).includes("createOrder")) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      while (slow.calls === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      await lab.endLeases();
      const orders = createLab(lab, () => ({ statusCode: 200, body: "second" }));
      assertEquals((await orders.send(outcome)).body, "second");
      ends.resolve({ statusCode: outcome === "done" ? 200 : 500, body: "first" });
      await first;
      assertEquals((await orders.send(outcome)).body, "second");
      assertEquals(orders.calls, 1);
    }
  },
);

const CREDENTIAL_HEADERS = [
  "set-auth-token",
  "Set-Auth-JWT",
  "Authorization",
  "Authentication-Info",
  "Proxy-Authentication-Info",
  "X-Api-Key",
  "x-session-id",
  "X-Refresh-Token",
];

testStores(
  "defineApiHandler() neither stores nor replays headers with credentials",
  async (lab) => {
    const orders = createLab(lab, () => ({
      statusCode: 200,
      headers: Object.fromEntries(CREDENTIAL_HEADERS.map((name) => [name, "SECRET4"])),
      multiValueHeaders: { "Set-Auth-Token": ["SECRET5"], ETag: ["e1"] },
      body: "ok",
    }));
    const first = await orders.send("k-1");
    const missing = CREDENTIAL_HEADERS.filter((name) =>
      !`${first.headers?.[name]}`.startsWith("SECRET4")
    );
    assertEquals(missing, []);
    assertEquals((await lab.dump()).includes("SECRET"), false);
    const second = await orders.send("k-1");
    assertEquals(JSON.stringify(second).includes("SECRET"), false);
    assertEquals([second.headers?.ETag, second.multiValueHeaders], ["e1", undefined]);
  },
);

const OTHER_HEADERS = [
  "X-Next-Page-Token",
  "next-token",
  "X-Continuation-Token",
  "x-tokens-remaining",
  "X-RateLimit-Remaining-Tokens",
  "Signature",
  "Signature-Input",
];

testStores(
  "defineApiHandler() replays headers that are named like credentials and have none",
  async (lab) => {
    const headers = Object.fromEntries(OTHER_HEADERS.map((name) => [name, `v-${name}`]));
    const orders = createLab(lab, () => ({ statusCode: 200, headers, body: "ok" }));
    await orders.send("k-1");
    const second = await orders.send("k-1");
    assertEquals(OTHER_HEADERS.filter((name) => second.headers?.[name] !== `v-${name}`), []);
  },
);

testStores(
  "defineApiHandler() replays a declared response as it was parsed once",
  async ({ store }) => {
    const Counted = z.object({ n: z.number().transform((n) => n + 1) });
    const handler = defineApiHandler({ ...QUIET, responseSchema: Counted, idempotency: { store } })(
      ({ context }) => buildValidatedResponse(context, 200, { n: 1, secret: 1 }),
    );
    const event = createRestApiEvent({ method: "POST", headers: { "idempotency-key": "k-1" } });
    for (const requestId of ["r-1", "r-2"]) {
      const result = await handler(event, createLambdaContext({ awsRequestId: requestId }));
      assertEquals(result.body, '{"n":2}');
    }
  },
);

testStores("defineApiHandler() stores neither cookies nor the key", async (lab) => {
  const orders = createLab(lab, () => ({
    statusCode: 200,
    headers: { "set-cookie": "a=SECRET1", "X-Correlation-Id": "c-first" },
    multiValueHeaders: { "Set-Cookie": ["b=SECRET2"] },
    cookies: ["c=SECRET3"],
    body: "ok",
  }));
  const first = await orders.send("my-key-123");
  assertEquals(first.multiValueHeaders?.["Set-Cookie"]?.length, 3);
  const stored = await lab.dump();
  for (const text of ["SECRET", "my-key-123", "c-first"]) {
    assertEquals(stored.includes(text), false, text);
  }
  const second = await orders.send("my-key-123");
  assertEquals(JSON.stringify(second).toLowerCase().includes("cookie"), false);
});

testStores(
  "defineApiHandler() answers 409 when the response was too large to be stored",
  async (lab) => {
    const orders = createLab(lab, () => ({ statusCode: 200, body: "ä".repeat(600_000) }));
    assertEquals((await orders.send("k-1")).statusCode, 200);
    const second = await orders.send("k-1");
    assertEquals([second.statusCode, second.headers?.["Retry-After"]], [409, undefined]);
    assertEquals(orders.calls, 1);
  },
);

testStores("defineApiHandler() keeps the keys of users and functions apart", async (lab) => {
  let calls = 0;
  const handler = defineApiHandler({
    ...QUIET,
    auth: "authorizer",
    idempotency: { store: lab.store },
  })(({ userId }) => ({ statusCode: 200, body: `${userId} ${++calls}` }));
  async function send(userId: string, functionName: string): Promise<string> {
    const event = createRestApiEvent({
      method: "POST",
      headers: { "Idempotency-Key": "k-1" },
      authorizer: { userId, userStatus: "Authenticated" },
    });
    return (await handler(event, createLambdaContext({ functionName }))).body;
  }
  assertEquals(await send("ada", "one"), "ada 1");
  assertEquals(await send("bob", "one"), "bob 2");
  assertEquals(await send("ada", "two"), "ada 3");
  assertEquals(await send("ada", "one"), "ada 1");
});

testStores("defineApiHandler() takes the key of a webhook from its input", async (lab) => {
  let calls = 0;
  const handler = defineApiHandler({
    ...QUIET,
    idempotency: {
      store: lab.store,
      key: ({ event }) => event.headers["webhook-id"],
      scope: () => "payments",
    },
  })(() => ({ statusCode: 200, body: String(++calls) }));
  const send = async (
    headers: Record<string, string>,
  ) => (await handler(createHttpApiEvent({ method: "POST", headers }), createLambdaContext()));
  await send({ "webhook-id": "d-1" });
  assertEquals((await send({ "webhook-id": "d-1" })).body, "1");
  assertEquals((await send({})).statusCode, 400);
});

testStores("defineApiHandler() counts replays in its metrics", async (lab) => {
  const handler = defineApiHandler({ idempotency: { store: lab.store } })(
    function createOrder({ context }) {
      return buildValidatedResponse(context, 200, {});
    },
  );
  const event = createRestApiEvent({ method: "POST", headers: { "Idempotency-Key": "k-1" } });
  await captureLogs(() => handler(event, createLambdaContext()));
  const { lines } = await captureLogs(() => handler(event, createLambdaContext()));
  assertEquals(lines.filter((line) => line.IdempotentReplays === 1).length, 1);
});

Deno.test("createTransactionStore() commits what the handler returns and rolls back failures", async () => {
  const stores = await shareStores();
  const { db, all: [lab] } = stores;
  await db.execute(sql`CREATE TABLE orders (note text)`);
  const outcomes: Record<string, Answer> = {
    ok: () => ({ statusCode: 200, body: "" }),
    rejected: () => ({ statusCode: 409, body: "" }),
    failed: () => ({ statusCode: 500, body: "" }),
    thrown: () => Promise.reject(new NotFoundError()),
  };
  for (const [name, outcome] of Object.entries(outcomes)) {
    const orders = createLab(lab, async (call, tx) => {
      await (tx as typeof db).execute(sql`INSERT INTO orders VALUES (${name})`);
      return outcome(call, tx);
    });
    await orders.send(name);
    await orders.send(name);
    assertEquals(orders.calls, name === "failed" ? 2 : 1);
  }
  const { rows } = await db.execute(sql`SELECT note FROM orders ORDER BY note`);
  assertEquals(rows, [{ note: "ok" }, { note: "rejected" }]);
});

Deno.test("defineApiHandler() refuses an invalid idempotency option at start", () => {
  const store = createIdempotencyStoreWithoutBackend();
  const wrong = [
    {},
    { store: {} },
    { store, ttlSeconds: 0 },
    { store, leaseSeconds: 1.5 },
    { store, key: "header" },
    { store, required: "yes" },
    { store, fingerprint: true },
    { store, unknown: 1 },
  ];
  for (const idempotency of wrong) {
    assertThrows(
      () => defineApiHandler({ idempotency } as never)(() => ({ statusCode: 200, body: "" })),
      ConfigurationError,
    );
  }
});

function createIdempotencyStoreWithoutBackend() {
  return createIdempotencyStore({} as never);
}
