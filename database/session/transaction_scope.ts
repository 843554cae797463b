import type { AsyncLocalStorage } from "node:async_hooks";
import { builtinModule } from "../../env/builtin_module.ts";
import type { Invocation } from "../../observability/invocation.ts";
import { currentInvocation } from "../../observability/invocation_context.ts";
import { Lease } from "./lease.ts";

/** Storage of the current transaction; created by the first transaction. */
let storage: AsyncLocalStorage<TransactionScope> | undefined;

/** Transaction in progress: the lease of its client, and the code that belongs to it. */
export class TransactionScope {
  /** Pool that provides the transaction's connection. */
  readonly pool: object;
  /** Lease of the transaction's client. */
  readonly lease: Lease = new Lease();
  /** Invocation that began the transaction. */
  readonly invocation: Invocation | undefined = currentInvocation();
  /** Outer transaction, on the same or another database. */
  readonly outer: TransactionScope | undefined = storage?.getStore();
  /**
   * Start of the work on the clock of `performance.now()`; `undefined` while it waits for a
   * connection.
   */
  beganAtMs: number | undefined;
  /** Number of queries within the work that wait for another connection of the same pool. */
  innerWaiters = 0;

  /**
   * @param pool The pool that provides the transaction's connection.
   */
  constructor(pool: object) {
    this.pool = pool;
  }

  /**
   * Runs the work of the transaction, within which {@link currentScope} finds it.
   *
   * @param work The work.
   * @returns The result of the work.
   */
  run<T>(work: () => Promise<T>): Promise<T> {
    this.beganAtMs = performance.now();
    storage ??= new (builtinModule("node:async_hooks")!.AsyncLocalStorage)();
    return this.lease.use(() => storage!.run(this, work));
  }
}

/**
 * Returns the transaction on a pool that the calling code belongs to.
 *
 * @returns The innermost transaction whose work has not ended.
 */
export function currentScope(pool: object): TransactionScope | undefined {
  let scope = storage?.getStore();
  while (scope !== undefined && (scope.pool !== pool || scope.lease.hasEnded)) scope = scope.outer;
  return scope;
}
