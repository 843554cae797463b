import {
  assert,
  assertEquals,
  assertFalse,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import * as z from "zod";
import * as mini from "zod/mini";
import { getOutgoingHeaders, getRequestContext, type WrapperMetadata } from "../../../core/mod.ts";
import {
  defineQueueHandler,
  type QueueHandlerFunction,
  type QueueHandlerOptions,
  type SqsBatchResult,
  type SqsEvent,
} from "../../../triggers/mod.ts";
import { remainingMs } from "../../../core/request_context.ts";
import type { StandardSchema } from "../../../env/mod.ts";
import { ConfigurationError, NotFoundError, UnexpectedError } from "../../../errors/mod.ts";
import { logInfo, metrics, MetricUnit, onSpanEnd, type Span } from "../../../observability/mod.ts";
import {
  createEventBridgeEvent,
  createFakeClock,
  createLambdaContext,
  createQueueEvent,
  createTopicNotification,
} from "../../../testing/mod.ts";
import { type CapturedLogs, captureLogs, type LogLine } from "../../support/capture_logs.ts";

const context = createLambdaContext({
  awsRequestId: "r-1",
  functionName: "fn",
  clock: createFakeClock(),
});
const Note = z.object({ noteId: z.string().min(1) });

function run<T = never>(
  event: SqsEvent,
  handler: QueueHandlerFunction<T>,
  options: QueueHandlerOptions<T> = {},
  lambdaContext = context,
): Promise<CapturedLogs<SqsBatchResult>> {
  return captureLogs(() => defineQueueHandler<T>(options)(handler)(event, lambdaContext));
}

/** Timers of deadlines keep no process alive: something else must, until they fire. */
async function holding<T>(fn: () => Promise<T>): Promise<T> {
  const hold = setTimeout(() => {}, 10_000);
  try {
    return await fn();
  } finally {
    clearTimeout(hold);
  }
}

function getFailures({ result }: CapturedLogs<SqsBatchResult>): string[] {
  return result.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
}

function getLines(lines: LogLine[], message: string): LogLine[] {
  return lines.filter((line) => line.message === message);
}

function getBatch(
  count: number,
  queueName?: string,
  groupOf: (i: number) => string | undefined = () => undefined,
): SqsEvent {
  const records = Array.from(
    { length: count },
    (_, i) => ({ messageId: `m${i}`, body: `${i}`, groupId: groupOf(i) }),
  );
  return createQueueEvent(records, queueName);
}

Deno.test("defineQueueHandler() gives the handler exactly what the options call for", async () => {
  const event = createQueueEvent([{ body: { noteId: "n1", more: 1 }, messageId: "m1" }]);
  const seen: unknown[] = [];
  const steady = (metadata: WrapperMetadata): WrapperMetadata => ({
    ...metadata,
    coldStart: false,
  });
  await run(event, (params) => seen.push({ ...params, metadata: steady(params.metadata) }));
  await run(event, (params) => seen.push({ ...params, metadata: steady(params.metadata) }), {
    schema: Note,
    operationName: "Op",
  });
  const [record] = event.Records;
  const ids = { correlationId: "m1", traceId: undefined, requestId: "r-1", coldStart: false };
  assertEquals(seen, [
    { record, context, metadata: { ...ids, operationName: "handler" } },
    { record, context, metadata: { ...ids, operationName: "Op" }, body: { noteId: "n1" } },
  ]);
});

Deno.test("defineQueueHandler() types the body by the schema and leaves it out without one", () => {
  const withSchema = defineQueueHandler({ schema: z.object({ n: z.coerce.number() }) })((
    { body },
  ) => body.n.toFixed());
  // @ts-expect-error: there is no body without a schema
  const without = defineQueueHandler()(({ body }) => body);
  assertEquals([typeof withSchema.handler, typeof without.handler], ["function", "function"]);
});

Deno.test("defineQueueHandler() carries the user's own function", () => {
  function indexNote(): void {}
  assertEquals(defineQueueHandler()(indexNote).handler, indexNote);
});

Deno.test("defineQueueHandler() works on each record apart from the others and reports those that failed", async () => {
  const tried: string[] = [];
  const out = await run(getBatch(4), ({ record }) => {
    tried.push(record.messageId);
    if (record.messageId === "m1") throw new Error("why");
    if (record.messageId === "m2") return Promise.reject(new NotFoundError("gone"));
  });
  assertEquals(tried, ["m0", "m1", "m2", "m3"]);
  assertEquals(getFailures(out), ["m1", "m2"]);
});

Deno.test("defineQueueHandler() reports failures in the batch's order, whichever fails first", async () => {
  const out = await run(getBatch(3), async ({ record }) => {
    if (record.messageId === "m0") await settle();
    if (record.messageId !== "m1") throw new Error("why");
  }, { concurrency: 3 });
  assertEquals(getLines(out.lines, "record failed").map((line) => line.message_id), ["m2", "m0"]);
  assertEquals(getFailures(out), ["m0", "m2"]);
});

Deno.test("defineQueueHandler() bears whatever a record's handler throws", async () => {
  const bad = (): never => {
    throw new Error("no");
  };
  const thrown = [
    undefined,
    null,
    "text",
    7n,
    {},
    new Proxy(new Error("x"), { get: bad, getPrototypeOf: bad, has: bad }),
  ];
  const out = await run(getBatch(thrown.length), ({ record }) => {
    throw thrown[Number(record.body)];
  });
  assertEquals(getFailures(out), thrown.map((_, i) => `m${i}`));
  assertEquals(getLines(out.lines, "record failed").length, thrown.length);
});

Deno.test("defineQueueHandler() waits for what a handler returns, also for a thenable that is no promise", async () => {
  const out = await run(getBatch(1), () => ({
    then(_resolve: unknown, reject: (error: Error) => void): void {
      reject(new Error("the query failed"));
    },
  }));
  assertEquals(getFailures(out), ["m0"]);
});

Deno.test("defineQueueHandler() answers an empty list when all is well", async () => {
  const out = await run(getBatch(2), () => "ignored");
  assertEquals(out.result, { batchItemFailures: [] });
});

const misfits: [name: string, body: unknown, reason: string][] = [
  ["is no JSON", "secret-body", "Validation failed: It is not valid JSON"],
  ["is empty", "", "Validation failed: It is empty, JSON is expected"],
  ["does not fit", { noteId: "", secret: "secret-body" }, "Validation failed: noteId"],
  ["is of another type", "[]", "Validation failed: _form"],
  [
    "reaches the prototype",
    '{"noteId":"n1","__proto__":{"secret-body":1}}',
    "Validation failed: It must not contain the keys",
  ],
  [
    "reaches it by an escape",
    '{"noteId":"n1","__pro\\u0074o__":{}}',
    "Validation failed: It must not contain the keys",
  ],
  [
    "reaches it by the constructor",
    '{"noteId":"n1","constructor":{"prototype":{}}}',
    "Validation failed: It must not",
  ],
];

for (const [name, body, reason] of misfits) {
  Deno.test(`defineQueueHandler() fails a message that ${name}, in one line without its body`, async () => {
    const event = createQueueEvent([{ messageId: "m1", body, receiveCount: 2 }, {
      messageId: "m2",
      body: { noteId: "n2" },
    }]);
    const seen: unknown[] = [];
    const out = await run(event, ({ body }) => seen.push(body), { schema: Note });
    assertEquals([getFailures(out), seen], [["m1"], [{ noteId: "n2" }]]);
    const failed = getLines(out.lines, "record failed");
    assertEquals(
      failed.map((
        { level, message_id, receive_count, correlation_id },
      ) => [level, message_id, receive_count, correlation_id]),
      [["ERROR", "m1", 2, "m1"]],
    );
    assertStringIncludes(failed[0].reason, reason);
    assertFalse(out.writes.join("").includes("secret-body"));
  });
}

Deno.test("defineQueueHandler() names fields only: libraries quote values in their messages", async () => {
  const quoting: StandardSchema<string> = {
    "~standard": {
      version: 1,
      vendor: "quoting",
      validate: () => ({
        issues: [{ message: 'Received "secret-body"', path: [{ key: "email" }, 0] }],
      }),
    },
  };
  const out = await run(getBatch(1), () => {}, { schema: quoting });
  assertEquals(getLines(out.lines, "record failed")[0].reason, "Validation failed: email.0");
  assertFalse(out.writes.join("").includes("secret-body"));
});

const asynchronous: StandardSchema<{ noteId: string }> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) => Promise.resolve({ value: value as { noteId: string } }),
  },
};
const schemas: [name: string, schema: StandardSchema<{ noteId: string }>][] = [
  ["zod", Note],
  ["zod, asynchronous", Note.refine(() => Promise.resolve(true))],
  ["zod/mini", mini.object({ noteId: mini.string() })],
  ["zod, compiled", z.compile(Note)],
  ["another library, asynchronous", asynchronous],
];

