import { assert, assertEquals, assertFalse, assertStrictEquals } from "@std/assert";
import { context, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { enterInvocation } from "../../observability/invocation_context.ts";
import {
  addAnnotation,
  addMetadata,
  endSpan,
  type Span,
  startSpan,
  withSpan,
} from "../../observability/mod.ts";
import { createInvocation } from "../support/invocation.ts";

const VALUE = "value-4711@example.com";

function inInvocation<T>(fn: () => T | Promise<T>): Promise<T> {
  return enterInvocation(createInvocation(), fn);
}

/** Runs with OpenTelemetry's own SDK registered, and gives what it exported. */
async function exportedBy(fn: () => unknown): Promise<ReadableSpan[]> {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  trace.setGlobalTracerProvider(provider);
  try {
    await fn();
    await provider.forceFlush();
    return exporter.getFinishedSpans();
  } finally {
    trace.disable();
    await provider.shutdown();
  }
}

function millis([seconds, nanos]: readonly [number, number]): number {
  return Math.round(seconds * 1000 + nanos / 1e6);
}

Deno.test("spans become OpenTelemetry's, with the same ids, parents, times, status and attributes", async () => {
  const ours: Span[] = [];
  const exported = await exportedBy(() =>
    inInvocation(async () => {
      await withSpan("outer", async (outer) => {
        addAnnotation("plan", "free");
        addMetadata("request", { password: VALUE, size: 1 });
        await withSpan("inner", (inner) => ours.push(inner));
        outer.attributes.late = true;
        ours.push(outer);
      }, { attributes: { start: 1 } });
    })
  );
  assertEquals(exported.map((span) => span.name), ["inner", "outer"]);
  for (const [i, span] of exported.entries()) {
    const { traceId, spanId } = span.spanContext();
    assertEquals([traceId, spanId], [ours[i].traceId, ours[i].spanId]);
    assertEquals(span.parentSpanContext?.spanId, ours[i].parentSpanId);
    assertEquals([millis(span.startTime), millis(span.endTime)], [
      Math.round(ours[i].startTimeMs),
      Math.round(ours[i].endTimeMs!),
    ]);
    assertEquals(span.status.code, SpanStatusCode.UNSET);
  }
  assertEquals(ours[0].parentSpanId, ours[1].spanId);
  assertEquals(exported[1].attributes, {
    start: 1,
    plan: "free",
    late: true,
    "metadata.default.request": '{"password":"[REDACTED]","size":1}',
  });
});

Deno.test("a failed span is an error of its class, and shows no message", async () => {
  class PaymentError extends Error {
    override readonly name = "PaymentError";
  }
  const exported = await exportedBy(() => {
    endSpan(startSpan("a"), new PaymentError(`no money for ${VALUE}`));
    endSpan(startSpan("b"), `a text with ${VALUE}`);
  });
  assertEquals(exported.map((span) => span.status), [
    { code: SpanStatusCode.ERROR, message: "PaymentError" },
    { code: SpanStatusCode.ERROR, message: "Error" },
  ]);
  assertEquals(
    exported[0].events.map((event) => [event.name, event.attributes?.["exception.type"]]),
    [
      ["exception", "PaymentError"],
    ],
  );
  assertFalse(
    JSON.stringify(exported.map(({ events, attributes }) => ({ events, attributes }))).includes(
      VALUE,
    ),
  );
});

Deno.test("a span of the package is a child of the OpenTelemetry span that is active around it", async () => {
  const manager = new AsyncLocalStorageContextManager().enable();
  context.setGlobalContextManager(manager);
  try {
    const exported = await exportedBy(() =>
      trace.getTracer("test").startActiveSpan("theirs", async (theirs) => {
        // an instrumentation has read the request's headers: its span goes before the caller's
        const caller = {
          traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
          parentSpanId: "00f067aa0ba902b7",
        };
        await enterInvocation(
          createInvocation(caller),
          () => withSpan("ours", () => {}),
        );
        theirs.end();
      })
    );
    const [ours, theirs] = exported;
    assertEquals([ours.name, theirs.name], ["ours", "theirs"]);
    assertEquals(ours.parentSpanContext?.spanId, theirs.spanContext().spanId);
    assertEquals(ours.spanContext().traceId, theirs.spanContext().traceId);
  } finally {
    context.disable();
  }
});

Deno.test("a parent is found also without a context manager", async () => {
  const exported = await exportedBy(() =>
    inInvocation(() => withSpan("outer", () => withSpan("inner", () => {})))
  );
  assertEquals(exported[0].parentSpanContext?.spanId, exported[1].spanContext().spanId);
});

Deno.test("spans are plain objects when no provider is registered, and after it is gone", async () => {
  await exportedBy(() => {});
  const span = startSpan("work");
  endSpan(span);
  assertStrictEquals(span.status, "ok");
  assert(span.traceId.length === 32);
});

Deno.test("the first span of a request goes on with the caller's trace and its sampling decision", async () => {
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736", parentSpanId = "00f067aa0ba902b7";
  for (const sampled of [true, false, undefined]) {
    const invocation = createInvocation({ traceId, parentSpanId, sampled });
    let ours: Span | undefined;
    const exported = await exportedBy(() =>
      enterInvocation(invocation, () => withSpan("work", (span) => void (ours = span)))
    );
    assertEquals([ours?.traceId, ours?.parentSpanId, ours?.sampled], [
      traceId,
      parentSpanId,
      sampled !== false,
    ]);
    assertEquals(
      exported.map((span) => [span.spanContext().traceId, span.parentSpanContext?.spanId]),
      sampled === false ? [] : [[traceId, parentSpanId]],
    );
  }
});
