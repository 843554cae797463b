import { assert, assertEquals, assertFalse, assertRejects, assertStrictEquals } from "@std/assert";
import * as z from "zod";
import {
  buildValidatedResponse,
  getOutgoingHeaders,
  getRequestContext,
  type ProxyResult,
} from "../../core/mod.ts";
import { setSessionCheck } from "../support/session_check.ts";
import { ConflictError, NotFoundError, UnexpectedError } from "../../errors/mod.ts";
import { addAnnotation, logInfo, metrics, MetricUnit } from "../../observability/mod.ts";
import {
  createAlbEvent,
  createEventBridgeEvent,
  createFakeClock,
  createFunctionUrlEvent,
  createHttpApiEvent,
  createLambdaContext,
  createQueueEvent,
  createRequestAuthorizerEvent,
  createRestApiEvent,
  createScheduleEvent,
  createTopicEvent,
  createWebSocketMessageEvent,
} from "../../testing/mod.ts";
import { defineApiHandler, getRegisteredOperations } from "../../validation/mod.ts";
import { captureLogs } from "../support/capture_logs.ts";
import { withEnv } from "../support/with_env.ts";

const context = createLambdaContext({ awsRequestId: "lambda-id", clock: createFakeClock() });
const OK: ProxyResult = { statusCode: 200, body: "" };

Deno.test("defineApiHandler() takes its steps in order: each fault hides those that come later", async () => {
  const steps: string[] = [];
  const schema = z.object({ a: z.string() }).refine(() => {
    steps.push("validation");
    return true;
  });
  const handler = defineApiHandler({ auth: "bearer", schema, maxBodyBytes: 20, metrics: false })(
    () => {
      steps.push("handler");
      return OK;
    },
  );
  const good = { Authorization: "Bearer t", "Content-Type": "application/json" };
  const cases: [
    headers: Record<string, string>,
    body: string,
    base64: boolean,
    status: number,
    steps: string[],
  ][] = [
    [{ "Content-Type": "text/plain" }, "x".repeat(99), false, 401, []],
    [{ ...good, "Content-Type": "text/plain" }, "x".repeat(99), false, 413, []],
    [{ ...good, "Content-Type": "text/plain" }, "*", true, 415, []],
    [{ ...good, "Content-Type": "text/plain" }, "", false, 415, []],
    [good, "*", true, 400, []],
    [good, "{", false, 400, []],
    [good, '{"a":1}', false, 400, []],
    [good, '{"a":"x"}', false, 200, ["validation", "handler"]],
  ];
  await withEnv({ API_BEARER_TOKEN: "t" }, async () => {
    for (const [headers, body, isBase64Encoded, status, expected] of cases) {
      steps.length = 0;
      const event = { ...createRestApiEvent({ method: "POST", headers, body }), isBase64Encoded };
      const { result } = await captureLogs(() => handler(event, context));
      assertEquals([result.statusCode, steps], [status, expected]);
    }
  });
});

Deno.test("defineApiHandler() hands over exactly the fields that the options call for", async () => {
  const schema = z.object({}), session = { user: { id: "u1" } };
  setSessionCheck(() => Promise.resolve(session as never));
  const BASE = ["context", "event", "metadata"];
  const cases: [options: Record<string, unknown>, fields: string[]][] = [
    [{}, []],
    [{ schema }, ["body"]],
    [{ querySchema: schema }, ["query"]],
    [{ pathSchema: schema }, ["path"]],
    [{ schema, querySchema: schema, pathSchema: schema }, ["body", "path", "query"]],
    [{ auth: "bearer" }, []],
    [{ auth: "authorizer" }, ["authorizer", "userId", "userStatus"]],
    [{ auth: "authorizer-optional" }, ["authorizer", "userId", "userStatus"]],
    [{ auth: "session", schema }, ["body", "session", "userId"]],
  ];
  const event = createRestApiEvent({
    method: "POST",
    body: {},
    headers: { Authorization: "Bearer t" },
    authorizer: { userId: "u1" },
  });
  await withEnv({ API_BEARER_TOKEN: "t" }, async () => {
    for (const [options, fields] of cases) {
      let seen: string[] = [];
      const handler = defineApiHandler({ ...options, metrics: false })((params) => {
        seen = Object.keys(params);
        assertStrictEquals(params.event, event);
        assertStrictEquals(params.context, context);
        return OK;
      });
      assertEquals((await captureLogs(() => handler(event, context))).result.statusCode, 200);
      assertEquals(seen.sort(), [...BASE, ...fields].sort());
    }
  });
  setSessionCheck(undefined);
});

