// deno-lint-ignore-file no-explicit-any -- events with the members that matter
// Uses handlers, validation, errors, logs and webhooks, and returns what came of it. It runs where there are only web
// standards: nothing here may import from `node:`, and `@trellis/fn/testing` is for Node, Deno and Bun.
import {
  buildErrorResponse,
  buildValidatedResponse,
  defineApiHandler,
  isAppError,
  NotFoundError,
  validateSchema,
} from "@trellis/fn";
import {
  validateCodeHostWebhook,
  validatePaymentsWebhook,
  validateStandardWebhook,
} from "@trellis/fn/auth";
import { getRequestContext, readRawBody, retry } from "@trellis/fn/core";
import {
  defineAuthorizerHandler,
  defineQueueHandler,
  defineScheduleHandler,
  defineTopicHandler,
} from "@trellis/fn/triggers";
import { defineEnv } from "@trellis/fn/env";
import { ValidationError } from "@trellis/fn/errors";
import { logInfo, metrics, onSpanEnd, setLogOutput, withSpan } from "@trellis/fn/observability";
import * as z from "zod";

const context = (awsRequestId: string, timeoutMs = 10_000) => {
  const endsAtMs = performance.now() + timeoutMs;
  return {
    awsRequestId,
    functionName: "web",
    functionVersion: "$LATEST",
    invokedFunctionArn: "arn:aws:lambda:eu-west-1:123456789012:function:web",
    memoryLimitInMB: "128",
    logGroupName: "/aws/lambda/web",
    logStreamName: "stream",
    getRemainingTimeInMillis: () => endsAtMs - performance.now(),
  };
};

function request(body: string | null, more: Record<string, unknown> = {}) {
  return {
    version: "2.0",
    routeKey: "POST /notes",
    rawPath: "/notes",
    rawQueryString: "limit=5&tag=a&tag=b",
    headers: { "content-type": "application/json", "x-correlation-id": "c-1" },
    requestContext: { requestId: "g-1", http: { method: "POST", path: "/notes" } },
    body,
    isBase64Encoded: false,
    ...more,
  };
}

const notes = defineApiHandler({
  schema: z.object({ title: z.string().min(1), tags: z.array(z.string()).max(3).optional() }),
  querySchema: z.object({ limit: z.coerce.number(), tag: z.array(z.string()) }),
})(async function createNote({ body, query, context, metadata }) {
  logInfo("before", { title: body.title, password: "hunter2" });
  metrics.addMetric("Notes", "Count", 1);
  const before = getRequestContext()?.correlationId;
  await withSpan("store", () => Promise.resolve());
  if (body.title === "gone") throw new NotFoundError("No such note");
  if (body.title === "broken") throw new TypeError("password=hunter2");
  return buildValidatedResponse(context, 201, {
    ...body,
    query,
    before,
    id: metadata.correlationId,
  });
});

const slow = defineApiHandler({})(() => new Promise(() => {}));
const queue = defineQueueHandler({ schema: z.object({ n: z.number() }), concurrency: 2 })(
  async ({ body }) => {
    await Promise.resolve();
    if (body.n === 2) throw new Error("why");
  },
);
const topic = defineTopicHandler({ schema: z.object({ n: z.number() }) })(async ({ message }) => {
  await Promise.resolve();
  if (message.n > 1) throw new Error("why");
});
const nightly = defineScheduleHandler()(async () => (await Promise.resolve(), { done: true }));
const authorizer = defineAuthorizerHandler()(({ token }) =>
  token === undefined ? { userStatus: "Anonymous" } : { userStatus: "Authenticated", userId: token }
);

/** Logs before and after it waits; where there is no AsyncLocalStorage the later lines have no ids, and never another's. */
const mixed = defineApiHandler({ logging: { summary: false } })(
  async function mixed({ context, metadata }) {
    const own = metadata.correlationId;
    for (let turn = 0; turn < 3; turn++) {
      logInfo("mixed", { own });
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return buildValidatedResponse(context, 200, { own });
  },
);

async function runMixed(): Promise<number> {
  const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => {
    const event = request("{}", { headers: { "x-correlation-id": `mixed-${n}` } });
    return mixed(event as any, context(`r-${n}`));
  }));
  return answers.filter(({ headers, body }) =>
    headers?.["X-Correlation-Id"] !== JSON.parse(body).own
  ).length;
}

type Call = () => unknown;

function record(messageId: string, body: string) {
  return {
    messageId,
    receiptHandle: "r",
    body,
    attributes: {},
    messageAttributes: {},
    eventSourceARN: "arn:q",
  };
}

function sns(...messages: string[]) {
  return {
    Records: messages.map((Message, i) => ({
      Sns: { MessageId: `m${i}`, Message, MessageAttributes: {} },
    })),
  };
}

