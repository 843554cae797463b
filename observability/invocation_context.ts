import type { AsyncLocalStorage } from "node:async_hooks";
import { builtinModule, runtimeProcess } from "../env/builtin_module.ts";
import type { Invocation } from "./invocation.ts";

/** What is used of `AsyncLocalStorage`. */
type Storage<T> = Pick<AsyncLocalStorage<T>, "run" | "getStore">;

/**
 * Replaces `AsyncLocalStorage` on runtimes without it. Between the steps of asynchronous work it has a value only while
 * no other work is under way.
 */
class SequentialStorage<T> {
  #value: T | undefined;
  readonly #pending: Set<object> = new Set();
  #only: T | undefined;

  run<R>(value: T, fn: () => R): R {
    const outer = this.#value;
    this.#value = value;
    let result: R;
    try {
      result = fn();
    } finally {
      this.#value = outer;
    }
    if (result instanceof Promise && value !== undefined) this.#keep(value, result);
    return result;
  }

  getStore(): T | undefined {
    return this.#value ?? (this.#pending.size === 1 ? this.#only : undefined);
  }

  #keep(value: T, work: Promise<unknown>): void {
    this.#pending.add(work);
    this.#only = this.#pending.size === 1 ? value : undefined;
    const end = () => {
      this.#pending.delete(work);
      if (this.#pending.size === 0) this.#only = undefined;
    };
    work.then(end, end);
  }
}

/** Finds the invocation of the running code by its asynchronous context. Loaded by the first invocation. */
let storage: Storage<Invocation | undefined> | undefined;

/** Invocations that wait for their work, to be written when the process exits. */
const pending: Set<Invocation> = new Set();
let watchesExit = false;

/**
 * Returns the invocation that the calling code belongs to.
 *
 * @returns The invocation, or `undefined` outside of one.
 */
export function currentInvocation(): Invocation | undefined {
  return storage?.getStore();
}

/**
 * Runs a function as part of an invocation: everything that it calls and awaits finds it with
 * {@link currentInvocation}. What was collected is written when the work ends, also when it throws.
 *
 * @param invocation The invocation, not running yet.
 * @param fn The work. It begins at once.
 * @returns What `fn` returns.
 */
export async function enterInvocation<I extends Invocation, T>(
  invocation: I,
  fn: (invocation: I) => T | Promise<T>,
): Promise<T> {
  if (!watchesExit) watchExit();
  pending.add(invocation);
  try {
    return await resumeInvocation(invocation, () => fn(invocation));
  } finally {
    pending.delete(invocation);
    invocation.flush();
  }
}

/**
 * Runs a function as part of an invocation that is under way, from code that may belong to another one: a connection that
 * several invocations share.
 *
 * @param invocation The invocation.
 * @param fn The function.
 * @returns What `fn` returns.
 */
export function resumeInvocation<T>(invocation: Invocation, fn: () => T): T {
  return openStorage().run(invocation, fn);
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
  return storage === undefined ? fn() : storage.run(undefined, fn);
}

/**
 * Runs synchronous work that must not depend on the request that happens to run it. Until it returns,
 * reading an invocation or any `AsyncLocalStorage` throws.
 *
 * @param refuse Throws.
 * @param fn The work.
 * @returns What `fn` returns.
 */
export function withoutContext<T>(refuse: () => never, fn: () => T): T {
  const prototype = Object.getPrototypeOf(openStorage());
  const { getStore } = prototype;
  prototype.getStore = refuse;
  try {
    return fn();
  } finally {
    prototype.getStore = getStore;
  }
}

function openStorage(): Storage<Invocation | undefined> {
  return storage ??= createStorage();
}

function createStorage(): Storage<Invocation | undefined> {
  const hooks = builtinModule("node:async_hooks");
  return hooks === undefined ? new SequentialStorage() : new hooks.AsyncLocalStorage();
}

/** Writes what was logged so far when the process ends in the middle of an invocation. */
function watchExit(): void {
  watchesExit = true;
  runtimeProcess?.once?.("exit", function flushOpenInvocations(): void {
    for (const invocation of pending) invocation.flush();
  });
}
