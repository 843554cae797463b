import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ApiError, type ClientOptions, createClient, unwrap } from "@trellis/fn/client";
import { testSeed } from "../support/seed.ts";

interface Body<T> {
  content: { "application/json": T };
}

interface routes {
  GET: {
    "/notes": {
      parameters: { query?: { limit?: number } };
      responses: { 200: Body<{ titles: string[] }>; 401: Body<{ code: "UNAUTHORIZED" }> };
    };
  };
  POST: {
    "/notes": {
      parameters: { header?: { "Idempotency-Key"?: string }; cookie?: { theme?: string } };
      requestBody: Body<{ title: string }>;
      responses: { 201: Body<{ id: string }>; 409: Body<{ code: "CONFLICT"; message: string }> };
    };
  };
  DELETE: { "/notes": { responses: { 204: { content?: never } } } };
}

/** Answers requests in order, the last one again and again, and records them. */
function serve(...answers: ((request: Request) => Response | Promise<Response>)[]) {
  const seen: { method: string; url: string; headers: Headers; body: string }[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { method, url, headers } = request;
      seen.push({ method, url, headers, body: await request.clone().text() });
      return await answers[Math.min(seen.length, answers.length) - 1](request);
    },
  );
  return {
    seen,
    connect: (options: Partial<ClientOptions> = {}) =>
      createClient<routes>({ baseUrl: `http://127.0.0.1:${server.addr.port}`, ...options }),
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const busy = (status: number, retryAfter = "0") => () =>
  Response.json({ code: "SERVICE_UNAVAILABLE" }, {
    status,
    headers: { "Retry-After": retryAfter },
  });
const titles = () => Response.json({ titles: ["Milk"] });
const created = () => Response.json({ id: "n1" }, { status: 201 });

Deno.test("createClient() sends typed calls with a correlation id", async () => {
  await using server = serve(titles);
  const client = server.connect({ headers: { "x-api-key": "k1" } });
  const { data } = await client.GET("/notes", { params: { query: { limit: 3 } } });
  assertEquals(data?.titles, ["Milk"]);
  const [{ url, headers }] = server.seen;
  assertEquals(new URL(url).search, "?limit=3");
  assertEquals(headers.get("x-api-key"), "k1");
  assertMatch(headers.get("X-Correlation-Id")!, /^[0-9a-f-]{36}$/);
  await client.GET("/notes", { headers: { "X-Correlation-Id": "own" } });
  assertEquals(server.seen[1].headers.get("X-Correlation-Id"), "own");
  await server.connect({ createCorrelationId: () => undefined }).GET("/notes");
  assertEquals(server.seen[2].headers.has("X-Correlation-Id"), false);
});

Deno.test("createClient() sends the parameters of headers and cookies", async () => {
  await using server = serve(created);
  const params = { header: { "Idempotency-Key": "k1" }, cookie: { theme: "a b" } };
  await server.connect().POST("/notes", { params, body: { title: "Milk" } });
  const [{ headers }] = server.seen;
  assertEquals([headers.get("Idempotency-Key"), headers.get("Cookie")], ["k1", "theme=a%20b"]);
});

/** Returns a client whose calls reach no server, and the URL of the last call. */
function record() {
  const seen: string[] = [];
  const client = createClient<hostileRoutes>({
    baseUrl: "https://api.example.com/base",
    fetch: ({ url }) => (seen.push(url), Promise.resolve(Response.json({}))),
  });
  return { client, seen };
}

interface hostileRoutes {
  GET: {
    "/notes/{noteId}/lines/{line}": {
      parameters: { path: { noteId: string; line: string }; query?: Record<string, unknown> };
      responses: { 200: Body<object> };
    };
  };
}

const OTHER_ROUTES: [value: unknown, shown: string][] = [
  ["", '""'],
  [".", '"."'],
  ["..", '".."'],
  [[".."], '".."'],
  [[], '""'],
  [undefined, "missing"],
  [null, "missing"],
];

for (const [value, shown] of OTHER_ROUTES) {
  Deno.test(`createClient() refuses the path parameter ${JSON.stringify(value)}`, async () => {
    const { client, seen } = record();
    const error = await assertRejects(
      () =>
        client.GET("/notes/{noteId}/lines/{line}", {
          params: { path: { noteId: value as string, line: "1" } },
        }),
      RangeError,
    );
    assertEquals(
      error.message.includes(`{noteId} of /notes/{noteId}/lines/{line} is ${shown}`),
      true,
    );
    assertEquals(seen, []);
  });
}

Deno.test("createClient() refuses a call without its path parameters", async () => {
  const { client } = record();
  const call = client.GET as unknown as (path: string) => Promise<unknown>;
  await assertRejects(() => call("/notes/{noteId}/lines/{line}"), RangeError, "is missing");
});

const PARTS = [
  ".",
  "..",
  "%2e",
  "%2E",
  "/",
  "\\",
  "?",
  "#",
  "&",
  "=",
  "+",
  " ",
  "\t",
  "\n",
  "{",
  "}",
  "$&",
]
  .concat([
    "é",
    "😀",
    "a",
    "1",
    ";",
    ":",
    "@",
    "[",
    "]",
    "%",
    "%00",
    "\0",
    "//",
    "http:",
    "__proto__",
  ]);
const hostile = fc.array(fc.constantFrom(...PARTS), { minLength: 1, maxLength: 4 }).map((parts) =>
  parts.join("")
);
const segment = hostile.filter((text) => text !== "." && text !== "..");

Deno.test("createClient() sends hostile values and names to the route that is called", async () => {
  const call = fc.record({ noteId: segment, line: segment, name: hostile, value: hostile });
  const property = fc.asyncProperty(call, async ({ noteId, line, name, value }) => {
    const { client, seen } = record();
    const entries = [[name, value], [`list${name}`, [value, "x"]], ["deep", { [name]: value }]];
    const query = Object.fromEntries(entries);
    await client.GET("/notes/{noteId}/lines/{line}", { params: { path: { noteId, line }, query } });
    const url = new URL(seen[0]);
    const segments = url.pathname.split("/").slice(1).map(decodeURIComponent);
    assertEquals(segments, ["base", "notes", noteId, "lines", line]);
    assertEquals([url.origin, url.hash], ["https://api.example.com", ""]);
    const expected = new Map([
      [name, [value]],
      [`list${name}`, [value, "x"]],
      [`deep[${name}]`, [value]],
    ]);
    for (const [key, values] of expected) assertEquals(url.searchParams.getAll(key), values);
    assertEquals([...url.searchParams].length, 4);
  });
  await fc.assert(property, { numRuns: 1000, seed: testSeed });
});

Deno.test("createClient() encodes names with a call's own style, and leaves names to a call's own function", async () => {
  const { client, seen } = record();
  const path = { noteId: "n", line: "1" };
  const query = { "a&b": ["1", "2"] };
  await client.GET("/notes/{noteId}/lines/{line}", {
    params: { path, query },
    querySerializer: { array: { style: "form", explode: false } },
  });
  await client.GET("/notes/{noteId}/lines/{line}", {
    params: { path, query },
    querySerializer: (given) => new URLSearchParams(given as Record<string, string>).toString(),
  });
  assertEquals(seen.map((url) => new URL(url).search), ["?a%26b=1,2", "?a%26b=1%2C2"]);
});

Deno.test("createClient() sends the session's token and stores the one of a sign-in", async () => {
  await using server = serve(
    () => Response.json({ titles: [] }, { headers: { "set-auth-token": "t2" } }),
    titles,
  );
  let token: string | undefined;
  const session = { getToken: () => token, setToken: (given: string) => void (token = given) };
  const client = server.connect({ session });
  await client.GET("/notes");
  await client.GET("/notes");
  await client.GET("/notes", { headers: { Authorization: "Bearer other" } });
  assertEquals(server.seen.map(({ headers }) => headers.get("Authorization")), [
    null,
    "Bearer t2",
    "Bearer other",
  ]);
});

Deno.test("createClient() includes cookies only when the session is one", async () => {
  const modes: string[] = [];
  const fetch = ({ credentials }: Request) => {
    modes.push(credentials);
    return Promise.resolve(titles());
  };
  for (const session of ["cookie", undefined] as const) {
    await createClient<routes>({ baseUrl: "http://localhost", session, fetch }).GET("/notes");
  }
  assertEquals(modes, ["include", "same-origin"]);
});

Deno.test("createClient() sends a request again when that is safe", async (t) => {
  const key = { "Idempotency-Key": "k" };
  const post = (headers: Record<string, string>) => ({ body: { title: "Milk" }, headers });
  const cases: [name: string, method: "GET" | "POST" | "DELETE", init: object, attempts: number][] =
    [
      ["GET", "GET", {}, 3],
      ["DELETE", "DELETE", {}, 3],
      ["POST", "POST", post({}), 1],
      ["POST with a key", "POST", post(key), 3],
    ];
  for (const [name, method, init, attempts] of cases) {
    await t.step(name, async () => {
      await using server = serve(busy(503));
      // deno-lint-ignore no-explicit-any
      const { response } = await (server.connect() as any)[method]("/notes", init);
      assertEquals(response.status, 503);
      assertEquals(server.seen.length, attempts);
      const facts = server.seen.map(({ headers, body }) =>
        [headers.get("Idempotency-Key"), headers.get("X-Correlation-Id"), body].join()
      );
      assertEquals(new Set(facts).size, 1, "every attempt is the same request");
    });
  }
});

Deno.test("createClient() returns the response of a later attempt", async () => {
  for (const status of [429, 502, 503, 504]) {
    await using server = serve(busy(status), titles);
    const { data } = await server.connect().GET("/notes");
    assertEquals([data?.titles, server.seen.length], [["Milk"], 2]);
  }
  await using running = serve(busy(409), created);
  const options = {
    body: { title: "Milk" },
    params: { header: { "Idempotency-Key": "k" } },
  };
  const { data } = await running.connect().POST("/notes", options);
  assertEquals([data?.id, running.seen.length], ["n1", 2]);
});

Deno.test("createClient() does not send a request again for other responses", async () => {
  for (const status of [400, 401, 404, 409, 500]) {
    await using server = serve(busy(status));
    await server.connect().GET("/notes");
    assertEquals(server.seen.length, 1);
  }
  await using patient = serve(busy(503, "3600"));
  await patient.connect().GET("/notes");
  assertEquals(patient.seen.length, 1, "an hour is too long to wait");
  await using none = serve(busy(503));
  await none.connect({ maxAttempts: 1 }).GET("/notes");
  assertEquals(none.seen.length, 1);
});

Deno.test("createClient() sends a request again after a network error, and rejects with the last one", async () => {
  let attempts = 0;
  const fail = () => {
    attempts++;
    return Promise.reject(new TypeError(`no network ${attempts}`));
  };
  const client = createClient<routes>({ baseUrl: "http://localhost", maxAttempts: 2, fetch: fail });
  await assertRejects(() => client.GET("/notes"), TypeError, "no network 2");
  await assertRejects(
    () => client.POST("/notes", { body: { title: "Milk" } }),
    TypeError,
    "no network 3",
  );
});

Deno.test("createClient() stops waiting and sending when the signal aborts", async () => {
  await using server = serve(busy(503, "5"));
  const controller = new AbortController();
  const client = server.connect({
    fetch: async (request) => {
      const response = await fetch(request);
      queueMicrotask(() => controller.abort(new Error("left the page")));
      return response;
    },
  });
  await assertRejects(
    () => client.GET("/notes", { signal: controller.signal }),
    Error,
    "left the page",
  );
  assertEquals(server.seen.length, 1);
});

Deno.test("createClient() refuses an invalid number of attempts", () => {
  for (const maxAttempts of [0, 1.5, 11, NaN]) {
    assertThrows(
      () => createClient<routes>({ baseUrl: "", maxAttempts }),
      RangeError,
      `maxAttempts must be an integer from 1 to 10, got ${maxAttempts}`,
    );
  }
});

Deno.test("unwrap() returns the data, or throws the error with its code", async () => {
  const problem = {
    message: "The title is taken",
    code: "CONFLICT",
    requestId: "r1",
    correlationId: "c1",
    errors: { title: ["Taken"] },
  };
  await using server = serve(
    titles,
    () => new Response(null, { status: 204 }),
    () => Response.json(problem, { status: 409 }),
    () =>
      new Response("<h1>Bad gateway</h1>", { status: 502, headers: { "X-Correlation-Id": "c2" } }),
    () => new Response(null, { status: 500 }),
  );
  const client = server.connect({ maxAttempts: 1 });
  assertEquals((await unwrap(client.GET("/notes"))).titles, ["Milk"]);
  assertEquals(await unwrap(client.DELETE("/notes")), undefined);
  const conflict = await assertRejects(
    () => unwrap(client.POST("/notes", { body: { title: "Milk" } })),
    ApiError,
    "The title is taken",
  );
  const { status, code, requestId, correlationId, errors, body } = conflict;
  assertEquals({ status, code, requestId, correlationId, errors, body }, {
    status: 409,
    code: "CONFLICT",
    requestId: "r1",
    correlationId: "c1",
    errors: { title: ["Taken"] },
    body: problem,
  });
  const gateway = await assertRejects(() => unwrap(client.GET("/notes")), ApiError);
  assertEquals([gateway.status, gateway.code, gateway.body, gateway.correlationId], [
    502,
    undefined,
    "<h1>Bad gateway</h1>",
    "c2",
  ]);
  const empty = await assertRejects(() => unwrap(client.GET("/notes")), ApiError);
  assertEquals([empty.message, empty.body], ["The API answered with status 500", undefined]);
});

Deno.test("createClient() types errors by route", async () => {
  const client = createClient<routes>({
    baseUrl: "http://localhost",
    fetch: () => Promise.resolve(Response.json({ code: "CONFLICT", message: "" }, { status: 409 })),
  });
  const { error } = await client.POST("/notes", { body: { title: "Milk" } });
  const code: "CONFLICT" | undefined = error?.code;
  assertEquals(code, "CONFLICT");
  // @ts-expect-error the route has no such code
  assert(error?.code !== "NOT_FOUND");
});

interface noteRoutes {
  POST: {
    "/orders": {
      responses: {
        201: Body<{ id: string }>;
        202: { content?: never };
        304: { content?: never };
        409: Body<{ reason: "taken" | "full" }>;
        default: Body<{ message: string }>;
      };
    };
  };
}

Deno.test("createClient() narrows a result by its status", async () => {
  const answers = [
    Response.json({ id: "n1" }, { status: 201 }),
    new Response(null, { status: 202 }),
    Response.json({ reason: "full" }, { status: 409 }),
    Response.json({ message: "broken" }, { status: 500 }),
  ];
  const client = createClient<noteRoutes>({
    baseUrl: "http://localhost",
    fetch: () => Promise.resolve(answers.shift()!),
  });
  const seen: unknown[] = [];
  for (let count = 0; count < 4; count++) {
    const result = await client.POST("/orders");
    // each member is read without a cast: its type is known by the status
    if (result.status === 201) seen.push(result.data?.id);
    else if (result.status === 202) seen.push(result.data satisfies undefined);
    else if (result.status === 409) seen.push("reason" in result.error && result.error.reason);
    else seen.push(result.error && "message" in result.error && result.error.message);
  }
  assertEquals(seen, ["n1", undefined, "full", "broken"]);
  const closed = createClient<routes>({
    baseUrl: "http://localhost",
    fetch: () => Promise.resolve(Response.json({ code: "CONFLICT", message: "" }, { status: 409 })),
  });
  const { status, data, error } = await closed.POST("/notes", { body: { title: "Milk" } });
  if (status === 409) assertEquals(error.code satisfies "CONFLICT", "CONFLICT");
  else assertEquals(data.id satisfies string, "");
  // @ts-expect-error the route has no such status
  assert(status !== 410);
});
