import { assert, assertEquals, assertFalse, assertRejects, assertThrows } from "@std/assert";
import {
  getRequestContext,
  type ObservabilityOptions,
  withObservability,
  type WrapperMetadata,
} from "../../core/mod.ts";
import {
  ConfigurationError,
  DatabaseError,
  DeadlineExceededError,
  NotFoundError,
} from "../../errors/mod.ts";
import { LOAD_PROBE } from "../../core/with_observability.ts";
import { currentInvocation } from "../../observability/invocation_context.ts";
import {
  logDebug,
  logInfo,
  metrics,
  MetricUnit,
  onSpanEnd,
  type Span,
} from "../../observability/mod.ts";
import { createFakeClock, createLambdaContext, createRestApiEvent } from "../../testing/mod.ts";
import { type CapturedLogs, captureLogs, type LogLine } from "../support/capture_logs.ts";
import { withEnv } from "../support/with_env.ts";

const event = createRestApiEvent({ headers: { "X-Correlation-Id": "c-1" } });
const context = createLambdaContext({
  awsRequestId: "r-1",
  functionName: "fn",
  clock: createFakeClock(),
});

type Options = ObservabilityOptions<unknown, unknown>;

function run<R>(fn: () => R | Promise<R>, options: Options = {}): Promise<CapturedLogs<unknown>> {
  return captureLogs(() => withObservability<unknown, unknown>(fn, options)(event, context));
}

function getMetrics(lines: LogLine[]): LogLine {
  return Object.assign({}, ...lines.filter((line) => "_aws" in line));
}

Deno.test("coldStart is true for the first invocation of a process and never again", async () => {
  const seen: unknown[] = [];
  const handler = withObservability((_event, _context, metadata: WrapperMetadata) =>
    seen.push(metadata.coldStart)
  );
  const other = withObservability((_event, _context, metadata: WrapperMetadata) =>
    seen.push(metadata.coldStart)
  );
  const { lines } = await captureLogs(async () => {
    for (const fn of [handler, handler, other]) await fn(event, context);
  });
  assertEquals(seen, [true, false, false]);
  assertEquals(lines.filter((line) => "cold_start" in line).map((line) => line.cold_start), [
    true,
    false,
    false,
  ]);
  assertEquals(lines.filter((line) => "_aws" in line).map((line) => line.ColdStart), [
    1,
    undefined,
    undefined,
  ]);
});

Deno.test("withObservability() passes the invocation to the handler", async () => {
  const handler = withObservability((e, c, metadata) => [e, c, metadata], { operationName: "Op" });
  const { result } = await captureLogs(() => handler(event, context));
  assertEquals(result, [event, context, {
    correlationId: "c-1",
    traceId: undefined,
    requestId: "r-1",
    operationName: "Op",
    coldStart: false,
  }]);
});

Deno.test("withObservability() takes its name from the option, else from the function", async () => {
  function createNote(): string | undefined {
    return getRequestContext()?.operationName;
  }
  assertEquals((await run(createNote)).result, "createNote");
  assertEquals((await run(createNote, { operationName: "" })).result, "createNote");
  assertEquals((await run(createNote, { operationName: "Op" })).result, "Op");
  const unnamed = (() => () => getRequestContext()?.operationName)();
  assertEquals((await run(unnamed)).result, "handler");
  await withEnv({ AWS_LAMBDA_FUNCTION_NAME: "notes-dev-NotesPost" }, async () => {
    assertEquals((await run(unnamed)).result, "notes-dev-NotesPost");
  });
});

Deno.test("withObservability() ends a good invocation with one line, metrics and a span, in one write", async () => {
  const spans: Span[] = [];
  const remove = onSpanEnd((span) => spans.push(span));
  const { writes, lines } = await run(() => ({ statusCode: 201 }), { operationName: "Op" });
  remove();
  assertEquals(writes.length, 1);
  const {
    level,
    message,
    operation,
    status,
    duration_ms,
    correlation_id,
    function_request_id,
    function_name,
  } = lines[0];
  assertEquals(
    [level, message, operation, status, correlation_id, function_request_id, function_name],
    ["INFO", "request completed", "Op", 201, "c-1", "r-1", "fn"],
  );
  assert(typeof duration_ms === "number" && duration_ms >= 0);
  const { operationName, Duration, Errors } = getMetrics(lines);
  assertEquals([operationName, typeof Duration, Errors], ["Op", "number", undefined]);
  assertEquals(spans.map((span) => [span.name, span.status, span.attributes]), [
    ["Op", "ok", {
      "faas.invocation_id": "r-1",
      "faas.trigger": "http",
      "aws.lambda.invoked_arn": "arn:aws:lambda:eu-west-1:123456789012:function:fn",
      "http.request.method": "GET",
      "http.route": "/",
      "url.path": "/",
      "url.scheme": "https",
      "http.response.status_code": 201,
      "faas.coldstart": false,
    }],
  ]);
});