async function hmacHex(secret: string, text: string): Promise<string> {
  const bytes = (value: string) => new TextEncoder().encode(value);
  const key = await crypto.subtle.importKey(
    "raw",
    bytes(secret),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  const signature = new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes(text)));
  return Array.from(signature, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const post = (body: string | null, more?: Record<string, unknown>) => () =>
  notes(request(body, more) as any, context("r-1"));

const CALLS: Record<string, Call> = {
  valid: post('{"title":"milk ✓","tags":["a"]}'),
  base64: post("eyJ0aXRsZSI6Im1pbGsgw6kifQ==", { isBase64Encoded: true }),
  "base64 that is none": post("a", { isBase64Encoded: true }),
  form: post("title=milk&tags=a&tags=b", {
    headers: { "content-type": "application/x-www-form-urlencoded" },
  }),
  "invalid body": post('{"title":"","tags":[1]}'),
  "invalid query": post('{"title":"milk"}', { rawQueryString: "limit=x" }),
  "no JSON": post("{"),
  "empty": post(null),
  "wrong media type": post("x", { headers: { "content-type": "text/plain" } }),
  "too large": post(`{"title":"${"é".repeat(700_000)}"}`),
  "too deep": post(`${"[".repeat(5_000)}${"]".repeat(5_000)}`),
  "not found": post('{"title":"gone"}'),
  broken: post('{"title":"broken"}'),
  "past the deadline": () => slow(request("{}") as any, context("r-2", 60)),
  queue: () =>
    queue(
      { Records: ['{"n":1}', '{"n":2}', "?"].map((body, i) => record(`m${i}`, body)) } as any,
      context("r"),
    ),
  topic: () => topic(sns('{"n":1}', '{"n":2}', '{"n":3}') as any, context("r")),
  schedule: () =>
    nightly(
      {
        id: "s1",
        "detail-type": "Scheduled Event",
        source: "aws.events",
        time: "2026-01-01T00:00:00Z",
        detail: {},
      } as any,
      context("r"),
    ),
  authorizer: () =>
    authorizer(
      {
        version: "2.0",
        routeArn: "arn",
        headers: { authorization: "Bearer t-1" },
        requestContext: {},
      } as any,
      context("r"),
    ),
  "error response": () =>
    buildErrorResponse(context("r-3"), new ValidationError("no", { errors: { a: ["b"] } })),
  "raw body": () => [...readRawBody(request("aGk=", { isBase64Encoded: true }) as any)],
  "validated value": () => validateSchema(z.object({ n: z.coerce.number() }), { n: "5" }),
  retried: async () => {
    let calls = 0;
    await retry(() => {
      if (++calls < 3) throw new Error("busy");
    }, { isRetryable: () => true, baseDelayMs: 1 });
    return calls;
  },
  environment: () => ({ ...defineEnv({ A: { default: "b" } }, { source: {} }) }),
  "GitHub's webhook": () =>
    validateCodeHostWebhook(
      "Hello, World!",
      "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
      "It's a Secret to Everybody",
    ),
  "GitHub's webhook, forged": () =>
    validateCodeHostWebhook("Hello, World?", `sha256=${"0".repeat(64)}`, "secret"),
  "Stripe's webhook": async () => {
    const seconds = Math.floor(Date.now() / 1000);
    const bytes = new TextEncoder().encode('{"é":1}');
    await validatePaymentsWebhook(
      bytes,
      `t=${seconds},v1=${await hmacHex("whsec", `${seconds}.{"é":1}`)}`,
      "whsec",
    );
  },
  "standard webhook": () =>
    validateStandardWebhook(
      '{"test": 2432232314}',
      {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
      },
      "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
      Infinity,
    ),
};

/**
 * Lists the metrics of a line with their dimensions. Without AsyncLocalStorage a metric that comes after an await has a
 * line of its own.
 */
function listMetrics({ _aws: metadata }: Record<string, unknown>): string[] {
  const { CloudWatchMetrics: directives = [] } = (metadata ?? {}) as {
    CloudWatchMetrics?: { Dimensions: string[][]; Metrics: { Name: string }[] }[];
  };
  return directives.flatMap(({ Dimensions, Metrics }) =>
    Metrics.map(({ Name }) => `${Name} by ${Dimensions}`)
  );
}

/** Runs everything, and returns results by name, log lines and spans. */
export async function exercise(): Promise<Record<string, unknown>> {
  const results: Record<string, unknown> = {};
  const lines: Record<string, unknown>[] = [];
  const spans: string[] = [];
  const restore = setLogOutput((text) => {
    for (const line of text.split("\n")) if (line !== "") lines.push(JSON.parse(line));
  });
  // the timer of a deadline does not keep a process of Node alive
  const hold = setInterval(() => {}, 1_000);
  const remove = onSpanEnd((span) => spans.push(`${span.name} ${span.status}`));
  for (const [name, call] of Object.entries(CALLS)) {
    try {
      results[name] = await call() ?? "nothing";
    } catch (error) {
      const { name: of, message } = error as Error;
      results[name] = { thrown: of, message, code: isAppError(error) ? error.code : undefined };
    }
  }
  const foreignAnswers = await runMixed();
  const marked = lines.filter(({ message }) => message === "mixed");
  const foreignLines =
    marked.filter(({ own, correlation_id: id }) => id !== own && id !== undefined).length;
  clearInterval(hold);
  restore();
  remove();
  return {
    results,
    mixed: { foreignAnswers, foreignLines, lines: marked.length },
    lines: lines.filter(({ level, message }) => level && message !== "mixed").map((
      { level, message, error },
    ) => [level, message, error !== undefined]),
    metrics: lines.flatMap(listMetrics).sort(),
    spans,
  };
}
