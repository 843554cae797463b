/** Ids of a trace that came with a request. */
export interface TraceContext {
  /** Trace id as its own format writes it: `1-<8 hex>-<24 hex>` for X-Ray, 32 hex for W3C. */
  readonly traceId: string;
  /** Span id of the caller, 16 hex. */
  readonly parentId: string | undefined;
  /** True if the caller records this trace; `undefined` if the caller leaves that open. */
  readonly sampled: boolean | undefined;
}

/** W3C Trace Context, section 3.2: version, trace id, parent id, flags; later versions may append fields. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const XRAY_ROOT = /^1-[0-9a-f]{8}-[0-9a-f]{24}$/i;
const SPAN_ID = /^[0-9a-f]{16}$/i;

/**
 * Reads a W3C `traceparent` header.
 *
 * @param header The header's value.
 * @returns The ids, or `undefined` when the header is missing or not well formed (W3C: then it is ignored).
 */
export function parseTraceparent(header: string | null | undefined): TraceContext | undefined {
  const parts = header ? TRACEPARENT.exec(header.trim()) : null;
  if (parts === null) return undefined;
  const [, version, traceId, parentId, flags, more] = parts;
  if (
    version === "ff" || (version === "00" && more) || /^0+$/.test(traceId) || /^0+$/.test(parentId)
  ) return undefined;
  return { traceId, parentId, sampled: (parseInt(flags, 16) & 1) === 1 };
}

/**
 * Reads an X-Ray trace header: `X-Amzn-Trace-Id`, or the value of `_X_AMZN_TRACE_ID` in a Lambda sandbox.
 *
 * @param header The header's value.
 * @returns The ids, or `undefined` when there is no well formed root.
 */
export function parseXrayHeader(header: string | null | undefined): TraceContext | undefined {
  if (!header) return undefined;
  let traceId: string | undefined, parentId: string | undefined, sampled: boolean | undefined;
  for (let start = 0, end = 0; start < header.length; start = end + 1) {
    end = header.indexOf(";", start);
    if (end < 0) end = header.length;
    // searched in this part only: a search in the rest for each part would take the square of the length
    const part = header.slice(start, end);
    const at = part.indexOf("=");
    if (at < 0) continue;
    const value = part.slice(at + 1).trim();
    switch (part.slice(0, at).trim()) {
      case "Root":
        if (XRAY_ROOT.test(value)) traceId = value;
        break;
      case "Parent":
        if (SPAN_ID.test(value)) parentId = value;
        break;
      case "Sampled":
        sampled = value === "1" ? true : value === "0" ? false : undefined;
    }
  }
  return traceId === undefined ? undefined : { traceId, parentId, sampled };
}

/** X-Ray's form of a W3C trace id. */
export function toXrayTraceId(traceId: string): string {
  return `1-${traceId.slice(0, 8)}-${traceId.slice(8)}`;
}

/** A W3C trace id from either format: X-Ray's is the same 128 bits with two hyphens and a version. */
export function toW3cTraceId(traceId: string): string {
  return traceId.startsWith("1-")
    ? (traceId.slice(2, 10) + traceId.slice(11)).toLowerCase()
    : traceId;
}
