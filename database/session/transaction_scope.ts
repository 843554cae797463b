import type { AsyncLocalStorage } from "node:async_hooks";
import { builtinModule } from "../../env/builtin_module.ts";
import type { Invocation } from "../../observability/invocation.ts";
import { currentInvocation } from "../../observability/invocation_context.ts";
import { Lease } from "./lease.ts";

/** Finds the transaction that the calling code is a part of; made by the first transaction. */
let storage: AsyncLocalStorage<TransactionScope> | undefined;

/** A transaction: the time in which its client may be used, and the code that is a part of it. */
export class TransactionScope {
  /** The pool that the transaction takes a connection of. */
  readonly pool: object;
  /** The time in which the transaction's client may be used. */
  readonly lease: Lease = new Lease();
  /** The invocation that began the transaction. */
  readonly invocation: Invocation | undefined = currentInvocation();
  /** The transaction around this one, on the same database or another. */
  readonly outer: TransactionScope | undefined = storage?.getStore();
  /** When the work began, as `performance.now()` counts; `undefined` while there is no connection yet. */
  beganAtMs: number | undefined;
  /** Queries of the work that wait for another connection of the same pool. */
  innerWaiters = 0;

  /** @param pool The pool that the transaction takes a connection of. */
  constructor(pool: object) {
    this.pool = pool;
  }

  /**
   * Runs the work of the transaction, so that {@link currentScope} finds the transaction in it.
   *
   * @param work The work.
   * @returns What the work resolves to.
   */
  run<T>(work: () => Promise<T>): Promise<T> {
    this.beganAtMs = performance.now();
    // one invocation at a time was promised, so that promises need not carry their context
    if (storage === undefined && this.invocation?.settings.singleConcurrency !== true) {
      storage = createStorage();
    }
    return this.lease.use(() => storage === undefined ? work() : storage.run(this, work));
  }
}

function createStorage(): typeof storage {
  const hooks = builtinModule("node:async_hooks");
  return hooks === undefined ? undefined : new hooks.AsyncLocalStorage();
}

/**
 * Finds the transaction on a pool that the calling code is a part of.
 *
 * @param pool The pool.
 * @returns The innermost one whose work has not ended.
 */
export function currentScope(pool: object): TransactionScope | undefined {
  let scope = storage?.getStore();
  while (scope !== undefined && (scope.pool !== pool || scope.lease.hasEnded)) scope = scope.outer;
  return scope;
}