for (const [name, schema] of schemas) {
  Deno.test(`defineQueueHandler() takes a schema of ${name}`, async () => {
    const seen: unknown[] = [];
    const out = await run(
      createQueueEvent([{ body: { noteId: "n1" } }]),
      ({ body }) => seen.push(body),
      { schema },
    );
    assertEquals([out.result.batchItemFailures, seen], [[], [{ noteId: "n1" }]]);
  });
}

Deno.test("defineQueueHandler() fails only the record whose asynchronous check is rejected, and runs the check once", async () => {
  let checks = 0;
  const schema = Note.refine(() => {
    checks++;
    return Promise.reject(new Error("the database is down"));
  });
  const event = createQueueEvent([{ messageId: "m1", body: { noteId: "n1" } }, {
    messageId: "m2",
    body: "?",
  }]);
  const out = await run(event, () => {}, { schema });
  assertEquals([getFailures(out), checks], [["m1", "m2"], 1]);
  assertEquals(getLines(out.lines, "record failed")[0].reason, "the database is down");
});

Deno.test("defineQueueHandler() stops a FIFO group at its first failure and reports the rest of it, in order", async () => {
  const tried: string[] = [];
  // a a b a b c
  const groups = ["a", "a", "b", "a", "b", "c"];
  const out = await run(getBatch(6, "notes.fifo", (i) => groups[i]), ({ record }) => {
    tried.push(record.messageId);
    if (record.messageId === "m1") throw new Error("why");
  });
  assertEquals(tried.toSorted(), ["m0", "m1", "m2", "m4", "m5"]);
  assertEquals(getFailures(out), ["m1", "m3"]);
  assertEquals(
    getLines(out.lines, "record failed").map((
      { level, message_id, reason },
    ) => [level, message_id, reason]),
    [["ERROR", "m1", "why"], ["WARN", "m3", "Message m1 of the same group failed before it"]],
  );
});