Deno.test("defineApiHandler() gives metadata, and the same ids in answer, error and log", async () => {
  for (const failing of [false, true]) {
    let metadata: unknown;
    const handler = defineApiHandler({ operationName: "Op" })((params) => {
      metadata = params.metadata;
      logInfo("inside");
      if (failing) throw new ConflictError("Changed");
      return OK;
    });
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const event = createRestApiEvent({ headers: { "X-Correlation-Id": "c-1", traceparent } });
    const { result, lines, writes } = await captureLogs(() => handler(event, context));
    const { coldStart: _, ...ids } = metadata as Record<string, unknown>;
    assertEquals(ids, {
      correlationId: "c-1",
      traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
      requestId: "lambda-id",
      operationName: "Op",
    });
    assertEquals(result.headers?.["X-Correlation-Id"], "c-1");
    if (failing) assertEquals(JSON.parse(result.body).correlationId, "c-1");
    for (const line of lines.filter((line) => "level" in line)) {
      assertEquals(line.correlation_id, "c-1");
    }
    assertEquals(writes.length, 1);
  }
});

Deno.test("every answer carries the correlation id, whatever the handler returned", async () => {
  const results: unknown[] = [
    OK,
    { statusCode: 204 },
    { statusCode: 200, headers: { A: "1" }, body: "" },
    undefined,
    {},
    "x",
  ];
  for (const result of results) {
    for (
      const make of [createRestApiEvent, createHttpApiEvent, createFunctionUrlEvent, createAlbEvent]
    ) {
      const handler = defineApiHandler({ metrics: false })(() => result as ProxyResult);
      const event = make({ headers: { "X-Correlation-Id": "c-1" } });
      const { result: answer } = await captureLogs(() => handler(event, context));
      assertEquals(answer.headers?.["X-Correlation-Id"], "c-1");
    }
  }
});

Deno.test("a handler that returns no proxy result is answered with 500 and a log line that says what to return", async () => {
  for (
    const result of [undefined, null, "ok", {}, { statusCode: "200", body: "" }, {
      statusCode: 200,
      body: {},
    }]
  ) {
    const handler = defineApiHandler({ metrics: false })(() => result as ProxyResult);
    const { result: answer, lines } = await captureLogs(() =>
      handler(createRestApiEvent(), context)
    );
    assertEquals([answer.statusCode, JSON.parse(answer.body).message], [
      500,
      "Internal Server Error",
    ]);
    assert(lines[0].error.message.includes("buildValidatedResponse"));
  }
});

Deno.test("a response body that does not fit its schema is a 500 with a clear log line", async () => {
  const handler = defineApiHandler({ metrics: false })(() =>
    // @ts-expect-error the compiler refuses a body that the schema does not take
    buildValidatedResponse(context, 200, { id: 7, secret: "s3cr3t" }, z.object({ id: z.string() }))
  );
  const { result, lines } = await captureLogs(() => handler(createRestApiEvent(), context));
  assertEquals([result.statusCode, JSON.parse(result.body).message], [
    500,
    "Internal Server Error",
  ]);
  assert(lines[0].error.message.includes("does not fit its schema: id: "));
  assertFalse(JSON.stringify([result, lines]).includes("s3cr3t"));
});

