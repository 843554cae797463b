import { reportFailure } from "./report_failure.ts";
import type { Span, SpanAttribute, SpanKind } from "./span.ts";

/** Ids of a span from its provider. */
interface SpanIds {
  traceId: string;
  spanId: string;
  traceFlags: number;
}

/** The members used here of a span of the registered OpenTelemetry provider. */
export interface OtelSpan {
  spanContext(): SpanIds;
  setAttribute(key: string, value: SpanAttribute): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  recordException(exception: { name: string; message: string }, time?: number): unknown;
  end(endTime?: number): void;
}

/** A context of OpenTelemetry. */
interface ApiContext {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): ApiContext;
  deleteValue(key: symbol): ApiContext;
}

/** The registered parts of the API. */
interface ApiGlobal {
  trace?: {
    getTracer(name: string): {
      startSpan(name: string, options: Record<string, unknown>, context: ApiContext): OtelSpan;
    };
  };
  context?: { active(): ApiContext };
}

/**
 * Location where every copy of `@opentelemetry/api` 1.x keeps what was registered. It is fixed by the API
 * so that copies share it (api/src/internal/global-utils.ts). Reading it keeps 16 KB out of every bundle
 * that has no provider.
 */
const API: symbol = Symbol.for("opentelemetry.js.api.1");

/** The caller's span in another process. */
export interface RemoteSpan {
  traceId: string;
  spanId: string | undefined;
  sampled: boolean | undefined;
}

/** The key of the span in a context, fixed by the API (api/src/trace/context-utils.ts). */
const SPAN_KEY: symbol = Symbol.for("OpenTelemetry Context Key SPAN");
const STATUS_ERROR = 2;
/** In the order of the API's numbers (api/src/trace/span_kind.ts). */
const KINDS: readonly SpanKind[] = ["internal", "server", "client", "producer", "consumer"];

/** Starts a span at the registered provider; `undefined` when there is none, or when it fails. */
export function startOtelSpan(
  { name, kind, startTimeMs, attributes }: Pick<
    Span,
    "name" | "kind" | "startTimeMs" | "attributes"
  >,
  parent: OtelSpan | undefined,
  remote: RemoteSpan | undefined,
): OtelSpan | undefined {
  const api = (globalThis as Record<symbol, unknown>)[API] as ApiGlobal | undefined;
  if (api?.trace === undefined) return undefined;
  try {
    const context = getContext(api.context?.active() ?? new Context(), parent, remote);
    return api.trace.getTracer("@trellis/fn").startSpan(name, {
      kind: KINDS.indexOf(kind),
      startTime: startTimeMs,
      attributes,
    }, context);
  } catch (error) {
    reportFailure("the OpenTelemetry provider", error);
    return undefined;
  }
}

/** Makes the context that says which span the new one is a child of. */
function getContext(
  context: ApiContext,
  parent: OtelSpan | undefined,
  remote: RemoteSpan | undefined,
): ApiContext {
  if (parent !== undefined) return context.setValue(SPAN_KEY, parent);
  // an instrumentation around the handler has read the request's headers already: its span goes first
  if (remote?.spanId === undefined || context.getValue(SPAN_KEY) !== undefined) return context;
  const ids = {
    traceId: remote.traceId,
    spanId: remote.spanId,
    traceFlags: remote.sampled === false ? 0 : 1,
  };
  return context.setValue(SPAN_KEY, { spanContext: () => ({ ...ids, isRemote: true }) });
}

/** Hands an attribute over. */
export function setOtelAttribute(
  otel: OtelSpan,
  key: string,
  value: SpanAttribute,
): void {
  try {
    otel.setAttribute(key, value);
  } catch (error) {
    reportFailure("the OpenTelemetry provider", error);
  }
}

/** Hands over how our span ended. */
export function endOtelSpan(otel: OtelSpan, span: Span): void {
  try {
    endAtProvider(otel, span);
  } catch (error) {
    reportFailure("the OpenTelemetry provider", error);
  }
}

function endAtProvider(otel: OtelSpan, { attributes, status, endTimeMs }: Span): void {
  for (const [key, value] of Object.entries(attributes)) otel.setAttribute(key, value);
  if (status === "error") {
    // the class only: messages of drivers hold values
    const name = String(attributes["error.type"]);
    otel.recordException({ name, message: name }, endTimeMs);
    otel.setStatus({ code: STATUS_ERROR, message: name });
  }
  otel.end(endTimeMs);
}

/** An OpenTelemetry context, for a provider without a context manager. */
class Context implements ApiContext {
  readonly #values: ReadonlyMap<symbol, unknown>;

  constructor(values: ReadonlyMap<symbol, unknown> = new Map()) {
    this.#values = values;
  }

  getValue(key: symbol): unknown {
    return this.#values.get(key);
  }

  setValue(key: symbol, value: unknown): Context {
    return new Context(new Map(this.#values).set(key, value));
  }

  deleteValue(key: symbol): Context {
    const values = new Map(this.#values);
    values.delete(key);
    return new Context(values);
  }
}