Deno.test("defineQueueHandler() stops a FIFO group at a message that does not fit", async () => {
  const event = createQueueEvent(
    [{ messageId: "m1", body: "?" }, { messageId: "m2", body: { noteId: "n2" } }],
    "q.fifo",
  );
  const out = await run(event, () => assert(false, "m2 must wait"), { schema: Note });
  assertEquals(getFailures(out), ["m1", "m2"]);
});

Deno.test("defineQueueHandler() takes groups of a queue that is not FIFO for no order", async () => {
  const tried: string[] = [];
  const out = await run(getBatch(3, "fair-queue", () => "tenant"), ({ record }) => {
    tried.push(record.messageId);
    throw new Error("why");
  });
  assertEquals([tried, getFailures(out)], [["m0", "m1", "m2"], ["m0", "m1", "m2"]]);
});

/** Runs until everybody who can start has started. */
async function settle(): Promise<void> {
  for (let i = 0; i < 50; i++) await Promise.resolve();
}

const concurrencies: [
  name: string,
  queue: string,
  groups: string,
  concurrency: number | undefined,
  most: number,
][] = [
  ["one record at once by default", "q", "aaaaaa", undefined, 1],
  ["as many records at once as it is told", "q", "aaaaaa", 4, 4],
  ["no more than there are", "q", "aa", 10, 2],
  ["as many FIFO groups at once as it is told", "q.fifo", "aabbcc", 2, 2],
  ["one record of a FIFO group at once", "q.fifo", "aaaa", 10, 1],
];

for (const [name, queue, groups, concurrency, most] of concurrencies) {
  Deno.test(`defineQueueHandler() works on ${name}`, async () => {
    let running = 0;
    let peak = 0;
    const order: string[] = [];
    const out = await run(getBatch(groups.length, queue, (i) => groups[i]), async ({ record }) => {
      peak = Math.max(peak, ++running);
      order.push(record.messageId);
      await settle();
      running--;
    }, { concurrency });
    assertEquals([peak, getFailures(out), order.length], [most, [], groups.length]);
    // within a group the order stays
    for (const group of new Set(groups)) {
      const own = order.filter((id) => groups[Number(id.slice(1))] === group);
      assertEquals(own, own.toSorted());
    }
  });
}

