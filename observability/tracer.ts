import { ConfigurationError } from "../errors/http_errors.ts";
import type { Invocation } from "./invocation.ts";
import { currentInvocation } from "./invocation_context.ts";
import { endOtelSpan, type OtelSpan, setOtelAttribute, startOtelSpan } from "./opentelemetry.ts";
import { redactValue } from "./redact.ts";
import { reportFailure } from "./report_failure.ts";
import type { Span, SpanAttribute, SpanKind } from "./span.ts";
import { toW3cTraceId } from "./trace_context.ts";

/** Options of {@link startSpan}. */
export interface StartSpanOptions {
  /** Attributes at the start. */
  attributes?: Record<string, SpanAttribute>;
  /**
   * The role in the trace.
   * @default "internal"
   */
  kind?: SpanKind;
  /**
   * True if spans that start before this one ends become its children. Use `false` for a step that may run in parallel
   * with others, such as a query.
   * @default true
   */
  active?: boolean;
}

/** W3C Trace Context, section 3.2.2.5. */
const SAMPLED = 1;

interface RunningSpan extends Span {
  /** On the clock of `performance.now()`, which is never set back. */
  startedMs: number;
  parent: Span | undefined;
  invocation: Invocation | undefined;
  otel: OtelSpan | undefined;
}

/** A function that is called with each ended span. */
export type SpanListener = (span: Span) => void;

const listeners: Set<SpanListener> = new Set();

/**
 * Registers a function that is called with each ended span, for example in a test or a development server.
 *
 * @param listener Called synchronously; the first error that it throws is reported on standard error.
 * @returns Removes the listener.
 */
export function onSpanEnd(listener: SpanListener): () => void {
  listeners.add(listener);
  return function removeSpanListener(): void {
    listeners.delete(listener);
  };
}

/**
 * Starts a span. Inside an invocation it is a child of the span that is active there.
 *
 * @param name The operation, without ids: `charge card`, not `charge card 4711`.
 * @param options Attributes, and whether the span becomes active.
 * @returns The span. End it with {@link endSpan}.
 *
 * @example
 * ```ts
 * import { endSpan, startSpan } from "@trellis/fn/observability";
 *
 * const span = startSpan("charge card", { attributes: { provider: "example" } });
 * try {
 *   // the work
 *   endSpan(span);
 * } catch (error) {
 *   endSpan(span, error);
 *   throw error;
 * }
 * console.log(span.status); // ok
 * ```
 */
export function startSpan(name: string, options: StartSpanOptions = {}): Span {
  const startedMs = performance.now();
  const invocation = currentInvocation();
  const parent = invocation?.span;
  const attributes: Record<string, SpanAttribute> = { ...options.attributes };
  const startTimeMs = startedMs + getEpochOffset(invocation, startedMs);
  const remote = invocation?.traceId && parent === undefined
    ? {
      traceId: toW3cTraceId(invocation.traceId),
      spanId: invocation.parentSpanId,
      sampled: invocation.sampled,
    }
    : undefined;
  const parentOtel = (parent as RunningSpan | undefined)?.otel;
  const { kind = "internal" } = options;
  const otel = startOtelSpan({ name, kind, startTimeMs, attributes }, parentOtel, remote);
  const ids = otel?.spanContext();
  const span: RunningSpan = {
    name,
    kind,
    traceId: ids?.traceId ?? parent?.traceId ?? remote?.traceId ?? randomHex(32),
    spanId: ids?.spanId ?? randomHex(16),
    parentSpanId: parent?.spanId ??
      (ids === undefined || ids.traceId === remote?.traceId ? remote?.spanId : undefined),
    sampled: ids === undefined ? (parent ?? remote)?.sampled : (ids.traceFlags & SAMPLED) !== 0,
    startTimeMs,
    startedMs,
    endTimeMs: undefined,
    status: "unset",
    error: undefined,
    attributes,
    metadata: undefined,
    parent,
    invocation,
    otel,
  };
  invocation?.openSpans.add(span);
  if (invocation !== undefined && options.active !== false) invocation.span = span;
  return span;
}

/** Returns the difference of the two clocks. It is the same for all spans of an invocation. */
function getEpochOffset(invocation: Invocation | undefined, nowMs: number): number {
  const offsetMs = invocation?.epochOffsetMs ?? Date.now() - nowMs;
  if (invocation !== undefined) invocation.epochOffsetMs = offsetMs;
  return offsetMs;
}

/**
 * Ends a span. Ending it again has no effect.
 *
 * @param span The span from {@link startSpan}.
 * @param error The error, if the work failed.
 */