Deno.test("every kind of handler answers the event of a deployment without running", async () => {
  const { defineApiHandler } = await import("../../validation/define_api_handler.ts");
  const { defineRouter } = await import("../../router/define_router.ts");
  const fail = () => {
    throw new Error("the handler ran");
  };
  const api = defineApiHandler({})(fail);
  const handlers = [withObservability(fail), api, defineRouter({ "GET /": api })] as readonly ((
    event: never,
    context: unknown,
  ) => Promise<unknown>)[];
  const { lines } = await captureLogs(async () => {
    for (const handler of handlers) {
      const answer = await handler({ [LOAD_PROBE]: true } as never, createLambdaContext());
      assertEquals(answer, { statusCode: 204 });
    }
  });
  assertEquals(lines, []);
});

Deno.test("withObservability() reports a failure of the service and rethrows it", async () => {
  const spans: Span[] = [];
  const remove = onSpanEnd((span) => spans.push(span));
  const { lines } = await captureLogs(() =>
    assertRejects(
      () => withObservability(() => Promise.reject(new TypeError("why")))(event, context),
      TypeError,
      "why",
    )
  );
  remove();
  assertEquals([lines[0].level, lines[0].message, lines[0].error.name], [
    "ERROR",
    "request failed",
    "TypeError",
  ]);
  assertEquals([getMetrics(lines).Errors, spans[0].status], [1, "error"]);
});

Deno.test("withObservability() takes a client's fault for no failure of the service", async () => {
  const spans: Span[] = [];
  const remove = onSpanEnd((span) => spans.push(span));
  const { lines, result } = await run(() => Promise.reject(new NotFoundError()), {
    respondToError: () => ({ statusCode: 404 }),
  });
  remove();
  assertEquals(result, { statusCode: 404 });
  assertEquals([lines[0].level, lines[0].status, lines[0].error_code], ["INFO", 404, "NOT_FOUND"]);
  assertEquals([getMetrics(lines).Errors, spans[0].status], [undefined, "ok"]);
});

Deno.test("withObservability() lets respondToError answer, and logs what it answers to", async () => {
  const cause = Object.assign(new Error("internal"), { code: "XX000" });
  const { lines, result } = await run(
    () => Promise.reject(DatabaseError.from(cause, "createUser")),
    {
      respondToError: (error, c, e) => ({
        statusCode: 500,
        same: c === context && e === event,
        error,
      }),
    },
  );
  assertEquals((result as { same: boolean }).same, true);
  const { error, status } = lines[0];
  assertEquals([status, error.name, error.code, error.cause.code], [
    500,
    "DatabaseError",
    "DATABASE",
    "XX000",
  ]);
});

Deno.test("withObservability() writes one line for each kind of thrown value, and never breaks over it", async () => {
  const bad = (): never => {
    throw new Error("no");
  };
  const circular = new Error("circular");
  circular.cause = circular;
  const thrown = [
    null,
    undefined,
    "text",
    7n,
    Symbol("s"),
    {},
    circular,
    Object.freeze(new Error("frozen")),
    new Proxy(new Error("x"), { get: bad, getPrototypeOf: bad, has: bad }),
    new Error("outer", { cause: new Proxy({}, { get: bad, getPrototypeOf: bad }) }),
  ];
  for (const value of thrown) {
    const { lines, result } = await run(() => Promise.reject(value), {
      respondToError: () => "answered",
    });
    assertEquals([result, lines[0].level, lines[0].message], [
      "answered",
      "ERROR",
      "request failed",
    ]);
    assertEquals(getMetrics(lines).Errors, 1);
  }
});

Deno.test("withObservability() handles a handler that throws synchronously", async () => {
  const { result } = await run(() => {
    throw new NotFoundError();
  }, { respondToError: () => "answered" });
  assertEquals(result, "answered");
});

