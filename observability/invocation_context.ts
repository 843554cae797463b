import type { AsyncLocalStorage } from "node:async_hooks";
import { builtinModule } from "../env/builtin_module.ts";
import { runtimeProcess } from "../env/node_process.ts";
import type { Invocation } from "./invocation.ts";

/** Finds the invocation of the running code by its asynchronous context. */
let storage: AsyncLocalStorage<Invocation | undefined> | undefined;

/**
 * Holds the invocation in two cases only: for a whole invocation where the settings say `singleConcurrency`, and during
 * synchronous code on a runtime that has no AsyncLocalStorage.
 */
let slot: Invocation | undefined;

/** Invocations that wait for their work, to be written when the process exits. A Set would cost each of them 0.1 µs. */
const pending: Invocation[] = [];
let watchesExit = false;

/**
 * Returns the invocation that the calling code belongs to.
 *
 * @returns The invocation, or `undefined` outside of one.
 */
export function currentInvocation(): Invocation | undefined {
  if (refuseRead !== undefined) refuseRead();
  return storage === undefined ? slot : storage.getStore() ?? slot;
}

/**
 * Runs a function as part of an invocation: everything that it calls and awaits finds it with
 * {@link currentInvocation}. What was collected is written when the work ends, also when it throws.
 *
 * @param invocation The invocation, not running yet.
 * @param fn The work. It begins at once, and where it waits for nothing it also ends at once.
 * @returns What `fn` returns.
 */
export function enterInvocation<I extends Invocation, T>(
  invocation: I,
  fn: (invocation: I) => T | Promise<T>,
): Promise<T> {
  if (!watchesExit) watchExit();
  if (storage === undefined && !invocation.settings.singleConcurrency) {
    enableConcurrentInvocations();
  }
  const outer = slot;
  let result: T | Promise<T>;
  try {
    result = begin(invocation, fn);
  } catch (error) {
    end(invocation, outer);
    return Promise.reject(error);
  }
  if (isThenable(result)) return endAfter(result, invocation, outer);
  end(invocation, outer);
  return Promise.resolve(result);
}

function begin<I extends Invocation, T>(invocation: I, fn: (invocation: I) => T): T {
  if (storage !== undefined && slot === undefined) return storage.run(invocation, fn, invocation);
  if (storage !== undefined || !invocation.settings.singleConcurrency) {
    return runAs(invocation, () => fn(invocation));
  }
  slot = invocation;
  return fn(invocation);
}

function endAfter<T>(
  result: PromiseLike<T>,
  invocation: Invocation,
  outer: Invocation | undefined,
): Promise<T> {
  invocation.pendingAt = pending.push(invocation) - 1;
  return Promise.resolve(result).then(
    (value) => {
      endPending(invocation, outer);
      return value;
    },
    (error) => {
      endPending(invocation, outer);
      throw error;
    },
  );
}

function endPending(invocation: Invocation, outer: Invocation | undefined): void {
  // the last one takes its place
  const last = pending.pop()!;
  if (last !== invocation) pending[last.pendingAt = invocation.pendingAt] = last;
  end(invocation, outer);
}

function end(invocation: Invocation, outer: Invocation | undefined): void {
  // an invocation that ended must not be used for the next request
  if (slot === invocation) slot = outer?.ended ? undefined : outer;
  invocation.flush();
}

/**
 * Runs a function as part of an invocation that is under way, from code that may belong to another one: a timer that
 * several invocations share.
 *
 * @param invocation The invocation.
 * @param fn The function.
 * @returns What `fn` returns.
 */
export function resumeInvocation<T>(invocation: Invocation, fn: () => T): T {
  return currentInvocation() === invocation ? fn() : runAs(invocation, fn);
}

/**
 * Runs a function outside of any invocation. Use it to open what outlives a request, such as a connection or a shared
 * timer: its callbacks would run, and log, as part of the request that happened to come first.
 *
 * @param fn The function.
 * @returns What `fn` returns.
 *
 * @example
 * ```ts
 * import { logInfo, runOutsideInvocation } from "@trellis/fn/observability";
 *
 * const beat = runOutsideInvocation(() => setInterval(() => logInfo("alive"), 60_000)); // no request's correlation id
 * clearInterval(beat);
 * ```
 */
export function runOutsideInvocation<T>(fn: () => T): T {
  return currentInvocation() === undefined ? fn() : runAs(undefined, fn);
}

/** Runs a function with an invocation, or none, as the current one. */
function runAs<T>(invocation: Invocation | undefined, fn: () => T): T {
  if (storage !== undefined && slot === undefined) return storage.run(invocation, fn);
  const outer = slot;
  slot = storage === undefined ? invocation : undefined;
  try {
    return storage === undefined ? fn() : storage.run(invocation, fn);
  } finally {
    slot = outer;
  }
}

/** Called for each read of a context; set by {@link withoutContext}. */
let refuseRead: (() => never) | undefined;

/**
 * Runs synchronous work that must not depend on the request that happens to run it. Until it returns,
 * reading an invocation or any `AsyncLocalStorage` throws.
 *
 * @param refuse Throws.
 * @param fn The work.
 * @returns What `fn` returns.
 */
export function withoutContext<T>(refuse: () => never, fn: () => T): T {
  const prototype = builtinModule("node:async_hooks")?.AsyncLocalStorage.prototype;
  const getStore = prototype?.getStore;
  const outer = refuseRead;
  refuseRead = refuse;
  if (prototype !== undefined) prototype.getStore = refuse;
  try {
    return fn();
  } finally {
    refuseRead = outer;
    if (getStore !== undefined) prototype!.getStore = getStore;
  }
}

/**
 * Finds each invocation by its asynchronous context from now on, also where the settings say `singleConcurrency`: for work that
 * overlaps. It does nothing on a runtime without AsyncLocalStorage.
 */
export function enableConcurrentInvocations(): void {
  if (storage !== undefined) return;
  const hooks = builtinModule("node:async_hooks");
  if (hooks !== undefined) storage = new hooks.AsyncLocalStorage();
}

/** Returns whether a value has to be waited for: a promise, or something like a query that is run by awaiting it. */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | null | undefined)?.then === "function";
}

/** Writes what was logged so far when the process ends in the middle of an invocation. */
function watchExit(): void {
  watchesExit = true;
  runtimeProcess?.once?.("exit", function flushOpenInvocations(): void {
    currentInvocation()?.flush();
    for (const invocation of pending) invocation.flush();
  });
}
