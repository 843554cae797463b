import { type MetricGroup, renderMetrics } from "./metric_lines.ts";
import { writeOutput } from "./output.ts";
import { getSettings, type ObservabilitySettings } from "./settings.ts";
import type { Span } from "./span.ts";

/** The ids and names of an {@link Invocation}. */
export interface InvocationStart {
  /** Id that appears in logs, responses and outgoing calls. */
  correlationId: string;
  /** Lambda's id of this invocation. */
  requestId: string;
  /** X-Ray or W3C trace id, if the caller sent one. */
  traceId: string | undefined;
  /** The caller's span, if it sent one. */
  parentSpanId?: string;
  /** True if the caller records the trace; `undefined` if unknown. */
  sampled?: boolean;
  /** The name in metrics and spans. */
  operationName: string;
  /** Lambda's name of the function. */
  functionName: string | undefined;
  /** True for the first invocation of the process. */
  coldStart: boolean;
}

/**
 * The whole state of one invocation. Log lines and metrics are collected here and written together.
 */
export class Invocation {
  /** Id that appears in logs, responses and outgoing calls. */
  readonly correlationId: string;
  /** Lambda's id of this invocation. */
  readonly requestId: string;
  /** X-Ray or W3C trace id, if the caller sent one. */
  traceId: string | undefined;
  /** The caller's span, if it sent one. */
  readonly parentSpanId: string | undefined;
  /** True if the caller records the trace; `undefined` if unknown. */
  readonly sampled: boolean | undefined;
  /** The name in metrics and spans. */
  readonly operationName: string;
  /** Lambda's name of the function. */
  readonly functionName: string | undefined;
  /** True for the first invocation of the process. */
  readonly coldStart: boolean;
  /** The settings from the environment at the start of the invocation. */
  readonly settings: ObservabilitySettings;
  /** Lines below this severity are not logged. */
  level: number;
  /** More key names to redact, in lower case. */
  redact: ReadonlySet<string> | undefined = undefined;
  /** Constant fields of each log line, serialised: `,"team":"notes"`. */
  fields = "";
  /** The active span: the parent of new spans. */
  span: Span | undefined = undefined;
  /** The spans that have not ended. */
  readonly openSpans: Set<Span> = new Set();
  /** Metrics by dimension set. */
  metrics: Map<string, MetricGroup> | undefined = undefined;
  /** The last line, if the metrics are to become a part of it. */
  summary = "";
  /** Dimensions that the handler added to its metrics. */
  dimensions: Record<string, string> | undefined = undefined;
  /** The event of the invocation. */
  event: unknown = undefined;
  /** Aborted at the deadline; created on first use. */
  abort: AbortController | undefined = undefined;
  /** Difference of epoch milliseconds and `performance.now()`; set by the first span. */
  epochOffsetMs: number | undefined = undefined;
  /** The deadline on the clock of `performance.now()`; `undefined` without a limit. */
  deadlineMs: number | undefined = undefined;
  #onDeadline: Set<() => void> | undefined = undefined;
  #deadlineEpochMs: number | undefined = undefined;
  #lines = "";
  #ended = false;

  /** @param start The ids and names. */
  constructor(start: InvocationStart) {
    this.correlationId = start.correlationId;
    this.requestId = start.requestId;
    this.traceId = start.traceId;
    this.parentSpanId = start.parentSpanId;
    this.sampled = start.sampled;
    this.operationName = start.operationName;
    this.functionName = start.functionName;
    this.coldStart = start.coldStart;
    this.settings = getSettings();
    this.level = this.settings.level;
  }

  /** The deadline in whole epoch milliseconds, by the wall clock of the first read. */
  get deadlineEpochMs(): number | undefined {
    const { deadlineMs } = this;
    if (deadlineMs === undefined) return undefined;
    return this.#deadlineEpochMs ??= Math.floor(Date.now() + deadlineMs - performance.now());
  }

  /**
   * Registers a function to call at the deadline, when the invocation fails while its work continues. Queries use it
   * instead of a listener on the signal of {@link abort}, which made each query 16 µs slower.
   *
   * @param callback Called once; it must not throw.
   * @returns Removes the function.
   */
  onDeadline(callback: () => void): () => void {
    const callbacks = this.#onDeadline ??= new Set();
    callbacks.add(callback);
    return () => void callbacks.delete(callback);
  }

  /** Marks the invocation as timed out: aborts its signal and calls the functions of {@link onDeadline}. */
  expire(): void {
    this.abort?.abort();
    const callbacks = this.#onDeadline;
    this.#onDeadline = undefined;
    for (const callback of callbacks ?? []) callback();
  }

  /** True after {@link flush}. Later lines are written at once. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Adds a whole line to the output, or writes it at once after {@link flush}. */
  append(line: string): void {
    this.#lines += line;
    if (this.#ended || this.#lines.length > MAX_BUFFERED) this.#writeLines();
  }

  /** Writes the collected output in one write. */
  flush(): void {
    this.#ended = true;
    this.#lines += renderMetrics(this.metrics?.values() ?? [], this.settings, this.summary);
    this.metrics?.clear();
    this.summary = "";
    this.#writeLines();
  }

  #writeLines(): void {
    if (this.#lines === "") return;
    const lines = this.#lines;
    this.#lines = "";
    writeOutput(lines);
  }
}

/** Maximum number of buffered characters before a write. */
const MAX_BUFFERED = 64 * 1024;