Deno.test("logging.summary false leaves out the line of a good invocation, never that of a failure", async () => {
  const logging = { summary: false };
  const quiet = await run(() => 1, { logging, metrics: false });
  assertEquals(quiet.writes, []);
  const client = await run(() => Promise.reject(new NotFoundError()), {
    logging,
    metrics: false,
    respondToError: () => 1,
  });
  assertEquals(client.writes, []);
  const failed = await run(() => Promise.reject(new Error("x")), {
    logging,
    metrics: false,
    respondToError: () => 1,
  });
  assertEquals(failed.lines.map((line) => line.level), ["ERROR"]);
});

Deno.test("metrics false and tracing false leave metrics and span out", async () => {
  const spans: Span[] = [];
  const remove = onSpanEnd((span) => spans.push(span));
  const { lines } = await run(() => 1, { metrics: false, tracing: false });
  remove();
  assertEquals([lines.length, "_aws" in lines[0], spans.length], [1, false, 0]);
});

Deno.test("logging.level goes before LOG_LEVEL", async () => {
  await withEnv({ LOG_LEVEL: "ERROR" }, async () => {
    const shown = await run(() => logDebug("x"), { logging: { level: "DEBUG" }, metrics: false });
    assertEquals(shown.lines.map((line) => line.level), ["DEBUG", "INFO"]);
    assertEquals((await run(() => logInfo("x"), { metrics: false })).writes, []);
  });
});

Deno.test("logging.sampleRate shows a share of invocations from DEBUG on", async () => {
  const shown = async (sampleRate: number, level: "ERROR" | "TRACE" = "ERROR"): Promise<number> =>
    (await run(() => logDebug("x"), {
      logging: { level, sampleRate, summary: false },
      metrics: false,
    })).lines.length;
  assertEquals([await shown(0), await shown(1), await shown(0, "TRACE"), await shown(1, "TRACE")], [
    0,
    1,
    1,
    1,
  ]);
  const random = Math.random;
  try {
    Math.random = () => 0.25;
    assertEquals([await shown(0.2), await shown(0.3)], [0, 1]);
  } finally {
    Math.random = random;
  }
});

Deno.test("logging.fields are in each line, redacted, and take no reserved name", async () => {
  const fields = { team: "notes", apiKey: "k", level: "forged" };
  const { lines } = await run(() => logInfo("x"), { logging: { fields }, metrics: false });
  for (const line of lines) {
    assertEquals([line.team, line.apiKey, line._level, line.level], [
      "notes",
      "[REDACTED]",
      "forged",
      "INFO",
    ]);
  }
});

Deno.test("logging.redact takes further key names, in any case", async () => {
  const { lines } = await run(() => logInfo("x", { iban: "DE1" }), {
    logging: { redact: ["IBAN"] },
    metrics: false,
  });
  assertEquals(lines[0].iban, "[REDACTED]");
});

Deno.test("logging.logEvent and logging.logResult log at DEBUG only, redacted inside of bodies too", async () => {
  const sent = createRestApiEvent({
    method: "POST",
    headers: { Authorization: "SECRET-1", Cookie: "a=SECRET-2", "X-Plain": "visible-1" },
    query: { token: "SECRET-3", page: "visible-2" },
    body: { password: "SECRET-4", title: "visible-3", nested: [{ apiKey: "SECRET-5" }] },
  });
  const result = {
    statusCode: 200,
    body: '{"token":"SECRET-6","id":"visible-4"}',
    cookies: ["s=SECRET-7"],
  };
  const handler = (level: "INFO" | "DEBUG"): Promise<CapturedLogs<unknown>> =>
    captureLogs(() =>
      withObservability(() => result, {
        metrics: false,
        logging: { level, logEvent: true, logResult: true },
      })(
        sent,
        context,
      )
    );
  const { writes, lines } = await handler("DEBUG");
  assertEquals(lines.map((line) => line.message), ["event", "result", "request completed"]);
  assertFalse(writes.join("").includes("SECRET-"), writes.join(""));
  for (let i = 1; i <= 4; i++) assert(writes.join("").includes(`visible-${i}`), String(i));
  assertEquals((await handler("INFO")).lines.map((line) => line.message), ["request completed"]);
});

