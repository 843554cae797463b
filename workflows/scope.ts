import type { AsyncLocalStorage } from "node:async_hooks";
import { builtinModule } from "../env/builtin_module.ts";

/** State of an operation. A `given` one is a member of `all`; a `waiting` one needs a later turn, or its members. */
export type OperationState = "new" | "given" | "executing" | "waiting" | "settled";

/** What a turn wants to know about its operations. */
export interface OperationObserver {
  /** Called when a scope may wait for a later turn only. */
  onProgress(): void;
  /** Called when the code of the workflow uses operations wrongly. */
  onMisuse(message: string): void;
}

/** A part of a workflow whose operations follow each other: the workflow itself, or a branch of `all`. */
export class Scope {
  /** Prefix of the keys of its operations. */
  readonly path: string;
  /** Time of the last result, in epoch milliseconds. */
  lastMs: number;
  /** True for the part that takes steps back. */
  readonly isUndo: boolean;
  /** Operations that have not settled, in the order in which they were created. */
  readonly open: Set<Operation<unknown>> = new Set();
  /** Number of the next operation. */
  next = 0;
  #random: (() => number) | undefined;

  /**
   * @param path Prefix of the keys.
   * @param lastMs Time at which it begins.
   * @param isUndo True for the part that takes steps back.
   */
  constructor(path: string, lastMs: number, isUndo = false) {
    this.path = path;
    this.lastMs = lastMs;
    this.isUndo = isUndo;
  }

  /** Returns the key of the operation with a number. */
  key(at: number = this.next): string {
    return this.path + String(at).padStart(5, "0");
  }

  /** Returns true if nothing can run before a later turn. */
  isStuck(): boolean {
    let waits = false;
    for (const { state } of this.open) {
      if (state === "executing") return false;
      waits ||= state === "waiting";
    }
    return waits;
  }

  /** Returns a number from 0 to below 1, the same in each replay. */
  random(id: string): number {
    this.#random ??= createRandom(id, this.path);
    return this.#random();
  }
}

/** Result of an operation that begins when it is awaited, so that a missing `await` is noticed. */
export class Operation<T> implements Promise<T> {
  /** Description for messages: `step "create"`. */
  readonly label: string;
  /** How far it is. */
  state: OperationState = "new";
  readonly #scope: Scope;
  readonly #observer: OperationObserver;
  readonly #execute: (operation: Operation<T>) => void;
  readonly #promise: Promise<T>;
  #resolve!: (value: T) => void;
  #reject!: (error: unknown) => void;

  /**
   * @param scope The scope that it belongs to.
   * @param label Description for messages.
   * @param observer The turn.
   * @param execute Begins the work, which ends in {@link resolve}, {@link reject} or {@link wait}.
   */
  constructor(
    scope: Scope,
    label: string,
    observer: OperationObserver,
    execute: (operation: Operation<T>) => void,
  ) {
    this.label = label;
    this.#scope = scope;
    this.#observer = observer;
    this.#execute = execute;
    this.#promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // a member of all that fails is reported by all
    this.#promise.catch(() => {});
    for (const { state, label: other } of scope.open) {
      if (state !== "executing" && state !== "waiting") continue;
      observer.onMisuse(
        `${label} begins while ${other} has not ended. Await one after the other, or give functions to all: ` +
          "all([async () => …, async () => …])",
      );
    }
    scope.open.add(this as Operation<unknown>);
  }

  /** Begins the work. */
  start(): void {
    if (this.state !== "new" && this.state !== "given") return;
    for (const other of this.#scope.open) {
      if (other === this as Operation<unknown>) break;
      if (other.state === "new") {
        this.#observer.onMisuse(`${other.label} was not awaited before ${this.label}: write await`);
        return;
      }
    }
    this.state = "executing";
    this.#execute(this);
  }

  /**
   * Ends it with a result.
   *
   * @param value The result.
   * @param atMs Time of the result, in epoch milliseconds.
   */
  resolve(value: T, atMs: number): void {
    this.#settle(atMs);
    this.#resolve(value);
  }

  /**
   * Ends it with an error.
   *
   * @param error The error.
   * @param atMs Time of the error, in epoch milliseconds.
   */
  reject(error: unknown, atMs: number): void {
    this.#settle(atMs);
    this.#reject(error);
  }

  /** Waits for a later turn, or for its members. */
  wait(): void {
    this.state = "waiting";
    this.#observer.onProgress();
  }

  #settle(atMs: number): void {
    this.state = "settled";
    this.#scope.open.delete(this as Operation<unknown>);
    this.#scope.lastMs = Math.max(this.#scope.lastMs, atMs);
    this.#observer.onProgress();
  }

  then<R = T, E = never>(
    onFulfilled?: ((value: T) => R | PromiseLike<R>) | null,
    onRejected?: ((reason: unknown) => E | PromiseLike<E>) | null,
  ): Promise<R | E> {
    this.start();
    return this.#promise.then(onFulfilled, onRejected);
  }

  catch<E = never>(
    onRejected?: ((reason: unknown) => E | PromiseLike<E>) | null,
  ): Promise<T | E> {
    return this.then(undefined, onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<T> {
    this.start();
    return this.#promise.finally(onFinally);
  }

  get [Symbol.toStringTag](): string {
    return "Operation";
  }
}

/** What the running code of a workflow belongs to: a scope, or the function of a step. */
export interface Place {
  /** The scope. */
  readonly scope: Scope;
  /** Name of the step whose function runs. */
  readonly step?: string;
}

let storage: AsyncLocalStorage<Place> | undefined;

/** Returns the place of the calling code. */
export function currentPlace(): Place | undefined {
  return storage?.getStore();
}

/** Runs a function at a place: all that it calls and awaits finds it with {@link currentPlace}. */
export function runAt<T>(place: Place, fn: () => T): T {
  storage ??= new (builtinModule("node:async_hooks")!.AsyncLocalStorage)();
  return storage.run(place, fn);
}

/** Creates the generator sfc32 (PractRand, Chris Doty-Humphrey), with the id of the workflow as its seed. */
function createRandom(id: string, path: string): () => number {
  const hex = id.replaceAll("-", "");
  let [a, b, c, d] = [0, 8, 16, 24].map((at) => parseInt(hex.slice(at, at + 8), 16) | 0);
  for (const letter of path) d = Math.imul(d ^ letter.charCodeAt(0), 0x01000193);
  function next(): number {
    const sum = (a + b | 0) + d | 0;
    d = d + 1 | 0;
    a = b ^ b >>> 9;
    b = c + (c << 3) | 0;
    c = (c << 21 | c >>> 11) + sum | 0;
    return (sum >>> 0) / 2 ** 32;
  }
  // the first numbers still resemble the seed
  for (let n = 0; n < 12; n++) next();
  return next;
}
