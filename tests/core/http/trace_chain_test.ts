import { assertEquals } from "@std/assert";
import { trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  AlwaysOnSampler,
  ParentBasedSampler,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { getOutgoingHeaders, withObservability } from "../../../core/mod.ts";
import type { ApiEvent } from "../../../core/http/lambda.ts";
import {
  createAlbEvent,
  createFunctionUrlEvent,
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
} from "../../../testing/mod.ts";
import { captureLogs } from "../../support/capture_logs.ts";
import { withEnv } from "../../support/with_env.ts";

/** A span as an OTLP receiver gets it. */
interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
}

/** Runs with OpenTelemetry's own SDK, which exports to a receiver of OTLP over HTTP, and returns what was received. */
async function receiveSpans(fn: () => Promise<unknown>): Promise<ReceivedSpan[]> {
  const received: ReceivedSpan[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { resourceSpans } = await request.json();
    for (const { scopeSpans } of resourceSpans) {
      for (const { spans } of scopeSpans) received.push(...spans);
    }
    return Response.json({});
  });
  const exporter = new OTLPTraceExporter({
    url: `http://127.0.0.1:${server.addr.port}/v1/traces`,
  });
  const provider = new TracerProvider({
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
  });
  trace.setGlobalTracerProvider(provider);
  try {
    await fn();
    await provider.forceFlush();
  } finally {
    trace.disable();
    await provider.shutdown();
    await server.shutdown();
  }
  return received;
}

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736", PARENT = "00f067aa0ba902b7";
const XRAY_ROOT = `1-${TRACE.slice(0, 8)}-${TRACE.slice(8)}`;
const SHAPES: Readonly<Record<string, (headers: Record<string, string>) => ApiEvent>> = {
  "REST API": (headers) =>
    createRestApiEvent({ path: "/notes/n1", resource: "/notes/{id}", headers }),
  "HTTP API": (headers) =>
    createHttpApiEvent({ path: "/notes/n1", resource: "/notes/{id}", headers }),
  "function URL": (headers) => createFunctionUrlEvent({ path: "/notes/n1", headers }),
  "load balancer": (headers) => createAlbEvent({ path: "/notes/n1", headers }),
};

function randomHex(bytes: number): string {
  return Array.from(
    crypto.getRandomValues(new Uint8Array(bytes)),
    (byte) => byte.toString(16).padStart(2, "0"),
  ).join("");
}

/** Adds what a gateway adds to each request: the root of a trace, if the client sends none. */
function passGateway(headers: Record<string, string>): Record<string, string> {
  const root = `Root=1-${randomHex(4)}-${randomHex(12)}`;
  return { "X-Amzn-Trace-Id": root, ...headers };
}

/** Calls `services` in a row, each behind a gateway of its own, in sandboxes without active tracing. */
async function callChain(
  createEvent: (headers: Record<string, string>) => ApiEvent,
  headers: Record<string, string>,
  services: number,
): Promise<Record<string, string>> {
  const sent = passGateway(headers);
  const root = /Root=[^;]+/.exec(sent["X-Amzn-Trace-Id"])![0];
  const sandbox = `${root};Parent=${randomHex(8)};Sampled=0;Lineage=1:0000:0`;
  const handler = withObservability(async () => {
    const outgoing = getOutgoingHeaders();
    return services > 1 ? await callChain(createEvent, outgoing, services - 1) : outgoing;
  });
  return await withEnv(
    { _X_AMZN_TRACE_ID: sandbox },
    () => handler(createEvent(sent), createLambdaContext()),
  );
}

const CALLERS: Readonly<Record<string, (flag: "1" | "0") => Record<string, string>>> = {
  "W3C": (flag) => ({ traceparent: `00-${TRACE}-${PARENT}-0${flag}`, tracestate: "vendor=a1" }),
  "X-Ray": (flag) => ({
    "X-Amzn-Trace-Id": `Root=${XRAY_ROOT};Parent=${PARENT};Sampled=${flag}`,
  }),
  both: (flag) => ({ ...CALLERS.W3C(flag), ...CALLERS["X-Ray"](flag) }),
};

for (const [shape, createEvent] of Object.entries(SHAPES)) {
  for (const [caller, getHeaders] of Object.entries(CALLERS)) {
    Deno.test(`three services behind ${shape} are one trace with the caller's ${caller} headers`, async () => {
      for (const flag of ["1", "0"] as const) {
        let last: Record<string, string> = {};
        const spans = await receiveSpans(async () => {
          const { result } = await captureLogs(() => callChain(createEvent, getHeaders(flag), 3));
          last = result;
        });
        assertEquals(last.traceparent.slice(0, 36), `00-${TRACE}-`);
        assertEquals(last.traceparent.slice(-2), `0${flag}`);
        assertEquals(last.tracestate, caller === "X-Ray" ? undefined : "vendor=a1");
        assertEquals(
          spans.map(({ traceId }) => traceId),
          flag === "1" ? [TRACE, TRACE, TRACE] : [],
        );
        if (flag === "0") continue;
        const chain = spans.toReversed(); // the innermost ends first
        assertEquals(
          chain.map(({ parentSpanId }) => parentSpanId),
          [PARENT, chain[0].spanId, chain[1].spanId],
        );
        assertEquals(last.traceparent.split("-")[2], chain[2].spanId);
      }
    });
  }

  Deno.test(`three services behind ${shape} are one trace of their own without a caller's trace`, async () => {
    const spans = await receiveSpans(() => captureLogs(() => callChain(createEvent, {}, 3)));
    assertEquals(spans.length, 3);
    assertEquals(new Set(spans.map(({ traceId }) => traceId)).size, 1);
    assertEquals(spans.at(-1)!.parentSpanId || undefined, undefined);
  });
}

Deno.test("the span of a request has the name, kind and attributes of OpenTelemetry's conventions", async () => {
  const SERVER = 2; // in OTLP
  const [span] = await receiveSpans(() =>
    captureLogs(() =>
      withObservability(() => ({ statusCode: 200 }))(
        createHttpApiEvent({ method: "GET", path: "/notes/n1", resource: "/notes/{id}" }),
        createLambdaContext({ awsRequestId: "r-1" }),
      )
    )
  );
  assertEquals([span.name, span.kind], ["GET /notes/{id}", SERVER]);
  const attributes = Object.fromEntries(
    span.attributes.map(({ key, value }) => [key, Object.values(value)[0]]),
  );
  const { "aws.lambda.invoked_arn": _arn, "faas.coldstart": _cold, ...others } = attributes;
  assertEquals(others, {
    "faas.invocation_id": "r-1",
    "faas.trigger": "http",
    "http.request.method": "GET",
    "http.response.status_code": 200,
    "http.route": "/notes/{id}",
    "url.path": "/notes/n1",
    "url.scheme": "https",
  });
});

Deno.test("a header of X-Ray with another trace wins over traceparent: the gateway records the request", async () => {
  const { result } = await captureLogs(() =>
    withObservability(() => getOutgoingHeaders())(
      createRestApiEvent({
        headers: {
          "X-Amzn-Trace-Id": `Root=${XRAY_ROOT};Parent=${PARENT};Sampled=1`,
          traceparent: `00-${randomHex(16)}-${PARENT}-01`,
        },
      }),
      createLambdaContext(),
    )
  );
  assertEquals(result.traceparent.split("-")[1], TRACE);
  assertEquals(result["X-Amzn-Trace-Id"].startsWith(`Root=${XRAY_ROOT};`), true);
});
