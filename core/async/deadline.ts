import { DeadlineExceededError } from "../../errors/http_errors.ts";
import type { Invocation } from "../../observability/invocation.ts";
import {
  enableConcurrentInvocations,
  resumeInvocation,
  runOutsideInvocation,
} from "../../observability/invocation_context.ts";
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

interface Watch {
  readonly dueMs: number;
  readonly expire: () => void;
  /** Index in {@link watches}; -1 after it was removed. */
  at: number;
}

/**
 * The deadlines that are being watched, by one shared timer. In a Lambda sandbox (`keepTimer`) it stays armed between
 * invocations, so that most calls start no timer: it fires before the new deadline, and is then armed again.
 *
 * Not a Set: each time it replaces its table, V8 links the former one to the new one, so that an old table keeps the
 * requests of all later ones in memory until the next full collection.
 */
const watches: Watch[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;
let timerDueMs = Infinity;

/**
 * Waits for the result of `work` until the deadline of the invocation. The work itself cannot be stopped, but the
 * signal of the invocation is aborted. The steps that follow are parameters, because each link of a chain of promises
 * takes another promise.
 *
 * @param invocation The invocation that `work` belongs to.
 * @param work A promise, or anything else that can be awaited.
 * @param read Called with the result, as part of the invocation.
 * @param recover Called with the error of the work or of the deadline, as part of the invocation.
 * @returns The result of `read` or `recover`, by default that of `work`.
 * @throws {DeadlineExceededError} If the deadline passes first.
 */
export function withinDeadline<T, R = T>(
  invocation: Invocation,
  work: PromiseLike<T>,
  read: (value: T) => R = asItIs,
  recover: (error: unknown) => R = rethrow,
): Promise<R> {
  const { deadlineMs, settings } = invocation;
  if (deadlineMs === undefined) {
    return Promise.resolve(work).then(
      (value) => resumeInvocation(invocation, () => read(value)),
      (error) => resumeInvocation(invocation, () => recover(error)),
    );
  }
  return raceDeadline(
    work,
    deadlineMs,
    settings.fixed,
    () => {
      // the work continues next to the following invocation
      enableConcurrentInvocations();
      // the timer belongs to no invocation, but listeners of the signal must log as part of this one
      resumeInvocation(invocation, () => invocation.expire());
    },
    (value) => resumeInvocation(invocation, () => read(value)),
    (error) => resumeInvocation(invocation, () => recover(error)),
  );
}

function asItIs<R>(value: unknown): R {
  return value as R;
}

function rethrow(error: unknown): never {
  throw error;
}

/**
 * Waits for the result of `work` until a deadline.
 *
 * @param work A promise, or anything else that can be awaited.
 * @param dueMs The deadline, on the clock of `performance.now()`. The wall clock can be set back.
 * @param keepTimer True if the shared timer may stay armed after this call.
 * @param onExpire Called if the deadline passes first.
 * @param read Called with the result of `work`, unless the deadline has passed.
 * @param recover Called with the error of `work`, or with that of the deadline.
 * @returns The result of `read` or `recover`, by default that of `work`.
 * @throws {DeadlineExceededError} If the deadline passes first.
 */
export function raceDeadline<T, R = T>(
  work: PromiseLike<T>,
  dueMs: number,
  keepTimer: boolean,
  onExpire: () => void,
  read: (value: T) => R = asItIs,
  recover: (error: unknown) => R = rethrow,
): Promise<R> {
  return new Promise<R>((resolve, reject) => {
    const watch: Watch = {
      dueMs,
      expire(): void {
        onExpire();
        settle(recover, new DeadlineExceededError(), resolve, reject);
      },
      at: watches.length,
    };
    watches.push(watch);
    if (dueMs < timerDueMs) arm(dueMs);
    work.then(
      (value) => {
        if (stopWatching(watch, keepTimer)) settle(read, value, resolve, reject);
      },
      (error) => {
        if (stopWatching(watch, keepTimer)) settle(recover, error, resolve, reject);
      },
    );
  });
}

/** Settles a promise with the result of a step. */
function settle<V, R>(
  step: (value: V) => R,
  value: V,
  resolve: (result: R) => void,
  reject: (error: unknown) => void,
): void {
  try {
    resolve(step(value));
  } catch (error) {
    reject(error);
  }
}

/** Ends a watch. Returns false if its deadline has passed. */
function stopWatching(watch: Watch, keepTimer: boolean): boolean {
  const isWatched = watch.at !== -1;
  remove(watch);
  if (watches.length === 0 && !keepTimer) disarm();
  return isWatched;
}

function remove(watch: Watch): void {
  if (watch.at === -1) return;
  // the last one takes its place
  const last = watches.pop()!;
  if (last !== watch) watches[last.at = watch.at] = last;
  watch.at = -1;
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
 * Expires the watches of the earliest deadline. Later deadlines are handled in a later turn, even if the process was busy
 * until after both, so that the records of a batch are reported before the batch itself fails.
 */
function expireDue(): void {
  timer = undefined;
  timerDueMs = Infinity;
  const earliestMs = getEarliest();
  const isDue = earliestMs <= performance.now();
  const due = isDue ? watches.filter(({ dueMs }) => dueMs <= earliestMs) : [];
  for (const watch of due) {
    // another one may have ended it
    if (watch.at === -1) continue;
    remove(watch);
    watch.expire();
  }
  const nextMs = getEarliest();
  if (nextMs < timerDueMs) arm(nextMs);
}

/** Not `Math.min(...)`: the arguments of a call are on the stack, and there may be many watches. */
function getEarliest(): number {
  return watches.reduce((earliest, { dueMs }) => Math.min(earliest, dueMs), Infinity);
}
