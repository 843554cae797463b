import { getOptionalEnv } from "../../env/get_env.ts";
import { currentInvocation } from "../../observability/invocation_context.ts";
import {
  parseTraceparent,
  parseXrayHeader,
  toW3cTraceId,
  toXrayTraceId,
  type TraceContext,
} from "../../observability/trace_context.ts";
import { getHeader } from "./api_event.ts";
import { CORRELATION_ID_HEADER } from "./correlation_id.ts";
import type { ApiEvent } from "./lambda.ts";

/**
 * The trace that an invocation belongs to, in this order: the caller's `traceparent`; an X-Ray header with a parent; the
 * sandbox' `_X_AMZN_TRACE_ID`, if X-Ray records it; the root that gateways and load balancers add to each request, which
 * has no parent. `traceparent` also gives way to an X-Ray header with a parent of another trace: X-Ray is active at the gateway.
 *
 * A sandbox without active tracing says `Sampled=0` for all requests. So that is no decision, as in OpenTelemetry's own
 * instrumentation of Lambda.
 *
 * @param event Any event; only HTTP requests have headers.
 * @param readEnvironment Whether `_X_AMZN_TRACE_ID` counts.
 * @returns The ids of X-Ray's or W3C's trace, and whether the caller records it.
 */
export function getTraceContext(
  event: unknown,
  readEnvironment: boolean,
): TraceContext | undefined {
  const xray = parseXrayHeader(readHeader(event, "X-Amzn-Trace-Id"));
  const w3c = readTraceparent(event);
  const isXrayActive = xray?.parentId !== undefined;
  if (w3c !== undefined && (!isXrayActive || toW3cTraceId(xray.traceId) === w3c.traceId)) {
    return w3c;
  }
  if (isXrayActive) return xray;
  const own = readEnvironment ? parseXrayHeader(getOptionalEnv("_X_AMZN_TRACE_ID")) : undefined;
  if (own?.sampled) return own;
  return xray ?? (own && { traceId: own.traceId, parentId: undefined, sampled: undefined });
}

function readTraceparent(event: unknown): TraceContext | undefined {
  return parseTraceparent(readHeader(event, "traceparent"));
}

function readHeader(event: unknown, name: string): string | undefined {
  return typeof event === "object" && event !== null
    ? getHeader(event as ApiEvent, name)
    : undefined;
}

/**
 * Headers that pass the current request's ids on to a service that is called: the correlation id, `traceparent` (W3C)
 * with the `tracestate` that came beside it, and `X-Amzn-Trace-Id` when the trace came from X-Ray.
 *
 * @returns Headers for `fetch`; empty outside of a handler.
 *
 * @example
 * ```ts
 * import { getOutgoingHeaders } from "@trellis/fn/core";
 *
 * console.log(Object.keys(getOutgoingHeaders()).length); // 0: no handler runs here
 * ```
 */
export function getOutgoingHeaders(): Record<string, string> {
  const invocation = currentInvocation();
  if (invocation === undefined) return {};
  const headers: Record<string, string> = { [CORRELATION_ID_HEADER]: invocation.correlationId };
  const { span, event } = invocation;
  // without a span, the ids of the caller are passed on
  const { traceId = span?.traceId } = invocation;
  const spanId = span?.spanId ?? invocation.parentSpanId;
  const sampled = span === undefined ? invocation.sampled : span.sampled;
  if (traceId === undefined) return headers;
  const w3cId = span?.traceId ?? toW3cTraceId(traceId);
  if (spanId !== undefined) {
    headers.traceparent = `00-${w3cId}-${spanId}-${sampled === false ? "00" : "01"}`;
    const state = readTraceparent(event)?.traceId === w3cId ? getTraceState(event) : undefined;
    if (state !== undefined) headers.tracestate = state;
  }
  if (traceId.startsWith("1-")) {
    const parent = spanId === undefined ? "" : `;Parent=${spanId}`;
    headers["X-Amzn-Trace-Id"] = `Root=${toXrayTraceId(w3cId)}${parent}${
      sampled === undefined ? "" : `;Sampled=${sampled ? 1 : 0}`
    }`;
  }
  return headers;
}

/** Printable ASCII, as much as everybody has to pass on (W3C Trace Context, sections 3.3.1 and 3.3.1.5). */
const TRACE_STATE = /^[\x20-\x7e]{1,512}$/;

/** Returns the data of other vendors in the trace; it belongs to a `traceparent` that was taken over. */
function getTraceState(event: unknown): string | undefined {
  const state = readHeader(event, "tracestate");
  return state !== undefined && TRACE_STATE.test(state) ? state : undefined;
}
