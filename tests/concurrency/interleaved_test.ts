// deno-lint-ignore-file no-console -- the figures are part of the result
import { assert, assertEquals } from "@std/assert";
import { getRequestContext } from "../../core/mod.ts";
import { currentInvocation } from "../../observability/invocation_context.ts";
import { LOG_LEVELS } from "../../observability/log_level.ts";
import { logDebug, logInfo, logWarn, metrics, MetricUnit } from "../../observability/mod.ts";
import { createHttpApiEvent, createLambdaContext, createRestApiEvent } from "../../testing/mod.ts";
import { buildValidatedResponse } from "../../core/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import * as z from "zod";
import { captureLogs, type LogLine } from "../support/capture_logs.ts";

const requests = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 100_000 : 1_000;

/** Handlers that log from different levels on: what one request may write another one must not. */
const LEVELS = ["DEBUG", "INFO", "WARN"] as const;

/** Ways in which a request waits, each with queues of its own in the runtime. */
const WAITS = [
  () => Promise.resolve(),
  () => new Promise<void>((resolve) => setTimeout(resolve, 0)),
  () => new Promise<void>((resolve) => queueMicrotask(resolve)),
  () => new Promise<void>((resolve) => setTimeout(resolve, Math.random() * 5)),
  () => shared,
];

/** One promise that all requests wait for, made outside of any request: its continuation belongs to who waits. */
const shared = new Promise<void>((resolve) => setTimeout(resolve, 20));

function getHandler(level: (typeof LEVELS)[number]) {
  return defineApiHandler({
    auth: "authorizer",
    schema: z.object({ n: z.number() }),
    operationName: `Interleaved${level}`,
    logging: { level, fields: { handler: level }, summary: true },
  })(async ({ body: { n }, userId, metadata, context }) => {
    for (let turn = 0; turn <= n % 4; turn++) {
      await WAITS[(n + turn) % WAITS.length]();
      const seen = getRequestContext();
      assertEquals([seen?.correlationId, seen?.requestId, metadata.correlationId], [
        `c${n}`,
        `r${n}`,
        `c${n}`,
      ]);
      assertEquals(currentInvocation()?.level, LOG_LEVELS[level]);
      logDebug("debug", { user: userId, n });
      logInfo("info", { user: userId, n });
      logWarn("warn", { user: userId, n });
    }
    metrics.addMetricsWithDimensions({ user: userId }, [["N", MetricUnit.Count, n]]);
    if (n % 7 === 0) throw new Error(`failure of ${userId}`);
    return buildValidatedResponse(context, 200, { userId, n });
  });
}

Deno.test(`${requests} interleaved requests keep user, ids, log level, metrics and answer to themselves`, async () => {
  const handlers = LEVELS.map(getHandler);
  const startedAt = performance.now();
  const counts = { lines: 0, metrics: 0 };
  // in batches, so that the log of all need not be held at once
  for (let from = 0; from < requests; from += 2_500) {
    const ns = Array.from({ length: 2_500 }, (_, at) => from + at);
    const { result, lines } = await captureLogs(() =>
      Promise.all(ns.map((n) => {
        const event = (n % 2 ? createRestApiEvent : createHttpApiEvent)({
          method: "POST",
          body: { n },
          authorizer: { userId: `u${n}` },
          headers: { "X-Correlation-Id": `c${n}` },
        });
        return handlers[n % 3](event, createLambdaContext({ awsRequestId: `r${n}` }));
      }))
    );
    for (const [at, { statusCode, headers, body }] of result.entries()) {
      const n = ns[at];
      const answer = JSON.parse(body);
      assertEquals(headers?.["X-Correlation-Id"], `c${n}`);
      if (n % 7 === 0) {
        assertEquals([statusCode, answer.correlationId, answer.requestId], [500, `c${n}`, `r${n}`]);
      } else assertEquals([statusCode, answer], [200, { userId: `u${n}`, n }]);
    }
    for (const line of lines) check(line);
    // each request logs in each turn what its level lets through, and no other's
    const expected = ns.reduce((sum, n) => sum + (1 + n % 4) * (3 - n % 3), 0);
    const inside = lines.filter((line) => ["debug", "info", "warn"].includes(line.message));
    assertEquals(inside.length, expected);
    const measured = lines.filter((line) => "N" in line);
    assertEquals(measured.length, ns.length);
    counts.lines += lines.length;
    counts.metrics += measured.length;
  }
  console.log(
    `${requests} requests, ${counts.lines} lines and ${counts.metrics} metric documents, 0 of another request, ` +
      `${Math.round(performance.now() - startedAt)} ms`,
  );
});

function check(line: LogLine): void {
  if ("N" in line) return assertEquals(line.user, `u${line.N}`);
  if (!["debug", "info", "warn"].includes(line.message)) return;
  const { n } = line;
  const level = LEVELS[n % 3];
  assertEquals([line.correlation_id, line.function_request_id, line.user, line.handler], [
    `c${n}`,
    `r${n}`,
    `u${n}`,
    level,
  ]);
  assert(LOG_LEVELS[line.level as keyof typeof LOG_LEVELS] >= LOG_LEVELS[level]);
}
