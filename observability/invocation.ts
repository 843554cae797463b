import type { AsyncLocalStorage } from "node:async_hooks";
import { builtinModule, runtimeProcess } from "../env/mod.ts";
import type { MetricGroup } from "./metric_group.ts";
import { writeOutput } from "./output.ts";
import { getSettings, type ObservabilitySettings } from "./settings.ts";
import type { Span } from "./span.ts";

/** What starts an {@link Invocation}. */
export interface InvocationStart {
  /** Goes through logs, responses and calls to others. */
  correlationId: string;
  /** Lambda's id of this invocation. */
  requestId: string;
  /** X-Ray or W3C trace id, when the caller sent one. */
  traceId: string | undefined;
  /** The caller's span, when it sent one. */
  parentSpanId?: string;
  /** Whether the caller records the trace, when it said so. */
  sampled?: boolean;
  /** The name that metrics and spans carry. */
  operationName: string;
  /** Lambda's name of the function. */
  functionName: string | undefined;
  /** Whether this is the first invocation of the process. */
  coldStart: boolean;
}

/**
 * The state of one invocation, and all of it: nothing else in the package keeps any. Log lines and metrics collect
 * here and leave in one write.
 */
export class Invocation {
  /** Goes through logs, responses and calls to others. */
  readonly correlationId: string;
  /** Lambda's id of this invocation. */
  readonly requestId: string;
  /** X-Ray or W3C trace id, when the caller sent one. */
  readonly traceId: string | undefined;
  /** The caller's span, when it sent one. */
  readonly parentSpanId: string | undefined;
  /** Whether the caller records the trace, when it said so. */
  readonly sampled: boolean | undefined;
  /** The name that metrics and spans carry. */
  readonly operationName: string;
  /** Lambda's name of the function. */
  readonly functionName: string | undefined;
  /** Whether this is the first invocation of the process. */
  readonly coldStart: boolean;
  /** What the environment said when the invocation began. */
  readonly settings: ObservabilitySettings;
  /** Lines below this severity are left out. */
  level: number;
  /** Key names whose values this handler wants redacted, in lower case. */
  redact: ReadonlySet<string> | undefined = undefined;
  /** Constant fields of each log line, serialised: `,"team":"notes"`. */
  fields = "";
  /** The part of a log line that does not change during the invocation, once a line was written. */
  linePrefix: string | undefined = undefined;
  /** The span that new spans become children of. */
  span: Span | undefined = undefined;
  /** Metrics by dimension set. */
  metrics: Map<string, MetricGroup> | undefined = undefined;
  /** Dimensions that the handler added to its metrics. */
  dimensions: Record<string, string> | undefined = undefined;
  /** Turns the collected metrics into lines; set by the first metric. */
  renderMetrics: ((invocation: Invocation) => string) | undefined = undefined;
  /** The event and the headers that {@link correlationId} came from; read only by the layer that made the invocation. */
  event: unknown = undefined;
  /** Aborted when the deadline is near; made when somebody asks. */
  abort: AbortController | undefined = undefined;
  /** The invocation that this one runs inside of, where one slot holds both; read only by this file. */
  outer: Invocation | undefined = undefined;
  #onAbandon: Set<() => void> | undefined = undefined;
  #deadlineMs: number | undefined = undefined;
  #lines = "";
  #ended = false;

  /** @param start What is known when an invocation begins. */
  constructor(start: InvocationStart) {
    this.correlationId = start.correlationId;
    this.requestId = start.requestId;
    this.traceId = start.traceId;
    this.parentSpanId = start.parentSpanId;
    this.sampled = start.sampled;
    this.operationName = start.operationName;
    this.functionName = start.functionName;
    this.coldStart = start.coldStart;
    this.settings = getSettings();
    this.level = this.settings.level;
  }

  /** Epoch milliseconds after which there is no time left, when the platform says. */
  get deadlineMs(): number | undefined {
    return this.#deadlineMs;
  }

  set deadlineMs(deadlineMs: number | undefined) {
    this.#deadlineMs = deadlineMs;
  }

  /**
   * Has a function called when the invocation is given up at its deadline: its work goes on, but nobody waits for it. For what comes
   * with each query: a listener of {@link abort}'s signal is told the same, and made a query 16 µs slower.
   *
   * @param callback Called once; it must not throw.
   * @returns Forgets the function again.
   */
  onAbandon(callback: () => void): () => void {
    const callbacks = this.#onAbandon ??= new Set();
    callbacks.add(callback);
    return function forget(): void {
      callbacks.delete(callback);
    };
  }

