// deno-lint-ignore-file no-console require-await
// Sends interleaved requests through handlers in one process, 64 at once, and counts what shows the ids of another one.
// Its argument is JSON: { requests, config? }; it prints one line of JSON.
import {
  buildValidatedResponse,
  defineApiHandler,
  getOutgoingHeaders,
  getRequestContext,
} from "@trellis/fn";
import { defineQueueHandler } from "@trellis/fn/triggers";
import {
  logInfo,
  metrics,
  MetricUnit,
  onSpanEnd,
  setLogOutput,
  withSpan,
} from "@trellis/fn/observability";
import { createLambdaContext, createQueueEvent, createRestApiEvent } from "@trellis/fn/testing";
import { EventEmitter } from "node:events";
import { readFile } from "node:fs";
import { createServer } from "node:http";
import process from "node:process";
import { setImmediate } from "node:timers";

const AT_ONCE = 64;
const { requests, config } = JSON.parse(process.argv[2]);
const seen = {
  requests: 0,
  lines: 0,
  metrics: 0,
  spans: 0,
  checks: 0,
  foreign: 0,
  lost: 0,
  kinds: {},
  stored: 0,
  examples: [],
};
let expectedLines = 0;

function check(isOwn, what, own, found) {
  seen.checks++;
  if (isOwn) return;
  seen.foreign++;
  if (seen.examples.length < 5) seen.examples.push([what, own, found]);
}

/** Logs a line that says whose it is, and looks at everything else that has an id. */
function mark(own, what) {
  expectedLines++;
  logInfo(what, { own });
  check(
    getRequestContext()?.correlationId === own,
    `context, ${what}`,
    own,
    getRequestContext()?.correlationId,
  );
  check(getOutgoingHeaders()["X-Correlation-Id"] === own, `outgoing headers, ${what}`, own);
}

/** Logs a line that belongs to no request. */
function markOutside(what) {
  expectedLines++;
  logInfo(what, { own: null });
  check(
    getRequestContext() === undefined,
    `context, ${what}`,
    null,
    getRequestContext()?.correlationId,
  );
}

setLogOutput((text) => {
  for (const line of text.split("\n")) if (line !== "") checkLine(JSON.parse(line));
});

function checkLine(line) {
  if ("N" in line) {
    seen.metrics++;
    return check(
      [line.N].flat().every((n) => n === getNumber(line.own)),
      "metric",
      line.own,
      line.N,
    );
  }
  if (line.own === undefined) return;
  seen.lines++;
  const [id, requestId] = line.own === null ? [] : [line.own, `r-${line.own.split(":")[0]}`];
  check(
    line.correlation_id === id && line.function_request_id === requestId,
    line.message,
    line.own,
    line.correlation_id,
  );
}

/** `c17.a` is a request that request 17 made, `c17:x` a message of its queue. */
const getNumber = (own) => Number(/\d+/.exec(own)[0]);
const traceOf = (own) => getNumber(own).toString(16).padStart(32, "f");

onSpanEnd((span) => {
  const { own } = span.attributes;
  if (own === undefined) return;
  seen.spans++;
  check(span.traceId === traceOf(own), "span", own, span.traceId);
});

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const late = new Set();

/** Keeps unawaited work, so that the program can wait for its end. */
function leave(work) {
  late.add(work);
  work.finally(() => late.delete(work));
}

const emitter = new EventEmitter();
emitter.setMaxListeners(0);
emitter.on("work", (own) => mark(own, "listener of all"));

/** One answer for all that ask within a turn, as data loaders give it. */
let waiting;
function loadTogether() {
  waiting ??= pause(1).then(() => waiting = undefined);
  return waiting;
}

const WAITS = [
  () => Promise.resolve(),
  () => pause(0),
  () => pause(Math.random() * 3),
  () => new Promise((resolve) => setImmediate(resolve)),
  () => new Promise((resolve) => process.nextTick(resolve)),
  () => new Promise((resolve) => queueMicrotask(resolve)),
  () => ({ then: (resolve) => setImmediate(resolve) }),
  loadTogether,
];

async function turns(own, n, what) {
  for (let turn = 0; turn <= n % 3; turn++) {
    await WAITS[(n + turn) % WAITS.length]();
    mark(own, what);
  }
}