Deno.test("the wrapped handler carries the user's own function and its operation", () => {
  function createNote(): ProxyResult {
    return OK;
  }
  const schema = z.object({}), openapi = { summary: "Creates a note", tags: ["notes"] };
  const options = {
    auth: "session",
    schema,
    openapi,
    timeout: 30,
    retryAttempts: 1,
    deadLetterQueue: true,
  } as const;
  const handler = defineApiHandler(options)(createNote);
  assertStrictEquals(handler.handler, createNote);
  const { operationName, auth, schema: registered, resources } = handler.operation;
  assertEquals([operationName, auth, resources.timeout, resources.retryAttempts], [
    "createNote",
    "session",
    30,
    1,
  ]);
  assertStrictEquals(registered, schema);
  assertStrictEquals(getRegisteredOperations().at(-1), handler.operation);
});

Deno.test("getRegisteredOperations() gives a copy", () => {
  const before = getRegisteredOperations().length;
  getRegisteredOperations().pop();
  assertEquals(getRegisteredOperations().length, before);
});

Deno.test("an option of the operation's name goes before the function's", () => {
  const arrow = defineApiHandler({})(() => OK);
  const named = defineApiHandler({ operationName: "Mine" })(function theirs() {
    return OK;
  });
  assertEquals([arrow.operation.operationName, named.operation.operationName], ["handler", "Mine"]);
});

Deno.test("the answer has the shape of the event's source, for errors too", async () => {
  for (const failing of [false, true]) {
    const handler = defineApiHandler({ metrics: false })(() => {
      if (failing) throw new NotFoundError();
      return { ...OK, cookies: ["a=1"] };
    });
    const answers = await Promise.all([
      createRestApiEvent(),
      createHttpApiEvent(),
      createFunctionUrlEvent(),
      createAlbEvent(),
      createAlbEvent({ multiValue: true }),
    ].map((event) => captureLogs(() => handler(event, context)).then(({ result }) => result)));
    assertEquals(answers.map(({ statusCode }) => statusCode), Array(5).fill(failing ? 404 : 200));
    assertEquals(answers.map((answer) => "cookies" in answer), [
      false,
      !failing,
      !failing,
      false,
      false,
    ]);
    assertEquals(answers.map((answer) => "headers" in answer), [true, true, true, true, false]);
    assertEquals(answers.map((answer) => "multiValueHeaders" in answer), [
      !failing,
      false,
      false,
      false,
      true,
    ]);
  }
});

Deno.test("a handler near its deadline is answered with 504 in time, in the documented body", async () => {
  let signal: AbortSignal | undefined;
  const handler = defineApiHandler({ cors: "*", metrics: false })(() => {
    signal = getRequestContext()?.signal;
    return new Promise<ProxyResult>(() => {});
  });
  const hold = setTimeout(() => {}, 10_000);
  const short = createLambdaContext({ awsRequestId: "lambda-id", timeoutMs: 1000 });
  const { result, writes } = await captureLogs(() => handler(createRestApiEvent(), short));
  clearTimeout(hold);
  assert(short.getRemainingTimeInMillis() > 0, "the answer came after the platform's deadline");
  const { correlationId: _, ...body } = JSON.parse(result.body);
  assertEquals([result.statusCode, body], [
    504,
    { message: "Gateway Timeout", code: "DEADLINE_EXCEEDED", requestId: "lambda-id" },
  ]);
  assertEquals(result.headers?.["Access-Control-Allow-Origin"], "*");
  assertEquals([signal?.aborted, writes.length], [true, 1]);
});

