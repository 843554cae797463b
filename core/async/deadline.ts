import { DeadlineExceededError } from "../../errors/http_errors.ts";
import type { Invocation } from "../../observability/invocation.ts";
import {
  enableConcurrentInvocations,
  resumeInvocation,
  runOutsideInvocation,
} from "../../observability/invocation_context.ts";
import type { LambdaContext } from "../http/lambda.ts";

/** Time kept back to answer and to write the log, in milliseconds. */
const MARGIN_MS = 250;

/**
 * Returns when a handler must answer so that the platform does not end it in the middle: shortly before its time is up.
 *
 * @param context Lambda's context.
 * @param nowMs Milliseconds on any clock.
 * @returns Milliseconds on the same clock, or `undefined` when the context tells no time that is left.
 */
export function getDeadline(context: LambdaContext | undefined, nowMs: number): number | undefined {
  const remaining = context?.getRemainingTimeInMillis?.();
  if (remaining === undefined || !(remaining > 0)) return undefined;
  return nowMs + remaining - Math.min(MARGIN_MS, remaining / 4);
}

/** Timers take 31 bits; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

interface Watch {
  dueMs: number;
  expire: () => void;
}

/**
 * All running invocations share one timer. Where `keepTimer` says that it may stay armed between invocations (a
 * Lambda sandbox), a call costs no timer at all: the one that is armed is due before the new deadline and looks again.
 */
const watches: Set<Watch> = new Set();
let timer: ReturnType<typeof setTimeout> | undefined;
let timerDueMs = Infinity;

/**
 * Returns the result of `work`, or rejects when the invocation's deadline passes first. The work cannot be stopped: the
 * invocation's signal is aborted.
 *
 * @param invocation The invocation that `work` belongs to.
 * @param work What is under way.
 * @returns What `work` resolves to.
 * @throws {DeadlineExceededError} When the deadline passes first.
 */
export function settleInTime<T>(invocation: Invocation, work: PromiseLike<T>): PromiseLike<T> {
  const { deadlineMs, settings } = invocation;
  if (deadlineMs === undefined) return work;
  return raceDeadline(work, deadlineMs, settings.fixed, function expire(): void {
    // the work goes on beside the next invocation
    enableConcurrentInvocations();
    // the timer belongs to no invocation; listeners of the signal must log as part of this one
    resumeInvocation(invocation, () => invocation.expire());
  });
}

/**
 * Returns the result of `work`, or rejects when the deadline passes first.
 *
 * @param work What is under way.
 * @param dueMs The deadline, on the clock of `performance.now()`: the wall clock can be set back.
 * @param keepTimer Whether the shared timer may outlive this call.
 * @param onExpire Called when the deadline passes first.
 * @returns What `work` resolves to.
 * @throws {DeadlineExceededError} When the deadline passes first.
 */
export function raceDeadline<T>(
  work: PromiseLike<T>,
  dueMs: number,
  keepTimer: boolean,
  onExpire: () => void,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const watch: Watch = {
      dueMs,
      expire(): void {
        onExpire();
        reject(new DeadlineExceededError());
      },
    };
    function settle(done: () => void): void {
      watches.delete(watch);
      if (watches.size === 0 && !keepTimer) disarm();
      done();
    }
    watches.add(watch);
    if (dueMs < timerDueMs) arm(dueMs);
    work.then((value) => settle(() => resolve(value)), (error) => settle(() => reject(error)));
  });
}

function arm(dueMs: number): void {
  disarm();
  timerDueMs = dueMs;
  const delayMs = Math.min(Math.max(0, dueMs - performance.now()), MAX_TIMER_MS);
  timer = runOutsideInvocation(() => setTimeout(expireDue, delayMs));
  // an armed timer must not keep a process alive
  (timer as { unref?: () => void }).unref?.();
}

function disarm(): void {
  if (timer !== undefined) clearTimeout(timer);
  timer = undefined;
  timerDueMs = Infinity;
}

/**
 * Expires what is due at the earliest deadline. Later ones get a turn of their own, even when the process was busy past
 * both: the records of a batch are reported before the batch itself is given up.
 */
function expireDue(): void {
  timer = undefined;
  timerDueMs = Infinity;
  const earliestMs = Math.min(...dueTimes());
  const isDue = earliestMs <= performance.now();
  for (const watch of watches) {
    if (!isDue || watch.dueMs > earliestMs) continue;
    watches.delete(watch);
    watch.expire();
  }
  const nextMs = Math.min(...dueTimes());
  if (nextMs < timerDueMs) arm(nextMs);
}

function dueTimes(): number[] {
  return Array.from(watches, ({ dueMs }) => dueMs);
}
