import { assert, assertEquals, assertExists, assertStrictEquals } from "@std/assert";
import { getRequestContext, type RequestContext, withObservability } from "../../core/mod.ts";
import { remainingMs } from "../../core/request_context.ts";
import { createLambdaContext, createRestApiEvent } from "../../testing/mod.ts";
import { captureLogs } from "../support/capture_logs.ts";

async function getContext(timeoutMs: number): Promise<RequestContext> {
  const handler = withObservability(() => getRequestContext(), { operationName: "Op" });
  const event = createRestApiEvent({ headers: { "X-Correlation-Id": "c-1" } });
  const context = createLambdaContext({ awsRequestId: "r-1", timeoutMs });
  const { result } = await captureLogs(() => handler(event, context));
  assertExists(result);
  return result;
}

Deno.test("getRequestContext() knows the request that the code below works for", async () => {
  assertEquals(getRequestContext(), undefined);
  const { correlationId, requestId, traceId, operationName, deadlineMs, signal } = await getContext(
    10_000,
  );
  assertEquals([correlationId, requestId, traceId, operationName], ["c-1", "r-1", undefined, "Op"]);
  assert(
    deadlineMs !== undefined && deadlineMs > Date.now() + 5000 && deadlineMs < Date.now() + 10_000,
  );
  assertEquals(signal.aborted, false);
});

Deno.test("getRequestContext() gives one signal for a request, and two requests two", async () => {
  const first = await getContext(10_000), second = await getContext(10_000);
  assertStrictEquals(first.signal, first.signal);
  assertEquals(first.signal === second.signal, false);
});

Deno.test("remainingMs() is what is left until the deadline, 0 after it and Infinity where there is none", async () => {
  assertEquals(remainingMs(), Infinity);
  const handler = withObservability(() => {
    const deadlineMs = getRequestContext()?.deadlineMs ?? 0;
    return [remainingMs(deadlineMs - 7), remainingMs(deadlineMs + 7), remainingMs() > 5000];
  });
  const { result } = await captureLogs(() =>
    handler({}, createLambdaContext({ timeoutMs: 10_000 }))
  );
  assertEquals(result, [7, 0, true]);
});

Deno.test("a handler without a deadline of the platform has none", async () => {
  const handler = withObservability(() => [getRequestContext()?.deadlineMs, remainingMs()]);
  for (const left of [0, -1, NaN]) {
    const context = { ...createLambdaContext(), getRemainingTimeInMillis: () => left };
    assertEquals((await captureLogs(() => handler({}, context))).result, [undefined, Infinity]);
  }
  assertEquals((await captureLogs(() => handler({}, undefined!))).result, [undefined, Infinity]);
});
