import { assertEquals, assertMatch } from "@std/assert";
import { getOutgoingHeaders, withObservability } from "../../../core/mod.ts";
import { getTraceContext } from "../../../core/http/trace_id.ts";
import { startSpan } from "../../../observability/mod.ts";
import { createLambdaContext, createRestApiEvent } from "../../../testing/mod.ts";
import { captureLogs } from "../../support/capture_logs.ts";
import { withEnv } from "../../support/with_env.ts";

const ROOT = "1-5759e988-bd862e3fe1be46a994272793",
  OTHER_ROOT = "1-00000000-bd862e3fe1be46a994272793";
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736", PARENT = "00f067aa0ba902b7";

Deno.test("getTraceContext() prefers headers with a parent, then the sandbox, then the gateway's root", async () => {
  await withEnv({ _X_AMZN_TRACE_ID: `Root=${OTHER_ROOT};Parent=${PARENT};Sampled=1` }, () => {
    const xray = { "X-Amzn-Trace-Id": `Root=${ROOT}` },
      w3c = { traceparent: `00-${TRACE}-${PARENT}-01` };
    const cases: [headers: Record<string, string>, id: string][] = [
      [{ ...xray, ...w3c }, TRACE],
      [{ "X-Amzn-Trace-Id": `Root=${ROOT};Parent=${PARENT}`, ...w3c }, ROOT],
      [w3c, TRACE],
      [xray, OTHER_ROOT],
      [{ "X-Amzn-Trace-Id": "garbage", ...w3c }, TRACE],
      [{ traceparent: "garbage" }, OTHER_ROOT],
      [{}, OTHER_ROOT],
    ];
    for (const [headers, id] of cases) {
      assertEquals(getTraceContext(createRestApiEvent({ headers }), true)?.traceId, id);
    }
    assertEquals(getTraceContext({}, true), {
      traceId: OTHER_ROOT,
      parentId: PARENT,
      sampled: true,
    });
    assertEquals(
      getTraceContext(createRestApiEvent({ headers: { "X-Amzn-Trace-Id": `Root=${ROOT}` } }), false)
        ?.traceId,
      ROOT,
    );
    assertEquals(getTraceContext({}, false), undefined);
    assertEquals(getTraceContext(null, false), undefined);
  });
});

async function outgoing(
  headers: Record<string, string>,
  tracing?: boolean,
): Promise<Record<string, string>> {
  const handler = withObservability(() => getOutgoingHeaders(), { tracing });
  return (await captureLogs(() => handler(createRestApiEvent({ headers }), createLambdaContext())))
    .result;
}

Deno.test("a sandbox without active tracing decides nothing, and is no parent", async () => {
  await withEnv({ _X_AMZN_TRACE_ID: `Root=${OTHER_ROOT};Parent=${PARENT};Sampled=0` }, () => {
    assertEquals(getTraceContext({}, true), {
      traceId: OTHER_ROOT,
      parentId: undefined,
      sampled: undefined,
    });
  });
});

Deno.test("getOutgoingHeaders() is empty outside of a handler", () =>
  assertEquals(getOutgoingHeaders(), {}));

Deno.test("getOutgoingHeaders() passes on the correlation id and its own trace", async () => {
  const { traceparent, ...others } = await outgoing({ "X-Correlation-Id": "c-1" });
  assertEquals(others, { "X-Correlation-Id": "c-1" });
  assertMatch(traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
});

Deno.test("getOutgoingHeaders() goes on with the caller's trace and with its sampling decision", async () => {
  for (const flags of ["01", "00"]) {
    const { traceparent } = await outgoing({ traceparent: `00-${TRACE}-${PARENT}-${flags}` });
    assertMatch(traceparent, new RegExp(`^00-${TRACE}-[0-9a-f]{16}-${flags}$`));
    assertEquals(traceparent.includes(PARENT), false);
  }
});

Deno.test("getOutgoingHeaders() passes X-Ray's trace on, with this span as the parent", async () => {
  const w3c = ROOT.slice(2).replace("-", "");
  for (const [sampled, flags] of [["1", "01"], ["0", "00"]]) {
    const headers = await outgoing({
      "X-Amzn-Trace-Id": `Root=${ROOT};Parent=${PARENT};Sampled=${sampled}`,
    });
    const span = headers.traceparent.split("-")[2];
    assertEquals(headers.traceparent, `00-${w3c}-${span}-${flags}`);
    assertEquals(headers["X-Amzn-Trace-Id"], `Root=${ROOT};Parent=${span};Sampled=${sampled}`);
  }
  const undecided = await outgoing({ "X-Amzn-Trace-Id": `Root=${ROOT}` });
  assertMatch(undecided["X-Amzn-Trace-Id"], new RegExp(`^Root=${ROOT};Parent=[0-9a-f]{16}$`));
});

Deno.test("getOutgoingHeaders() without spans passes on what came, and makes nothing up", async () => {
  assertEquals(Object.keys(await outgoing({}, false)), ["X-Correlation-Id"]);
  assertEquals(
    (await outgoing({ "X-Amzn-Trace-Id": `Root=${ROOT};Sampled=1` }, false))["X-Amzn-Trace-Id"],
    `Root=${ROOT};Sampled=1`,
  );
  const w3c = `00-${TRACE}-${PARENT}-00`;
  assertEquals((await outgoing({ traceparent: w3c }, false)).traceparent, w3c);
});

Deno.test("the span of a request is a child of the caller's", async () => {
  const handler = withObservability(() => startSpan("inner").parentSpanId, { tracing: false });
  const ask = (headers: Record<string, string>): Promise<unknown> =>
    captureLogs(() => handler(createRestApiEvent({ headers }), createLambdaContext())).then((
      { result },
    ) => result);
  assertEquals(await ask({ traceparent: `00-${TRACE}-${PARENT}-01` }), PARENT);
  assertEquals(await ask({ "X-Amzn-Trace-Id": `Root=${ROOT};Parent=${PARENT}` }), PARENT);
  assertEquals(await ask({}), undefined);
});

Deno.test("getOutgoingHeaders() passes tracestate on beside the traceparent that it came with, and only then", async () => {
  const tracestate = "vendor=a1,other=b2", traceparent = `00-${TRACE}-${PARENT}-01`;
  const cases: [headers: Record<string, string>, passed: string | undefined][] = [
    [{ traceparent, tracestate }, tracestate],
    [{ traceparent }, undefined],
    [{ traceparent: "garbage", tracestate }, undefined],
    [{ tracestate }, undefined],
    [{ "X-Amzn-Trace-Id": `Root=${ROOT}`, traceparent, tracestate }, tracestate],
    [
      { "X-Amzn-Trace-Id": `Root=${ROOT};Parent=${PARENT}`, traceparent, tracestate },
      undefined,
    ],
    [{ traceparent, tracestate: "a=b\r\nX-Evil: 1" }, undefined],
    [{ traceparent, tracestate: "x".repeat(513) }, undefined],
  ];
  for (const [headers, passed] of cases) assertEquals((await outgoing(headers)).tracestate, passed);
  assertEquals((await outgoing({ traceparent, tracestate }, false)).tracestate, tracestate);
});
