import { DeadlineExceededError } from "../../errors/http_errors.ts";
import type { Invocation } from "../../observability/invocation.ts";
import type { Span } from "../../observability/span.ts";
import { listRunning } from "../../observability/tracer.ts";
import type { LambdaContext } from "../http/lambda.ts";

/** Time that is reserved to respond and to write the log, in milliseconds. */
const MARGIN_MS = 250;

/**
 * Returns the time at which a handler must respond: shortly before the platform ends the invocation.
 *
 * @param context Lambda's context.
 * @param nowMs Milliseconds on any clock.
 * @returns Milliseconds on the same clock, or `undefined` if the context has no remaining time.
 */
export function getDeadline(context: LambdaContext | undefined, nowMs: number): number | undefined {
  const remaining = context?.getRemainingTimeInMillis?.();
  if (remaining === undefined || !(remaining > 0)) return undefined;
  return nowMs + remaining - Math.min(MARGIN_MS, remaining / 4);
}

/** A timer with a longer delay fires at once, because delays are 31-bit integers. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Waits for the result of `work` until the deadline of the invocation. The work itself cannot be stopped, but the
 * signal of the invocation is aborted.
 *
 * @param invocation The current invocation, which `work` belongs to.
 * @param work A promise.
 * @param span The span of the work.
 * @returns The result of the work.
 * @throws {DeadlineExceededError} If the deadline passes first.
 */
export async function withinDeadline<T>(
  invocation: Invocation,
  work: Promise<T>,
  span?: Span,
): Promise<T> {
  const { deadlineMs = Infinity } = invocation;
  const delayMs = Math.max(0, Math.ceil(deadlineMs - performance.now()));
  if (delayMs > MAX_TIMER_MS) return await work;
  let timer: ReturnType<typeof setTimeout>;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = explainDeadline(invocation, span);
      invocation.expire();
      reject(error);
    }, delayMs);
    // the timer must not keep a process alive
    (timer as { unref?: () => void }).unref?.();
  });
  return await Promise.race([work, deadline]).finally(() => clearTimeout(timer));
}

/** Names what the invocation was waiting for, which is the first question to its log line. */
function explainDeadline(invocation: Invocation, outer: Span | undefined): DeadlineExceededError {
  const running = listRunning(invocation, outer);
  if (running.length === 0) return new DeadlineExceededError();
  return new DeadlineExceededError(
    `The deadline of this invocation was reached, while running: ${running.join(", ")}`,
  );
}

/**
 * Rejects when a signal is aborted, so that a transaction that waits for it is rolled back.
 *
 * @param signal Signal of an attempt or a record.
 */
export function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(new DeadlineExceededError());
    signal.addEventListener("abort", () => reject(new DeadlineExceededError()), { once: true });
  });
}