  /** Gives it up. */
  abandon(): void {
    this.abort?.abort();
    const callbacks = this.#onAbandon;
    this.#onAbandon = undefined;
    for (const callback of callbacks ?? []) callback();
  }

  /** Whether it was written: work that goes on after the answer has nobody who writes for it later. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Keeps a whole line until {@link flush}; after that it is written at once. */
  append(line: string): void {
    this.#lines += line;
    if (this.#ended || this.#lines.length > MAX_BUFFERED) this.#writeLines();
  }

  /** Writes what was collected, in one write. */
  flush(): void {
    this.#ended = true;
    if (this.renderMetrics !== undefined) this.#lines += this.renderMetrics(this);
    this.#writeLines();
  }

  #writeLines(): void {
    if (this.#lines === "") return;
    const lines = this.#lines;
    this.#lines = "";
    writeOutput(lines);
  }
}

/** Characters after which an invocation that logs a lot writes in between. */
const MAX_BUFFERED = 64 * 1024;

/** Where one invocation at a time is promised; on Node 20 AsyncLocalStorage makes every promise about 3 times slower. */
let slot: Invocation | undefined;
let storage: AsyncLocalStorage<Invocation> | undefined;
/** Those that are found by their asynchronous context. */
const open: Set<Invocation> = new Set();
let watchesExit = false;

/**
 * The invocation that the calling code belongs to.
 *
 * @returns The invocation, or `undefined` outside of one.
 */
export function currentInvocation(): Invocation | undefined {
  return storage?.getStore() ?? slot;
}

/**
 * Runs a function as part of an invocation: everything that it calls and awaits finds it with {@link currentInvocation}.
 * What was collected is written when it ends, also when it throws.
 *
 * @param invocation The invocation, not running yet.
 * @param fn The work. It begins at once, and where it waits for nothing it also ends at once.
 * @param args Handed to `fn`.
 * @returns What `fn` returns.
 */
export function runInvocation<A extends unknown[], T>(
  invocation: Invocation,
  fn: (...args: A) => T | Promise<T>,
  ...args: A
): Promise<T> {
  return enterInvocation(invocation, () => fn(...args));
}

/**
 * {@link runInvocation} for work that needs nothing but the invocation: it makes no closure and no list of arguments.
 *
 * @param invocation The invocation, not running yet.
 * @param fn The work.
 * @returns What `fn` returns.
 */
export function enterInvocation<I extends Invocation, T>(
  invocation: I,
  fn: (invocation: I) => T | Promise<T>,
): Promise<T> {
  if (!watchesExit) watchExit();
  if (storage !== undefined || !invocation.settings.oneAtATime) return enterStorage(invocation, fn);
  invocation.outer = slot;
  slot = invocation;
  let result: T | Promise<T>;
  try {
    result = fn(invocation);
  } catch (error) {
    leaveSlot(invocation);
    return Promise.reject(error);
  }
  if (isThenable(result)) return leaveSlotAfter(result, invocation);
  leaveSlot(invocation);
  return Promise.resolve(result);
}

/** Whether a value has to be waited for: a promise, or something like a query that is run by awaiting it. */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | null | undefined)?.then === "function";
}

async function leaveSlotAfter<T>(pending: PromiseLike<T>, invocation: Invocation): Promise<T> {
  try {
    return await pending;
  } finally {
    leaveSlot(invocation);
  }
}

function leaveSlot(invocation: Invocation): void {
  slot = invocation.outer;
  invocation.flush();
}

async function enterStorage<I extends Invocation, T>(
  invocation: I,
  fn: (invocation: I) => T | Promise<T>,
): Promise<T> {
  open.add(invocation);
  try {
    allowOverlap();
    return await storage!.run(invocation, fn, invocation);
  } finally {
    open.delete(invocation);
    invocation.flush();
  }
}

/**
 * Says that work of an invocation goes on after its answer (it met its deadline), so that the promise of one
 * invocation at a time does not hold any more: from now on each finds its own state by its asynchronous context.
 */
export function allowOverlap(): void {
  storage ??= new (builtinModule("node:async_hooks")!.AsyncLocalStorage)();
}

/** A process that ends in the middle of an invocation (an unhandled rejection, `process.exit`) still tells what it logged. */
function watchExit(): void {
  watchesExit = true;
  runtimeProcess?.once("exit", function flushOpenInvocations(): void {
    for (let invocation = slot; invocation !== undefined; invocation = invocation.outer) invocation.flush();
    for (const invocation of open) invocation.flush();
  });
}
