import { getOptionalEnv } from "../env/mod.ts";
import { currentInvocation, parseTraceparent, parseXrayHeader, toW3cTraceId } from "../observability/mod.ts";
import { headerOf } from "./api_event.ts";
import { CORRELATION_ID_HEADER } from "./correlation_id.ts";
import type { ApiEvent } from "./lambda.ts";

/**
 * The trace that an invocation belongs to: the X-Ray header of the request, else its `traceparent`, else what the
 * sandbox says.
 *
 * @param event Any event; only those that stand for an HTTP request have headers.
 * @param readEnvironment Whether `_X_AMZN_TRACE_ID` counts.
 * @returns X-Ray's or W3C's trace id.
 */
export function traceIdOf(event: unknown, readEnvironment: boolean): string | undefined {
  if (typeof event === "object" && event !== null && (event as ApiEvent).headers) {
    const xray = headerOf(event as ApiEvent, "X-Amzn-Trace-Id", "x-amzn-trace-id");
    const root = xray === undefined ? undefined : parseXrayHeader(xray)?.traceId;
    if (root !== undefined) return root;
    const w3c = headerOf(event as ApiEvent, "traceparent", "traceparent");
    if (w3c !== undefined) {
      const traceId = parseTraceparent(w3c)?.traceId;
      if (traceId !== undefined) return traceId;
    }
  }
  return readEnvironment ? parseXrayHeader(getOptionalEnv("_X_AMZN_TRACE_ID"))?.traceId : undefined;
}

/**
 * Headers that pass the current request's ids on to a service that is called: the correlation id, `traceparent` (W3C)
 * and `X-Amzn-Trace-Id` when the trace came from X-Ray.
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
  if (span !== undefined) headers.traceparent = `00-${span.traceId}-${span.spanId}-01`;
  if (traceId?.startsWith("1-")) {
    const parent = span !== undefined && span.traceId === toW3cTraceId(traceId) ? `;Parent=${span.spanId}` : "";
    headers["X-Amzn-Trace-Id"] = `Root=${traceId}${parent}`;
  }
  return headers;
}