Deno.test("an event of another trigger is rejected, so that the trigger sends it again", async () => {
  for (const auth of ["none", "authorizer", "bearer"] as const) {
    const handler = defineApiHandler({ auth, schema: z.object({ a: z.string() }), metrics: false })(
      () => OK,
    );
    for (
      const event of [
        null,
        undefined,
        7,
        "text",
        [],
        {},
        { source: "warm-up" },
        { version: "2.0" },
        {
          requestContext: null,
        },
        // VPC Lattice, versions 1.0 and 2.0
        { raw_path: "/notes", method: "POST", headers: {}, body: "{}", is_base64_encoded: false },
        {
          version: "2.0",
          path: "/notes",
          method: "POST",
          headers: { accept: ["*/*"] },
          body: "{}",
          requestContext: { serviceNetworkArn: "arn:aws:vpc-lattice:r:1:servicenetwork/sn-1" },
        },
        createQueueEvent([{ body: { a: "b" } }]),
        createTopicEvent([{ message: { a: "b" } }]),
        createEventBridgeEvent({ detail: {} }),
        createScheduleEvent(),
        createWebSocketMessageEvent({ body: { a: "b" } }),
        createRequestAuthorizerEvent(),
        { ...createHttpApiEvent(), type: "REQUEST", routeArn: "arn:aws:execute-api:r:1:a/b/GET/c" },
      ]
    ) {
      const { lines } = await captureLogs(() =>
        assertRejects(() => handler(event as never, context), UnexpectedError, "no HTTP request")
      );
      assertEquals(lines.length, 1);
    }
  }
});

Deno.test("a handler works without Lambda's context", async () => {
  const handler = defineApiHandler({ metrics: false })(({ context: none }) =>
    buildValidatedResponse(none, 200, {})
  );
  const { result } = await captureLogs(() => handler(createRestApiEvent(), undefined as never));
  assertEquals([result.statusCode, result.headers?.["X-Correlation-Id"]], [
    200,
    "gateway-request-id",
  ]);
});

Deno.test("1,000 interleaved requests keep their user, ids, logs, metrics and answers apart", async () => {
  const handler = defineApiHandler({
    auth: "authorizer",
    schema: z.object({ n: z.number() }),
    operationName: "Interleaved",
  })(async ({ body, userId, metadata }) => {
    addAnnotation("user", userId);
    for (let turn = 0; turn < body.n % 11; turn++) {
      await (turn % 3 === 2 ? new Promise((r) => setTimeout(r, 0)) : null);
    }
    logInfo("inside", { user: userId, n: body.n });
    metrics.addMetricsWithDimensions({ user: userId }, [["N", MetricUnit.Count, body.n]]);
    const current = getRequestContext();
    assertEquals([current?.correlationId, getOutgoingHeaders()["X-Correlation-Id"]], [
      metadata.correlationId,
      metadata.correlationId,
    ]);
    if (body.n % 5 === 0) throw new ConflictError(`conflict of ${userId}`);
    return buildValidatedResponse(context, 200, {
      userId,
      n: body.n,
      correlationId: current?.correlationId,
    });
  });
  const { result: answers, lines, writes } = await captureLogs(() =>
    Promise.all(Array.from({ length: 1000 }, (_, n) => {
      const options = {
        method: "POST",
        body: { n },
        authorizer: { userId: `u${n}` },
        headers: { "X-Correlation-Id": `c${n}` },
      };
      return handler(
        (n % 2 ? createRestApiEvent : createHttpApiEvent)(options),
        createLambdaContext(),
      );
    }))
  );
  for (const [n, { statusCode, headers, body }] of answers.entries()) {
    const { correlationId, userId, message } = JSON.parse(body);
    assertEquals([correlationId, headers?.["X-Correlation-Id"]], [`c${n}`, `c${n}`]);
    if (n % 5 === 0) assertEquals([statusCode, message], [409, `conflict of u${n}`]);
    else assertEquals([statusCode, userId], [200, `u${n}`]);
  }
  assertEquals(writes.length, 1000);
  const inside = lines.filter((line) => line.message === "inside");
  assertEquals(inside.length, 1000);
  for (const line of inside) {
    assertEquals([line.user, line.correlation_id], [`u${line.n}`, `c${line.n}`]);
  }
  const measured = lines.filter((line) => "N" in line);
  assertEquals(measured.length, 1000);
  for (const line of measured) assertEquals(line.user, `u${line.N}`);
});