export function endSpan(span: Span, error?: unknown): void {
  if (span.endTimeMs !== undefined) return;
  const running = span as RunningSpan;
  span.endTimeMs = span.startTimeMs + performance.now() - running.startedMs;
  span.status = error === undefined ? "ok" : "error";
  span.error = error;
  if (error !== undefined) span.attributes["error.type"] ??= getErrorType(error);
  const { invocation } = running;
  invocation?.openSpans.delete(span);
  // the parent may have ended before this span: the next that still runs becomes active
  if (invocation?.span === span) {
    let next = running.parent as RunningSpan | undefined;
    while (next !== undefined && next.endTimeMs !== undefined) {
      next = next.parent as RunningSpan | undefined;
    }
    invocation.span = next;
  }
  if (running.otel !== undefined) endOtelSpan(running.otel, span);
  for (const listener of listeners) tell(listener, span);
}

/**
 * Lists the innermost operations of an invocation that have not ended, such as a query that waits for
 * a lock, with their time: `listNotes (4712 ms)`.
 *
 * @param invocation The invocation.
 * @param outer The span around its work, which is not listed.
 */
export function listRunning({ openSpans }: Invocation, outer: Span | undefined): string[] {
  const open = [...openSpans] as RunningSpan[];
  const parents = new Set(open.map(({ parent }) => parent));
  return open.filter((span) => span !== outer && !parents.has(span))
    .map(({ name, startedMs }) => `${name} (${Math.round(performance.now() - startedMs)} ms)`);
}

/** Returns the class of an error: its message may hold values. */
function getErrorType(error: unknown): string {
  try {
    return error instanceof Error ? String(error.name) : "Error";
  } catch {
    return "Error"; // a proxy that throws
  }
}

function tell(listener: SpanListener, span: Span): void {
  try {
    listener(span);
  } catch (error) {
    reportFailure("a listener of onSpanEnd", error);
  }
}

/**
 * Runs a function in a span and ends it, with the error when the function fails.
 *
 * @param name What is done.
 * @param fn The work.
 * @param options As for {@link startSpan}.
 * @returns What `fn` returns.
 *
 * @example
 * ```ts
 * import { withSpan } from "@trellis/fn/observability";
 *
 * console.log(await withSpan("add", () => 1 + 1)); // 2
 * ```
 */
export async function withSpan<T>(
  name: string,
  fn: (span: Span) => T | Promise<T>,
  options?: StartSpanOptions,
): Promise<T> {
  const span = startSpan(name, options);
  try {
    const result = await fn(span);
    endSpan(span);
    return result;
  } catch (error) {
    endSpan(span, error ?? new Error("rejected with nothing"));
    throw error;
  }
}

/**
 * Adds searchable data to the active span of this invocation. Has no effect outside an invocation.
 *
 * @param key The name.
 * @param value The value.
 * @throws {ConfigurationError} If the key is not a string.
 */
export function addAnnotation(key: string, value: SpanAttribute): void {
  checkName("addAnnotation(key, value)", key);
  const span = currentInvocation()?.span as RunningSpan | undefined;
  if (span === undefined) return;
  span.attributes[key] = value;
  if (span.otel !== undefined) setOtelAttribute(span.otel, key, value);
}

/**
 * Adds data of any type to the active span of this invocation. Sensitive keys are redacted. Has no effect outside an
 * invocation.
 *
 * @param key The name.
 * @param value The value.
 * @param namespace The namespace of the key.
 * @throws {ConfigurationError} If the key is not a string.
 */
export function addMetadata(key: string, value: unknown, namespace = "default"): void {
  checkName("addMetadata(key, value)", key);
  const span = currentInvocation()?.span as RunningSpan | undefined;
  if (span === undefined) return;
  const safe = redactValue({ [key]: value }) as Record<string, unknown>;
  span.metadata ??= {};
  span.metadata[namespace] = { ...span.metadata[namespace], ...safe };
  if (span.otel === undefined) return;
  setOtelAttribute(span.otel, `metadata.${namespace}.${key}`, JSON.stringify(safe[key]) ?? "");
}

/** Refuses a call in untyped code that passes a span first, as other tracers take it. */
function checkName(call: string, key: unknown): void {
  if (typeof key !== "string") {
    throw new ConfigurationError(
      `${call} got a key of the type ${typeof key}: it must be a string; the span is the active one`,
    );
  }
}

/** Returns a random id. Ids are not secret, and `Math.random` saves loading crypto at a cold start. */
function randomHex(digits: number): string {
  let id = "";
  while (id.length < digits) {
    id += Math.floor(Math.random() * 2 ** 32).toString(16).padStart(8, "0");
  }
  return id;
}
