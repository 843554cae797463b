import { assert, assertEquals, assertThrows } from "@std/assert";
import { setSessionCheck } from "../support/session_check.ts";
import type { ApiEvent, LambdaContext, ProxyResult } from "../../core/mod.ts";
import {
  configureRateLimits,
  getDrizzleClient,
  RATE_LIMIT_MIGRATION_SQL,
  rateLimits,
  resetRateLimits,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { ConfigurationError, UnauthorizedError } from "../../errors/mod.ts";
import {
  createAlbEvent,
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
  createTestDatabase,
} from "../../testing/mod.ts";
import { defineApiHandler, type RateLimitOptions } from "../../validation/mod.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { captureLogs } from "../support/capture_logs.ts";

setLogOutput(() => {});
const { config, close } = await createTestDatabase();
const getDb = () => getDrizzleClient(config);
const db = await getDb();
await db.execute(sql.raw(RATE_LIMIT_MIGRATION_SQL));

Deno.test.beforeEach(async () => {
  await db.delete(rateLimits);
  configureRateLimits(getDb);
});
Deno.test.afterEach(() => resetRateLimits());
Deno.test.afterAll(close);

const RULE = { limit: 2, windowSeconds: 60 } as const;
const QUIET = { logging: { level: "SILENT" as const }, metrics: false };
const ok = (): ProxyResult => ({ statusCode: 204, body: "" });

type Handler = (event: ApiEvent, context: LambdaContext) => Promise<ProxyResult>;

async function ask(handler: Handler, event: ApiEvent, times = 1): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < times; i++) {
    statuses.push((await handler({ ...event }, createLambdaContext())).statusCode);
  }
  return statuses;
}

function from(sourceIp: string): ApiEvent {
  const event = createHttpApiEvent({ path: "/x" });
  const http = { ...event.requestContext.http, sourceIp };
  return { ...event, requestContext: { ...event.requestContext, http } };
}

Deno.test("rateLimit counts by address before authentication", async () => {
  const handler = defineApiHandler({
    ...QUIET,
    auth: "authorizer",
    rateLimit: { ...RULE, by: "address" },
  })(ok);
  assertEquals(await ask(handler, from("203.0.113.1"), 4), [401, 401, 429, 429]);
  assertEquals(await ask(handler, from("203.0.113.2")), [401]);
  assertEquals(await ask(handler, from("2001:db8::1"), 2), [401, 401]);
  assertEquals(await ask(handler, from("2001:db8::2")), [429]);
});

Deno.test("rateLimit counts by user after authentication", async () => {
  setSessionCheck((event) => {
    const id = (event as { headers: Record<string, string> }).headers.user;
    if (!id) throw new UnauthorizedError("no");
    const session = { id: "s", token: "t", expiresAt: new Date() };
    return Promise.resolve({ user: { id, email: "a@b.c", emailVerified: true }, session });
  });
  try {
    const handler = defineApiHandler({
      ...QUIET,
      auth: "session",
      rateLimit: { ...RULE, by: "user" },
    })(ok);
    const as = (user: string) => createRestApiEvent({ headers: { user } });
    assertEquals(await ask(handler, as(""), 4), [401, 401, 401, 401]);
    assertEquals(await ask(handler, as("ada"), 3), [204, 204, 429]);
    assertEquals(await ask(handler, as("bob")), [204]);
  } finally {
    setSessionCheck(undefined);
  }
});

Deno.test("rateLimit counts by the gateway's API key, and by address without one", async () => {
  const handler = defineApiHandler({ ...QUIET, rateLimit: { ...RULE, by: "api-key" } })(ok);
  const event = createRestApiEvent({});
  const withKey = (apiKeyId?: string): ApiEvent => ({
    ...event,
    requestContext: {
      ...event.requestContext,
      identity: { sourceIp: "203.0.113.1", apiKeyId } as { sourceIp: string },
    },
  });
  assertEquals(await ask(handler, withKey("k1"), 3), [204, 204, 429]);
  assertEquals(await ask(handler, withKey("k2")), [204]);
  assertEquals(await ask(handler, withKey(), 3), [204, 204, 429]);
});

Deno.test("rateLimit counts by the key of a function, and not without a key", async () => {
  const handler = defineApiHandler({
    ...QUIET,
    rateLimit: {
      ...RULE,
      by: ({ event }) => event.headers?.tenant,
    },
  })(ok);
  const as = (tenant?: string) => createRestApiEvent({ headers: tenant ? { tenant } : {} });
  assertEquals(await ask(handler, as("a"), 3), [204, 204, 429]);
  assertEquals(await ask(handler, as("b".repeat(5_000)), 3), [204, 204, 429]);
  assertEquals(await ask(handler, as(), 4), [204, 204, 204, 204]);
});

Deno.test("rateLimit counts handlers apart unless they share a name", async () => {
  const rateLimit: RateLimitOptions = { ...RULE, by: "address" };
  const one = defineApiHandler({ ...QUIET, operationName: "One", rateLimit })(ok);
  const two = defineApiHandler({ ...QUIET, operationName: "Two", rateLimit })(ok);
  assertEquals(await ask(one, from("1.1.1.1"), 3), [204, 204, 429]);
  assertEquals(await ask(two, from("1.1.1.1"), 1), [204]);
  const named: RateLimitOptions = { ...rateLimit, name: "both" };
  const three = defineApiHandler({ ...QUIET, operationName: "Three", rateLimit: named })(ok);
  const four = defineApiHandler({ ...QUIET, operationName: "Four", rateLimit: named })(ok);
  assertEquals(await ask(three, from("1.1.1.1"), 2), [204, 204]);
  assertEquals(await ask(four, from("1.1.1.1"), 1), [429]);
});