Deno.test("defineApiHandler() sends errors in the form that errorBody gives, with the facts that are safe", async () => {
  const seen: unknown[] = [];
  const options = {
    schema: z.object({ a: z.string() }),
    errorBody(body: unknown, statusCode: number) {
      seen.push(body);
      return { error: statusCode };
    },
  };
  const handler = defineApiHandler(options)(() => {
    throw new Error("select secret");
  });
  const headers = { "X-Correlation-Id": "c-1", Accept: "application/problem+json" };
  for (const [body, status] of [["{}", 400], ['{"a":"x"}', 500]] as const) {
    const { result } = await captureLogs(() =>
      handler(createRestApiEvent({ method: "POST", headers, body }), context)
    );
    assertEquals([result.statusCode, result.body], [status, `{"error":${status}}`]);
    assertEquals([result.headers?.["Content-Type"], result.headers?.["X-Correlation-Id"]], [
      "application/json",
      "c-1",
    ]);
  }
  const ids = { requestId: "lambda-id", correlationId: "c-1" };
  assertEquals(seen, [
    {
      message: "Validation failed",
      code: "VALIDATION_FAILED",
      ...ids,
      errors: { a: ["Invalid input: expected string, received undefined"] },
    },
    { message: "Internal Server Error", code: "UNEXPECTED", ...ids },
  ]);
});

Deno.test("defineApiHandler() sends the usual body when errorBody fails, and says so in the log", async () => {
  const handler = defineApiHandler({
    errorBody() {
      throw new TypeError("broken");
    },
  })(() => {
    throw new NotFoundError("No such note");
  });
  const { result, lines } = await captureLogs(() => handler(createRestApiEvent(), context));
  assertEquals(JSON.parse(result.body).message, "No such note");
  assertEquals(lines.find((line) => line.level === "ERROR")?.error.message, "broken");
});

Deno.test("defineApiHandler() answers the same whether its steps wait or not", async () => {
  const event = createRestApiEvent({
    method: "POST",
    headers: { "X-Correlation-Id": "c-1" },
    body: { a: "x" },
  });
  const schema = z.object({ a: z.string() });
  const waiting = schema.refine(() => Promise.resolve(true));
  const answers: unknown[] = [];
  for (const one of [schema, waiting]) {
    const plain = defineApiHandler({ schema: one })(({ body }) => ({
      statusCode: 200,
      body: body.a,
    }));
    const later = defineApiHandler({ schema: one })(async ({ body }) => {
      await Promise.resolve();
      return { statusCode: 200, body: body.a };
    });
    for (const handler of [plain, later]) {
      const { result } = await captureLogs(() => handler(event, context));
      answers.push(result);
    }
  }
  const headers = { "X-Correlation-Id": "c-1", "X-Content-Type-Options": "nosniff" };
  const expected = { statusCode: 200, headers, body: "x" };
  assertEquals(answers, [expected, expected, expected, expected]);
});

Deno.test("defineApiHandler() gives and refuses what zod does, whether a schema can be compiled or not", async () => {
  const schema = z.strictObject({ a: z.string().trim().min(1), b: z.int().default(7) });
  const bodies = [{ a: " x " }, { b: 1, a: "y" }, { a: " " }, { a: "x", c: 1 }, { a: 1 }];
  const answers = await Promise.all([schema, schema.refine(() => true)].map((one) => {
    const handler = defineApiHandler({ schema: one })(({ body }) => ({
      statusCode: 200,
      body: JSON.stringify(body),
    }));
    return Promise.all(bodies.map(async (body) => {
      const event = createRestApiEvent({
        method: "POST",
        headers: { "X-Correlation-Id": "c-1" },
        body,
      });
      const { result } = await captureLogs(() => handler(event, context));
      return [result.statusCode, result.body];
    }));
  }));
  assertEquals(answers[0], answers[1]);
  assertEquals(answers[0].map(([status]) => status), [200, 200, 400, 400, 400]);
});
