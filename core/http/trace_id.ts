import { getOptionalEnv } from "../../env/get_env.ts";
import { currentInvocation } from "../../observability/invocation_context.ts";
import {
  parseTraceparent,
  parseXrayHeader,
  toW3cTraceId,
  type TraceContext,
} from "../../observability/trace_context.ts";
import { getHeader } from "./api_event.ts";
import { CORRELATION_ID_HEADER } from "./correlation_id.ts";
import type { ApiEvent } from "./lambda.ts";

/**
 * The trace that an invocation belongs to: the X-Ray header of the request, else its `traceparent`, else what the
 * sandbox says.
 *
 * @param event Any event; only HTTP requests have headers.
 * @param readEnvironment Whether `_X_AMZN_TRACE_ID` counts.
 * @returns The ids of X-Ray's or W3C's trace, and whether the caller records it.
 */
export function getTraceContext(
  event: unknown,
  readEnvironment: boolean,
): TraceContext | undefined {
  if (typeof event === "object" && event !== null && (event as ApiEvent).headers) {
    const xray = getHeader(event as ApiEvent, "X-Amzn-Trace-Id", "x-amzn-trace-id");
    const root = xray === undefined ? undefined : parseXrayHeader(xray);
    if (root !== undefined) return root;
    const w3c = getHeader(event as ApiEvent, "traceparent", "traceparent");
    const context = w3c === undefined ? undefined : parseTraceparent(w3c);
    if (context !== undefined) return context;
  }
  return readEnvironment ? parseXrayHeader(getOptionalEnv("_X_AMZN_TRACE_ID")) : undefined;
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
  const { span, traceId } = invocation;
  const ours = traceId === undefined ? undefined : toW3cTraceId(traceId);
  // without a span, the ids of the caller are passed on
  const spanId = span?.spanId ?? invocation.parentSpanId;
  const w3cId = span?.traceId ?? ours;
  const sampled = span === undefined ? invocation.sampled : span.sampled;
  if (w3cId !== undefined && spanId !== undefined) {
    headers.traceparent = `00-${w3cId}-${spanId}-${sampled === false ? "00" : "01"}`;
  }
  const state = traceId?.startsWith("1-") || w3cId !== ours
    ? undefined
    : getTraceState(invocation.event);
  if (headers.traceparent !== undefined && state !== undefined) headers.tracestate = state;
  if (traceId?.startsWith("1-")) {
    const parent = spanId !== undefined && w3cId === ours ? `;Parent=${spanId}` : "";
    headers["X-Amzn-Trace-Id"] = `Root=${traceId}${parent}${
      sampled === undefined ? "" : `;Sampled=${sampled ? 1 : 0}`
    }`;
  }
  return headers;
}

/** Printable ASCII, as much as everybody has to pass on (W3C Trace Context, sections 3.3.1 and 3.3.1.5). */
const TRACE_STATE = /^[\x20-\x7e]{1,512}$/;

/** Returns the data of other vendors in the trace; it belongs to a `traceparent` that was taken over. */
function getTraceState(event: unknown): string | undefined {
  const state = typeof event === "object" && event !== null
    ? getHeader(event as ApiEvent, "tracestate", "tracestate")
    : undefined;
  return state !== undefined && TRACE_STATE.test(state) ? state : undefined;
}
