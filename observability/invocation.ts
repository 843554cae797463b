import type { MetricGroup } from "./metric_group.ts";
import { writeOutput } from "./output.ts";
import { getSettings, type ObservabilitySettings } from "./settings.ts";
import type { Span } from "./span.ts";

/** What starts an {@link Invocation}. */
export interface InvocationStart {
  /** Goes through logs, responses and calls to others. */
  correlationId: string;
  /** Lambda's id of this invocation. */
  requestId: string;
  /** X-Ray or W3C trace id, when the caller sent one. */
  traceId: string | undefined;
  /** The caller's span, when it sent one. */
  parentSpanId?: string;
  /** Whether the caller records the trace, when it said so. */
  sampled?: boolean;
  /** The name that metrics and spans carry. */
  operationName: string;
  /** Lambda's name of the function. */
  functionName: string | undefined;
  /** Whether this is the first invocation of the process. */
  coldStart: boolean;
}

/**
 * The state of one invocation, and all of it: nothing else in the package keeps any. Log lines and metrics collect
 * here and leave in one write.
 */
export class Invocation {
  /** Goes through logs, responses and calls to others. */
  readonly correlationId: string;
  /** Lambda's id of this invocation. */
  readonly requestId: string;
  /** X-Ray or W3C trace id, when the caller sent one. */
  readonly traceId: string | undefined;
  /** The caller's span, when it sent one. */
  readonly parentSpanId: string | undefined;
  /** Whether the caller records the trace, when it said so. */
  readonly sampled: boolean | undefined;
  /** The name that metrics and spans carry. */
  readonly operationName: string;
  /** Lambda's name of the function. */
  readonly functionName: string | undefined;
  /** Whether this is the first invocation of the process. */
  readonly coldStart: boolean;
  /** What the environment said when the invocation began. */
  readonly settings: ObservabilitySettings;
  /** Lines below this severity are left out. */
  level: number;
  /** Key names whose values this handler wants redacted, in lower case. */
  redact: ReadonlySet<string> | undefined = undefined;
  /** Constant fields of each log line, serialised: `,"team":"notes"`. */
  fields = "";
  /** The part of a log line that does not change during the invocation, once a line was written. */
  linePrefix: string | undefined = undefined;
  /** The span that new spans become children of. */
  span: Span | undefined = undefined;
  /** Metrics by dimension set. */
  metrics: Map<string, MetricGroup> | undefined = undefined;
  /** Dimensions that the handler added to its metrics. */
  dimensions: Record<string, string> | undefined = undefined;
  /** Turns the collected metrics into lines; set by the first metric. */
  renderMetrics: ((invocation: Invocation) => string) | undefined = undefined;
  /** The event and the headers that {@link correlationId} came from; read only by the layer that made the invocation. */
  event: unknown = undefined;
  /** Aborted when the deadline is near; made when somebody asks. */
  abort: AbortController | undefined = undefined;
  /** What the clock of `performance.now()` lacks to epoch milliseconds, once a span asked. */
  epochOffsetMs: number | undefined = undefined;
  /** Its place among those that wait for their work; read only by the file that keeps them. */
  pendingAt = -1;
  #deadlineMs: number | undefined = undefined;
  #onDeadline: Set<() => void> | undefined = undefined;
  #deadlineEpochMs: number | undefined = undefined;
  #lines = "";
  #ended = false;

  /** @param start What is known when an invocation begins. */
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

  /** The deadline on the clock of `performance.now()`; `undefined` without a limit. */
  get deadlineMs(): number | undefined {
    return this.#deadlineMs ??= this.readDeadline();
  }

  set deadlineMs(deadlineMs: number | undefined) {
    this.#deadlineMs = deadlineMs;
  }

  /**
   * Returns the deadline when it is first needed. A handler that responds at once does not need it, and reading the
   * two clocks takes 0.2 of the 3 µs of a POST.
   */
  protected readDeadline(): number | undefined {
    return undefined;
  }

  /** The deadline in whole epoch milliseconds, by the clock as it was set when this was first read. */
  get deadlineEpochMs(): number | undefined {
    const { deadlineMs } = this;
    if (deadlineMs === undefined) return undefined;
    return this.#deadlineEpochMs ??= Math.floor(Date.now() + deadlineMs - performance.now());
  }

  /**
   * Has a function called when the invocation is given up at its deadline: its work goes on, but nobody waits for it. For what comes
   * with each query: a listener of {@link abort}'s signal is told the same, and made a query 16 µs slower.
   *
   * @param callback Called once; it must not throw.
   * @returns Forgets the function again.
   */
  onDeadline(callback: () => void): () => void {
    const callbacks = this.#onDeadline ??= new Set();
    callbacks.add(callback);
    return function forget(): void {
      callbacks.delete(callback);
    };
  }

  /** Marks the invocation as timed out: aborts its signal and calls what waits for the deadline. */
  expire(): void {
    this.abort?.abort();
    const callbacks = this.#onDeadline;
    this.#onDeadline = undefined;
    for (const callback of callbacks ?? []) callback();
  }

  /** Whether {@link flush} was called: lines of work that goes on after the answer are written at once. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Keeps a whole line until {@link flush}; after that it is written at once. */
  append(line: string): void {
    this.#lines += line;
    if (this.#ended || this.#lines.length > MAX_BUFFERED) this.#writeLines();
  }

  /** Writes what was collected, in one write. */
  flush(): void {
    this.#ended = true;
    if (this.renderMetrics !== undefined) this.#lines += this.renderMetrics(this);
    this.#writeLines();
  }

  #writeLines(): void {
    if (this.#lines === "") return;
    const lines = this.#lines;
    this.#lines = "";
    writeOutput(lines);
  }
}

/** Characters after which an invocation that logs a lot writes in between. */
const MAX_BUFFERED = 64 * 1024;