Deno.test("defineQueueHandler() reports records that are not finished in time, and begins no further ones", async () => {
  const tried: string[] = [];
  const signals: boolean[] = [];
  let cancelled = false;
  const out = await holding(() =>
    run(
      getBatch(4),
      ({ record }) => {
        tried.push(record.messageId);
        if (record.messageId === "m0") return;
        const signal = getRequestContext()!.signal;
        signal.addEventListener("abort", () => cancelled = true);
        signals.push(signal.aborted, remainingMs() > 0);
        return new Promise(() => {});
      },
      {},
      createLambdaContext({ timeoutMs: 60 }),
    )
  );
  assertEquals([tried, getFailures(out), cancelled, signals], [
    ["m0", "m1"],
    ["m1", "m2", "m3"],
    true,
    [false, true],
  ]);
  const failed = getLines(out.lines, "record failed");
  assertEquals(failed.map(({ message_id, error }) => [message_id, error.code]), [
    ["m1", "DEADLINE_EXCEEDED"],
    ["m2", "DEADLINE_EXCEEDED"],
    ["m3", "DEADLINE_EXCEEDED"],
  ]);
  assertStringIncludes(failed[1].reason, "before the record's turn");
  // the batch itself was in time
  assertEquals(getLines(out.lines, "request completed").length, 1);
});

Deno.test("defineQueueHandler() reports what is under way beside each other when time is up", async () => {
  const out = await holding(() =>
    run(
      getBatch(3),
      ({ record }) => record.messageId === "m1" ? undefined : new Promise(() => {}),
      { concurrency: 3 },
      createLambdaContext({ timeoutMs: 60 }),
    )
  );
  assertEquals(getFailures(out), ["m0", "m2"]);
});

const detail = { noteId: "n1", correlationId: "c-detail" };
const envelopes: [
  name: string,
  envelope: "none" | "topic" | "event",
  record: object,
  correlationId: string,
][] = [
  ["its attribute", "none", { body: { noteId: "n1" }, correlationId: "c-1" }, "c-1"],
  ["its message id", "none", { body: { noteId: "n1" } }, "m1"],
  ["its message id when the attribute is none", "none", {
    body: { noteId: "n1" },
    correlationId: "c 1\n",
  }, "m1"],
  ["the notification's attribute", "topic", {
    body: createTopicNotification({ message: { noteId: "n1" }, correlationId: "c-sns" }),
  }, "c-sns"],
  ["the notification's id", "topic", {
    body: createTopicNotification({ message: { noteId: "n1" }, messageId: "sns-1" }),
  }, "sns-1"],
  ["the event's detail", "event", { body: createEventBridgeEvent({ detail }) }, "c-detail"],
  ["the event's id", "event", {
    body: createEventBridgeEvent({ detail: { noteId: "n1" }, id: "e-1" }),
  }, "e-1"],
  ["its own attribute first", "event", {
    body: createEventBridgeEvent({ detail }),
    correlationId: "c-1",
  }, "c-1"],
];

for (const [name, envelope, record, correlationId] of envelopes) {
  Deno.test(`defineQueueHandler() takes the correlation id of a record from ${name} and carries it everywhere`, async () => {
    const ids: unknown[] = [];
    const out = await run(
      createQueueEvent([{ messageId: "m1", ...record }]),
      async ({ body, metadata }) => {
        assertEquals(body.noteId, "n1");
        await Promise.resolve();
        logInfo("in the record");
        ids.push(
          metadata.correlationId,
          getRequestContext()?.correlationId,
          getOutgoingHeaders()["X-Correlation-Id"],
        );
      },
      { schema: Note, envelope },
    );
    assertEquals([getFailures(out), ids], [[], [correlationId, correlationId, correlationId]]);
    const [line] = getLines(out.lines, "in the record");
    assertEquals([line.correlation_id, line.message_id, line.function_request_id], [
      correlationId,
      "m1",
      "r-1",
    ]);
  });
}

for (
  const [envelope, body, reason] of [
    ["topic", { noteId: "n1" }, "raw message delivery"],
    ["topic", "no json", "raw message delivery"],
    ["event", { noteId: "n1" }, "no event of EventBridge"],
    ["event", "[", "no event of EventBridge"],
    ["event", createEventBridgeEvent({ detail: "{}" }), "_form"],
  ] as const
) {
  Deno.test(`defineQueueHandler() fails a message that is not in its envelope ${envelope}: ${JSON.stringify(body)}`, async () => {
    const out = await run(createQueueEvent([{ messageId: "m1", body }]), () => {}, {
      schema: Note,
      envelope,
    });
    assertEquals(getFailures(out), ["m1"]);
    assertStringIncludes(getLines(out.lines, "record failed")[0].reason, reason);
  });
}

