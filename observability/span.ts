/** The value of an attribute. */
export type SpanAttribute = string | number | boolean;

/**
 * The role of a span in its trace (OpenTelemetry, "SpanKind"): it serves a request, calls another service, sends or
 * processes a message, or none of these.
 */
export type SpanKind = "internal" | "server" | "client" | "producer" | "consumer";

/** A span: a plain object that becomes an OpenTelemetry span if a provider is registered. */
export interface Span {
  /** Name of the operation. */
  readonly name: string;
  /** The role in the trace. */
  readonly kind: SpanKind;
  /** 32 hex digits (W3C). */
  readonly traceId: string;
  /** 16 hex digits (W3C). */
  readonly spanId: string;
  /** The parent span. */
  readonly parentSpanId: string | undefined;
  /** True if the caller or the OpenTelemetry provider records the trace; `undefined` if neither decided. */
  readonly sampled: boolean | undefined;
  /** Epoch milliseconds, with a fraction. */
  readonly startTimeMs: number;
  /** Epoch milliseconds, by a clock that is not set back while the span runs; `undefined` until it ends. */
  endTimeMs: number | undefined;
  /** Outcome; `unset` while it runs. */
  status: "unset" | "ok" | "error";
  /** The error of a failed span. */
  error: unknown;
  /** Searchable data. */
  readonly attributes: Record<string, SpanAttribute>;
  /** Other data by namespace, redacted. */
  metadata: Record<string, Record<string, unknown>> | undefined;
}