const SECRET_PATHS: [string, (key: string, secret: string) => object][] = [
  ["a REST API", (key, secret) => ({
    ...createRestApiEvent({ method: "GET", path: `/reset/${encodeURIComponent(secret)}/x` }),
    pathParameters: { [key]: secret, id: "visible" },
    queryStringParameters: { code: secret, sig: secret, page: "visible" },
    multiValueQueryStringParameters: { code: [secret], page: ["visible"] },
  })],
  ["an HTTP API", (key, secret) => ({
    rawPath: `/reset/${secret}/x`,
    rawQueryString: `code=${secret}&page=visible`,
    pathParameters: { [key]: secret },
    requestContext: {
      path: `/reset/${secret}`,
      http: { method: "GET", path: `/reset/${secret}/x` },
    },
  })],
];

for (const [name, makeEvent] of SECRET_PATHS) {
  Deno.test(`logging.logEvent shows no sensitive parameter in the path or query of ${name}`, async () => {
    for (const key of ["token", "reset_token", "invite"]) {
      const event = makeEvent(key, "s3cret value+1");
      const logging = { level: "DEBUG" as const, logEvent: true, redact: ["invite"] };
      const { writes } = await captureLogs(() =>
        withObservability(() => ({ statusCode: 200 }), { metrics: false, logging })(
          event as never,
          context,
        )
      );
      const text = writes.join("");
      assertFalse(/s3cret/.test(text), text);
      assert(text.includes("visible"));
    }
  });
}

Deno.test("an unknown LOG_LEVEL is reported once, and INFO is used", async () => {
  await withEnv({ LOG_LEVEL: "verbose" }, async () => {
    const first = await run(() => logDebug("x"), { metrics: false });
    assertEquals(first.lines.map((line) => [line.level, line.value]), [["WARN", "verbose"], [
      "INFO",
      undefined,
    ]]);
    assertEquals((await run(() => 1, { metrics: false })).lines.length, 1);
  });
});

Deno.test("a handler that meets its deadline answers with 504 in time, and its signal is aborted", async () => {
  let aborted = false;
  let told = 0;
  let failure: unknown;
  function neverDone(): Promise<void> {
    getRequestContext()?.signal.addEventListener("abort", () => aborted = true);
    currentInvocation()!.onDeadline(() => told++);
    currentInvocation()!.onDeadline(() => told++)();
    return new Promise(() => {});
  }
  const handler = withObservability(neverDone, {
    respondToError: (error) => void (failure = error),
  });
  const hold = setTimeout(() => {}, 10_000);
  const { lines } = await captureLogs(() => handler(event, createLambdaContext({ timeoutMs: 40 })));
  clearTimeout(hold);
  assert(failure instanceof DeadlineExceededError && aborted);
  assertEquals(told, 1, "the one that was not forgotten is called once");
  assertEquals([lines[0].level, lines[0].error.code], ["ERROR", "DEADLINE_EXCEEDED"]);
});

Deno.test("a handler's own metrics leave in the invocation's one write", async () => {
  const { writes, lines } = await run(() => {
    metrics.addMetric("NotesCreated", MetricUnit.Count, 1);
    logInfo("created");
  });
  assertEquals(writes.length, 1);
  assertEquals(getMetrics(lines).NotesCreated, 1);
});

Deno.test("withObservability() refuses options in place of the handler", () => {
  assertThrows(
    () => withObservability({ operationName: "Op" } as never, (() => {}) as never),
    ConfigurationError,
    "got object as the handler",
  );
});

Deno.test("withObservability() rejects invalid options when it is called", () => {
  const bad: [options: unknown, inMessage: string][] = [
    [{ logging: { level: "LOUD" } }, "LOUD"],
    [{ operationName: 7 }, "operationName is 7"],
    [{ operationName: "x".repeat(1025) }, "operationName"],
  ];
  for (const [options, inMessage] of bad) {
    assertThrows(
      () => withObservability(() => 1, options as Options),
      ConfigurationError,
      inMessage,
    );
  }
});

Deno.test("a configuration error is logged with level SILENT too, other errors are not", async () => {
  const options: Options = {
    logging: { level: "SILENT" },
    metrics: false,
    respondToError: () => 0,
  };
  const fail = (error: Error) => run(() => Promise.reject(error), options);
  const { lines } = await fail(new ConfigurationError("SESSION_SECRET is not set"));
  assertEquals(lines.map(({ error }) => error.message), ["SESSION_SECRET is not set"]);
  assertEquals((await fail(new DatabaseError("A query failed"))).lines, []);
});