Deno.test("defineQueueHandler() keeps records that overlap apart: logs, spans, metadata", async () => {
  const spans: Span[] = [];
  const remove = onSpanEnd((span) => spans.push(span));
  const out = await run(getBatch(3), async ({ record, metadata }) => {
    await settle();
    logInfo("in the record", { own: metadata.correlationId });
    if (record.messageId === "m2") throw new Error("why");
  }, { concurrency: 3, operationName: "Op" });
  remove();
  for (const line of getLines(out.lines, "in the record")) {
    assertEquals(line.correlation_id, line.own);
  }
  const batch = spans.find((span) => span.name === "Op")!;
  assertEquals(
    spans.filter((span) => span !== batch).map(({ name, status, parentSpanId, attributes }) => ({
      name,
      status,
      parentSpanId,
      attributes,
    })),
    [
      {
        name: "process record",
        status: "ok",
        parentSpanId: batch.spanId,
        attributes: { message_id: "m0", receive_count: 1 },
      },
      {
        name: "process record",
        status: "ok",
        parentSpanId: batch.spanId,
        attributes: { message_id: "m1", receive_count: 1 },
      },
      {
        name: "process record",
        status: "error",
        parentSpanId: batch.spanId,
        attributes: { message_id: "m2", receive_count: 1, "error.type": "Error" },
      },
    ],
  );
});

Deno.test("defineQueueHandler() measures records and failures, and keeps what handlers measure, in one write", async () => {
  const out = await run(getBatch(3), ({ record }) => {
    metrics.addMetric("Notes", MetricUnit.Count, Number(record.body) + 1);
    if (record.messageId === "m1") throw new Error("why");
  }, { operationName: "Op", concurrency: 2 });
  assertEquals(out.writes.length, 1);
  const documents = out.lines.filter((line) => "_aws" in line);
  const own = Object.assign({}, ...documents.filter((document) => document.operationName === "Op"));
  assertEquals([own.Records, own.FailedRecords, own.Errors], [3, 1, undefined]);
  assertEquals(documents.find((document) => "Notes" in document)?.Notes.toSorted(), [1, 2, 3]);
});

Deno.test("metrics false and tracing false leave metrics and spans out", async () => {
  const spans: Span[] = [];
  const remove = onSpanEnd((span) => spans.push(span));
  const out = await run(getBatch(1), () => {}, {
    metrics: false,
    tracing: false,
    logging: { summary: false },
  });
  remove();
  assertEquals([out.writes, spans], [[], []]);
});

Deno.test("logging.logEvent takes messages apart, so that secrets in them are redacted by name", async () => {
  const body = createTopicNotification({ message: { noteId: "n1", password: "hunter2" } });
  const event = createQueueEvent([{ body }, { body: "free text with hunter2" }]);
  const out = await run(event, () => {}, { logging: { level: "DEBUG", logEvent: true } });
  const [line] = getLines(out.lines, "event");
  assertEquals(line.event.Records[0].body.Message, { noteId: "n1", password: "[REDACTED]" });
  assertEquals(line.event.Records[1].body, "[22 characters]");
  assertFalse(out.writes.join("").includes("hunter2"));
});

for (
  const event of [{}, null, { Records: [{ EventSource: "aws:sns" }] }, {
    Records: "x",
  }] as unknown as SqsEvent[]
) {
  Deno.test(`defineQueueHandler() refuses an event that is no batch: ${JSON.stringify(event)}`, async () => {
    const handler = defineQueueHandler()(() => {});
    const { lines } = await captureLogs(() =>
      assertRejects(
        () => handler(event, context),
        UnexpectedError,
        "the trigger of this function must be a queue",
      )
    );
    assertEquals(getLines(lines, "request failed").length, 1);
  });
}

const bad: [options: unknown, inMessage: string[]][] = [
  [{ scheme: {} }, ["defineQueueHandler has no option scheme", "envelope"]],
  [{ retryAttempts: 1 }, ["no option retryAttempts"]],
  [{ concurrency: 0 }, ["concurrency is 0", "1 to 10000"]],
  [{ concurrency: 1.5 }, ["concurrency is 1.5"]],
  [{ envelope: "sns" }, ['envelope is "sns"', "topic"]],
  [{ envelope: "topic" }, ["envelope is topic", "schema"]],
  [{ schema: {} }, ["schema is {}", "Standard Schema"]],
];

for (const [options, inMessage] of bad) {
  Deno.test(`defineQueueHandler() refuses ${JSON.stringify(options)}`, () => {
    const error = assertThrows(
      () => defineQueueHandler(options as QueueHandlerOptions),
      ConfigurationError,
    );
    for (const text of inMessage) assertStringIncludes(error.message, text);
  });
}

Deno.test("defineQueueHandler() refuses a handler that is none", () => {
  assertThrows(
    () => defineQueueHandler()(undefined as never),
    ConfigurationError,
    "got undefined as the handler",
  );
});
