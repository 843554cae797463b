/** What an attribute may be. */
export type SpanAttribute = string | number | boolean;

/** A stretch of work: a plain object that becomes an OpenTelemetry span when a provider is registered. */
export interface Span {
  /** What was done. */
  readonly name: string;
  /** 32 hex digits (W3C). */
  readonly traceId: string;
  /** 16 hex digits (W3C). */
  readonly spanId: string;
  /** The span that this one is part of. */
  readonly parentSpanId: string | undefined;
  /** Whether the trace is recorded, as the caller or the OpenTelemetry provider decided; `undefined` when nobody did. */
  readonly sampled: boolean | undefined;
  /** Epoch milliseconds, with a fraction. */
  readonly startTimeMs: number;
  /** Epoch milliseconds, by a clock that is not set back while the span runs; `undefined` until it ends. */
  endTimeMs: number | undefined;
  /** How it ended; `unset` while it runs. */
  status: "unset" | "ok" | "error";
  /** What it failed with. */
  error: unknown;
  /** Facts to search for. */
  readonly attributes: Record<string, SpanAttribute>;
  /** Facts to read, by namespace, redacted. */
  metadata: Record<string, Record<string, unknown>> | undefined;
}