Deno.test("rateLimit adds its headers to every counted response", async () => {
  let fails = false;
  const handler = defineApiHandler({
    operationName: "List notes",
    rateLimit: { limit: 3, windowSeconds: 60, by: "address" },
  })(function listNotes() {
    if (fails) throw new Error("broken");
    return ok();
  });
  const { lines } = await captureLogs(async () => {
    for (
      const [event, statusCode, remaining] of [
        [createRestApiEvent({}), 204, 2],
        [createRestApiEvent({}), 500, 1],
        [createRestApiEvent({}), 204, 0],
        [createRestApiEvent({}), 429, 0],
      ] as const
    ) {
      fails = statusCode === 500;
      const { headers = {}, ...result } = await handler(event, createLambdaContext());
      assertEquals(result.statusCode, statusCode);
      assertEquals(headers["RateLimit-Policy"], '"List notes";q=3;w=60');
      const [, left, seconds] = /^"List notes";r=(\d+);t=(\d+)$/.exec(
        String(headers["RateLimit"]),
      )!;
      assertEquals(Number(left), remaining);
      assert(Number(seconds) >= 1 && Number(seconds) <= 60);
      assertEquals(headers["Retry-After"], statusCode === 429 ? seconds : undefined);
      if (statusCode === 429) assertEquals(JSON.parse(result.body).code, "TOO_MANY_REQUESTS");
    }
  });
  const metric = lines.find(({ RateLimited }) => RateLimited === 1);
  assertEquals(metric?.policy, "List notes");
});

Deno.test("rateLimit sends its headers in the form of each gateway", async () => {
  const handler = defineApiHandler({ ...QUIET, rateLimit: { ...RULE, by: () => "all" } })(ok);
  const http = await handler(createHttpApiEvent({}), createLambdaContext());
  assertEquals(http.headers?.["RateLimit-Policy"], '"ok";q=2;w=60');
  const alb = await handler(
    { ...createAlbEvent({}), headers: undefined, multiValueHeaders: {} },
    createLambdaContext(),
  );
  assertEquals(alb.multiValueHeaders?.["RateLimit-Policy"], ['"ok";q=2;w=60']);
});

Deno.test("rateLimit with clientAddress counts by the viewer behind proxies", async () => {
  configureRateLimits(getDb, {
    clientAddress: { header: "X-Forwarded-For", trustedProxies: ["203.0.113.0/24"] },
  });
  const handler = defineApiHandler({ ...QUIET, rateLimit: { ...RULE, by: "address" } })(ok);
  const via = (viewer: string): ApiEvent => ({
    ...from("203.0.113.9"),
    headers: { "x-forwarded-for": viewer },
  });
  assertEquals(await ask(handler, via("198.51.100.1"), 3), [204, 204, 429]);
  assertEquals(await ask(handler, via("198.51.100.2")), [204]);
});

Deno.test("rateLimit without a configured store is a configuration error that says what to call", async () => {
  resetRateLimits();
  const handler = defineApiHandler({ rateLimit: { ...RULE, by: "address" } })(ok);
  const { lines, result } = await captureLogs(() => ask(handler, from("1.1.1.1")));
  assertEquals(result, [500]);
  assert(JSON.stringify(lines).includes("call configureRateLimits(getDb)"));
});

const INVALID: [rateLimit: unknown, message: string][] = [
  [{ windowSeconds: 60, by: "address" }, "rateLimit.limit is missing"],
  [{ limit: 1, by: "address" }, "rateLimit.windowSeconds is missing"],
  [{ limit: 1, windowSeconds: 60 }, "rateLimit.by is missing"],
  [{ ...RULE, limit: 0, by: "address" }, "rateLimit.limit is 0"],
  [{ ...RULE, windowSeconds: 86_401, by: "address" }, "rateLimit.windowSeconds is 86401"],
  [{ ...RULE, windowSeconds: 0.5, by: "address" }, "rateLimit.windowSeconds is 0.5"],
  [{ ...RULE, by: "ip" }, 'rateLimit.by is "ip"'],
  [{ ...RULE, by: "address", burst: 1 }, "rateLimit has no option burst"],
  [{ ...RULE, by: "address", name: "" }, "rateLimit.name"],
  [{ ...RULE, by: "user" }, "auth identifies no user"],
  [5, "rateLimit is 5"],
];

for (const [rateLimit, message] of INVALID) {
  Deno.test(`defineApiHandler() refuses: ${message}`, () => {
    assertThrows(
      () => defineApiHandler({ rateLimit: rateLimit as RateLimitOptions }),
      ConfigurationError,
      message,
    );
  });
}

Deno.test("rateLimit leaves a preflight request to the handler when the function has no CORS headers", async () => {
  const handler = defineApiHandler({ ...QUIET, rateLimit: { ...RULE, by: "address" } })(() => ({
    statusCode: 200,
    body: "own",
  }));
  const headers = { Origin: "https://a.example", "Access-Control-Request-Method": "POST" };
  const event = createRestApiEvent({ method: "OPTIONS", headers });
  assertEquals((await handler(event, createLambdaContext())).body, "own");
});
