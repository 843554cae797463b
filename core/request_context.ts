import { currentInvocation } from "../observability/mod.ts";

/** What code anywhere below a handler may know of the request that it works for. */
export interface RequestContext {
  /** Goes through logs, responses and calls to others. */
  readonly correlationId: string;
  /** Lambda's id of this invocation. */
  readonly requestId: string;
  /** X-Ray or W3C trace id, when the caller sent one. */
  readonly traceId: string | undefined;
  /** The handler's name in metrics and spans. */
  readonly operationName: string;
  /** Whether this is the first invocation of the process. */
  readonly coldStart: boolean;
  /** Epoch milliseconds at which the handler's time is up, when the platform says. */
  readonly deadlineMs: number | undefined;
  /** Aborted when the time is up: hand it to `fetch` and to whatever else can be cancelled. */
  readonly signal: AbortSignal;
}

/**
 * The request that the calling code works for. Its state lives in the invocation, one for each, also when several run
 * in one process.
 *
 * @returns The context, or `undefined` outside of a handler.
 *
 * @example
 * ```ts
 * import { getRequestContext } from "@trellis/fn/core";
 *
 * console.log(getRequestContext()?.correlationId); // undefined: no handler runs here
 * ```
 */
export function getRequestContext(): RequestContext | undefined {
  const invocation = currentInvocation();
  if (invocation === undefined) return undefined;
  const { correlationId, requestId, traceId, operationName, coldStart, deadlineMs } = invocation;
  return {
    correlationId,
    requestId,
    traceId,
    operationName,
    coldStart,
    deadlineMs,
    get signal(): AbortSignal {
      return (invocation.abort ??= new AbortController()).signal;
    },
  };
}

/**
 * Milliseconds until the invocation's time is up.
 *
 * @param nowMs Epoch milliseconds.
 * @returns 0 or more; `Infinity` outside of an invocation or when the platform sets no limit.
 */
export function remainingMs(nowMs: number = Date.now()): number {
  const deadlineMs = currentInvocation()?.deadlineMs;
  return deadlineMs === undefined ? Infinity : Math.max(0, deadlineMs - nowMs);
}
