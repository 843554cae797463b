import type { SpanAttribute } from "./span.ts";

/** Ids of a span from its provider. */
export interface SpanIds {
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
export interface ApiContext {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): ApiContext;
  deleteValue(key: symbol): ApiContext;
}

/** The registered parts of the API. */
export interface ApiGlobal {
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

/** Checks whether a provider is registered. */
export function hasOtelProvider(): boolean {
  return getOtelApi()?.trace !== undefined;
}

/** Returns what is registered. */
export function getOtelApi(): ApiGlobal | undefined {
  return (globalThis as Record<symbol, unknown>)[API] as ApiGlobal | undefined;
}
