import {
  assert,
  assertEquals,
  assertFalse,
  assertMatch,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { ConfigurationError } from "../../errors/mod.ts";
import { enterInvocation } from "../../observability/invocation_context.ts";
import {
  addAnnotation,
  addMetadata,
  endSpan,
  onSpanEnd,
  type Span,
  startSpan,
  withSpan,
} from "../../observability/mod.ts";
import { withSteppedClock } from "../support/step_clock.ts";
import { createInvocation } from "../support/invocation.ts";

function inInvocation<T>(fn: () => T | Promise<T>, traceId?: string): Promise<T> {
  return enterInvocation(createInvocation({ traceId }), fn);
}

async function getSpans(fn: () => unknown): Promise<Span[]> {
  const spans: Span[] = [];
  const remove = onSpanEnd((span) => spans.push(span));
  try {
    await fn();
  } finally {
    remove();
  }
  return spans;
}

Deno.test("startSpan() gives W3C ids, a start and no end", () => {
  const before = Date.now();
  const span = startSpan("work", { attributes: { a: 1 } });
  assertMatch(span.traceId, /^[0-9a-f]{32}$/);
  assertMatch(span.spanId, /^[0-9a-f]{16}$/);
  assert(span.startTimeMs >= before && span.startTimeMs <= Date.now());
  assertEquals([span.parentSpanId, span.endTimeMs, span.status, span.attributes], [
    undefined,
    undefined,
    "unset",
    {
      a: 1,
    },
  ]);
});

Deno.test("startSpan() copies its attributes", () => {
  const attributes = { a: 1 };
  const span = startSpan("work", { attributes });
  span.attributes.b = 2;
  assertEquals(attributes, { a: 1 });
});

Deno.test("startSpan() makes a child of the active span, in its trace", async () => {
  await inInvocation(() => {
    const outer = startSpan("outer"), inner = startSpan("inner");
    assertEquals([inner.parentSpanId, inner.traceId], [outer.spanId, outer.traceId]);
    endSpan(inner);
    const second = startSpan("second");
    assertEquals(second.parentSpanId, outer.spanId);
    endSpan(second);
    endSpan(outer);
    assertEquals(startSpan("third").parentSpanId, undefined);
  });
});

Deno.test("startSpan() belongs to the trace that came with the request", async () => {
  const xray = await inInvocation(() => startSpan("work"), "1-5759e988-bd862e3fe1be46a994272793");
  assertEquals(xray.traceId, "5759e988bd862e3fe1be46a994272793");
  const w3c = await inInvocation(() => startSpan("work"), "4bf92f3577b34da6a3ce929d0e0e4736");
  assertEquals(w3c.traceId, "4bf92f3577b34da6a3ce929d0e0e4736");
});

Deno.test("startSpan() with active false leaves the active span", async () => {
  await inInvocation(() => {
    const outer = startSpan("outer");
    const first = startSpan("first", { active: false }),
      second = startSpan("second", { active: false });
    assertEquals([first.parentSpanId, second.parentSpanId], [outer.spanId, outer.spanId]);
    endSpan(first);
    assertEquals(startSpan("third").parentSpanId, outer.spanId);
  });
});

Deno.test("endSpan() activates the next running ancestor, in any order of span ends", async () => {
  await inInvocation(() => {
    const a = startSpan("a"), b = startSpan("b"), c = startSpan("c");
    endSpan(b);
    endSpan(c);
    assertEquals(startSpan("d", { active: false }).parentSpanId, a.spanId);
    endSpan(a);
    assertEquals(startSpan("e").parentSpanId, undefined);
  });
});

Deno.test("endSpan() sets end and status, and ending again changes nothing", async () => {
  const spans = await getSpans(() => {
    const span = startSpan("work");
    endSpan(span);
    const { endTimeMs } = span;
    assert(endTimeMs !== undefined && endTimeMs >= span.startTimeMs);
    endSpan(span, new Error("late"));
    assertEquals([span.endTimeMs, span.status, span.error], [endTimeMs, "ok", undefined]);
  });
  assertEquals(spans.length, 1);
});

Deno.test("endSpan() with an error keeps it", () => {
  const span = startSpan("work"), error = new Error("why");
  endSpan(span, error);
  assertEquals(span.status, "error");
  assertStrictEquals(span.error, error);
});

Deno.test("onSpanEnd() reports each span until it is removed", async () => {
  const spans = await getSpans(async () => {
    await withSpan("first", () => {});
    endSpan(startSpan("second"));
  });
  endSpan(startSpan("third"));
  assertEquals(spans.map((span) => span.name), ["first", "second"]);
});

Deno.test("withSpan() gives the result, and ends the span with what was thrown", async () => {
  const spans = await getSpans(async () => {
    assertEquals(await withSpan("ok", (span) => Promise.resolve(span.name)), "ok");
    await assertRejects(
      () => withSpan("bad", () => Promise.reject(new TypeError("why"))),
      TypeError,
      "why",
    );
    await withSpan("nothing", () => Promise.reject(undefined)).catch((error) =>
      assertEquals(error, undefined)
    );
  });
  assertEquals(spans.map((span) => [span.name, span.status]), [["ok", "ok"], ["bad", "error"], [
    "nothing",
    "error",
  ]]);
});

Deno.test("addAnnotation() and addMetadata() reach the active span, secrets redacted", async () => {
  await inInvocation(() => {
    const outer = startSpan("outer"), inner = startSpan("inner");
    addAnnotation("plan", "free");
    addMetadata("request", { password: "x", size: 1 });
    addMetadata("token", "x");
    addMetadata("other", 1, "mine");
    endSpan(inner);
    addAnnotation("tenant", 7);
    assertEquals(inner.attributes, { plan: "free" });
    assertEquals(inner.metadata, {
      default: { request: { password: "[REDACTED]", size: 1 }, token: "[REDACTED]" },
      mine: { other: 1 },
    });
    assertEquals([outer.attributes, outer.metadata], [{ tenant: 7 }, undefined]);
  });
});

Deno.test("addAnnotation() and addMetadata() do nothing where no span is active", async () => {
  addAnnotation("a", 1);
  addMetadata("a", 1);
  await inInvocation(() => {
    addAnnotation("a", 1);
    addMetadata("a", 1);
    assertFalse("a" in startSpan("work").attributes);
  });
});

Deno.test("addAnnotation() and addMetadata() refuse a key that is no string, such as a span", async () => {
  await inInvocation(() => {
    const span = startSpan("work");
    for (const add of [addAnnotation, addMetadata]) {
      assertThrows(
        () => (add as (...given: unknown[]) => void)(span, "key", "value"),
        ConfigurationError,
        "got a key of the type object",
      );
    }
    assertEquals([span.attributes, span.metadata], [{}, undefined]);
  });
});

Deno.test("endSpan() measures how long a span took, also when the clock is set meanwhile", async () => {
  await withSteppedClock((setMs) => {
    for (const offsetMs of [-3_600_000, 3_600_000]) {
      const span = startSpan("work");
      setMs(offsetMs);
      endSpan(span);
      const tookMs = span.endTimeMs! - span.startTimeMs;
      assert(tookMs >= 0 && tookMs < 1_000, String(tookMs));
    }
  });
});