const KINDS = {
  async awaited(own, n) {
    await turns(own, n, "awaited");
  },
  async notAwaited(own, n) {
    leave(pause(n % 5).then(() => turns(own, n, "not awaited")));
  },
  async nestedTogether(own, n) {
    await Promise.all([
      call(`${own}.a`, "awaited"),
      call(`${own}.b`, "emitted"),
      turns(own, n, "beside nested"),
    ]);
    mark(own, "after nested");
  },
  async nestedNotAwaited(own) {
    leave(call(`${own}.n`, "awaited"));
    mark(own, "beside nested that nobody awaits");
  },
  async emitted(own, n) {
    emitter.emit("work", own);
    const mine = new EventEmitter();
    const heard = new Promise((resolve) => mine.once("done", resolve));
    setTimeout(() => {
      mark(own, "timer");
      mine.emit("done");
    }, n % 3);
    mine.on("done", () => mark(own, "listener of one"));
    await heard;
    mark(own, "after the event");
  },
  async calledBack(own) {
    await new Promise((resolve) =>
      readFile(new URL(import.meta.url), () => {
        mark(own, "callback of a file");
        resolve();
      })
    );
    let ticks = 0;
    await new Promise((resolve) => {
      const timer = setInterval(() => {
        mark(own, "interval");
        if (++ticks === 2) resolve(clearInterval(timer));
      }, 1);
    });
  },
  async streamed(own) {
    const stream = new ReadableStream({
      async pull(controller) {
        await pause(0);
        controller.enqueue(1);
        controller.close();
      },
    });
    const reader = stream.getReader();
    while (!(await reader.read()).done) mark(own, "part of a stream");
    mark(own, "after the stream");
  },
  async queued(own, n) {
    const messages = ["x", "y", "z"].map((id) => ({
      messageId: id,
      body: "{}",
      correlationId: `${own}:${id}`,
    }));
    await consumers[n % 2](
      createQueueEvent(messages),
      createLambdaContext({ awsRequestId: `r-${own}` }),
    );
    mark(own, "after the queue");
  },
  async imported(own) {
    await import("@trellis/fn/env");
    mark(own, "after an import");
  },
  async failed(own) {
    await pause(0);
    mark(own, "before the failure");
    throw new Error("why");
  },
  async tooLate(own) {
    getRequestContext().signal.addEventListener("abort", () => mark(own, "listener of the signal"));
    await pause(120);
    mark(own, "after the deadline");
  },
  async stored(own, n) {
    const { db, sql } = await database;
    const { rows: [row] } = await db.execute(sql`select ${n}::int as n`);
    check(row.n === n, "row", own, row.n);
    mark(own, "after a query");
    await db.transaction(async (tx) => {
      await tx.execute(sql`select 1`);
      mark(own, "in a transaction");
    });
    mark(own, "after a transaction");
    seen.stored++;
  },
  async cut(own) {
    const { db, sql } = await database;
    // every connection of the pool but this one; whoever waits on one of them is told
    await db.execute(sql`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'isolation' and pid <> pg_backend_pid()`).catch(() => {});
    mark(own, "after a cut");
  },
};

const consumers = [1, 3].map((concurrency) =>
  defineQueueHandler({ concurrency, metrics: false })(async function consume({ metadata }) {
    await pause(0);
    mark(metadata.correlationId, "message");
  })
);

const USUAL = Object.keys(KINDS).filter((kind) =>
  !["tooLate", "stored", "cut", "imported"].includes(kind)
);

function getKind(n) {
  if (n % 500 === 499) return "tooLate";
  if (n % 50 === 7) return "imported";
  if (config !== undefined && n % 400 === 301) return "cut";
  if (config !== undefined && n % 10 === 3) return "stored";
  return USUAL[n % USUAL.length];
}

const handler = defineApiHandler({ operationName: "Isolated" })(
  async function isolated({ event, context, metadata }) {
    const own = metadata.correlationId;
    const n = getNumber(own);
    mark(own, "first");
    metrics.addDimension("own", own);
    metrics.addMetric("N", MetricUnit.Count, n);
    await withSpan("work", () => KINDS[event.path](own, n), { attributes: { own } });
    metrics.addMetric("N", MetricUnit.Count, n);
    mark(own, "last");
    return buildValidatedResponse(context, 200, { own });
  },
);

async function call(own, kind) {
  seen.requests++;
  seen.kinds[kind] = (seen.kinds[kind] ?? 0) + 1;
  const event = createRestApiEvent({
    path: kind,
    headers: { "X-Correlation-Id": own, traceparent: `00-${traceOf(own)}-00f067aa0ba902b7-01` },
  });
  const context = createLambdaContext({
    awsRequestId: `r-${own}`,
    timeoutMs: kind === "tooLate" ? 80 : 60_000,
  });
  const { statusCode, headers, body } = await handler(event, context);
  check(headers["X-Correlation-Id"] === own, "answer", own, headers["X-Correlation-Id"]);
  if (statusCode === 200) return check(JSON.parse(body).own === own, "body", own, body);
  const answer = JSON.parse(body);
  check(
    answer.correlationId === own && answer.requestId === `r-${own}`,
    "body of an error",
    own,
    body,
  );
  const expected = { failed: [500], tooLate: [504], stored: [500] }[kind];
  check(expected?.includes(statusCode), `status ${statusCode} of ${kind}`, own);
}

const database = config && openDatabase();
async function openDatabase() {
  const { getDrizzleClient, onConnectionInvalidated } = await import("@trellis/fn/database");
  const { sql } = await import("@trellis/fn/database/orm");
  onConnectionInvalidated(() => markOutside("a connection ended"));
  return {
    get db() {
      return lazy;
    },
    sql,
    open: async () => lazy ??= await getDrizzleClient(config),
  };
}
let lazy;

// what begins outside of requests must stay there
const outside = setInterval(() => markOutside("interval outside"), 20);
const server = createServer((_request, response) => {
  markOutside("request of a server");
  response.end("ok");
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const askServer = () =>
  fetch(`http://127.0.0.1:${server.address().port}`).then((response) => response.text());
await askServer();
if (config !== undefined) {
  // the pool is opened by a request, and must not keep it
  const opener = defineApiHandler({ operationName: "Opener" })(async ({ context }) => {
    await (await database).open();
    return buildValidatedResponse(context, 200, {});
  });
  await opener(
    createRestApiEvent({ headers: { "X-Correlation-Id": "opener" } }),
    createLambdaContext(),
  );
  for (let i = 0; i < 5; i++) await askServer();
}

const startedAt = performance.now();
let next = 0;
async function work() {
  while (next < requests) {
    const n = next++;
    await call(`c${n}`, getKind(n));
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, work));
while (late.size > 0) await Promise.all(late);
await pause(200); // what met its deadline
clearInterval(outside);
server.closeAllConnections?.();
server.close();
seen.lost = expectedLines - seen.lines;
const runtime = globalThis.Deno
  ? "deno"
  : process.versions.bun
  ? "bun"
  : `node ${process.versions.node.split(".")[0]}`;
console.log(JSON.stringify({ runtime, ms: Math.round(performance.now() - startedAt), ...seen }));
process.exit();
