import { currentInvocation } from "../observability/invocation_context.ts";
import { limitRequest } from "../env/limit_request.ts";
import { type Clock, systemClock } from "./async/clock.ts";

/** The request that code below a handler works for. */
export interface RequestContext {
  /** Goes through logs, responses and calls to others. */
  readonly correlationId: string;
  /** Lambda's id of this invocation. */
  readonly requestId: string;
  /** X-Ray or W3C trace id, when the caller sent one. */
  readonly traceId: string | undefined;
  /** The handler's name in metrics and spans. */
  readonly operationName: string;
  /** True for the first invocation of the process. */
  readonly coldStart: boolean;
  /**
   * Epoch milliseconds at which the handler's time is up, `undefined` without a limit. To find out what is left use
   * {@link remainingMs}: the clock may have been set since.
   */
  readonly deadlineMs: number | undefined;
  /** Aborted when the time is up: pass it to `fetch` and to other work that can be cancelled. */
  readonly signal: AbortSignal;
}

/**
 * Returns the request that the calling code works for, also when several run in one process: it is found by the
 * asynchronous context. On a runtime without AsyncLocalStorage, which Node, Deno and Bun have, it is found while one
 * request runs, and not while several do.
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
  const { correlationId, requestId, traceId, operationName, coldStart } = invocation;
  return {
    correlationId,
    requestId,
    traceId,
    operationName,
    coldStart,
    deadlineMs: invocation.deadlineEpochMs,
    get signal(): AbortSignal {
      return (invocation.abort ??= new AbortController()).signal;
    },
  };
}

/**
 * Returns the milliseconds until the invocation's time is up, on a clock that is never set back.
 *
 * @param clock A test's clock, or epoch milliseconds, to measure from instead.
 * @returns 0 or more; `Infinity` outside of an invocation or when the platform sets no limit.
 */
export function remainingMs(clock: Clock | number = systemClock): number {
  const invocation = currentInvocation();
  if (invocation?.deadlineMs === undefined) return Infinity;
  if (clock === systemClock) return Math.max(0, invocation.deadlineMs - performance.now());
  return Math.max(
    0,
    invocation.deadlineEpochMs! - (typeof clock === "number" ? clock : clock.now()),
  );
}

/** Time in which an invocation responds after {@link beforeDeadline}. */
const RESPONSE_MS = 100;

/**
 * Waits for work that follows a committed effect. It ends before the deadline, because the request has succeeded: a caller that got
 * a 504 would send it again.
 *
 * @param service Who answers, for the message.
 * @param work The work. It may continue after the error.
 * @returns The result of the work.
 * @throws {ServiceUnavailableError} If the work has not ended shortly before the deadline.
 */
export function beforeDeadline<T>(service: string, work: () => Promise<T>): Promise<T> {
  const leftMs = remainingMs();
  if (leftMs === Infinity) return work();
  const limitMs = Math.round(Math.max(0, leftMs - RESPONSE_MS));
  return limitRequest({ service, limitMs }, work);
}
