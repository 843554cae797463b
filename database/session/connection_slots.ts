import { DatabaseError } from "../../errors/database_errors.ts";
import { currentInvocation, runOutsideInvocation } from "../../observability/invocation_context.ts";
import { onDeadline } from "./deadline.ts";
import { waitedForIdle, waitsForItself } from "./misuse_messages.ts";
import type { AsyncLocalStorage } from "node:async_hooks";
import { builtinModule } from "../../env/builtin_module.ts";
import type { Invocation } from "../../observability/invocation.ts";
import { Lease } from "./lease.ts";

/** Options of {@link ConnectionSlots}. */
export interface SlotsOptions {
  /**
   * Milliseconds that a query waits for idle transactions before it is rejected.
   * @default 5000
   */
  patienceMs?: number;
  /**
   * Milliseconds between checks of waiting queries.
   * @default 500
   */
  lookMs?: number;
}

/** Query or transaction that waits for a connection. */
interface Waiter {
  /** Returns its name for errors. */
  readonly what: () => string;
  /** The transaction to begin, if it is a transaction. */
  readonly scope: TransactionScope | undefined;
  readonly invocation: object | undefined;
  readonly sinceMs: number;
  readonly start: () => void;
  readonly fail: (error: DatabaseError) => void;
}

/**
 * Counter of the transactions on a connection pool. While transactions hold all connections, other
 * queries wait here instead of in the driver. A query that would wait forever is detected and
 * rejected before it is sent.
 */
export class ConnectionSlots {
  readonly #max: number;
  readonly #patienceMs: number;
  readonly #lookMs: number;
  readonly #scopes: Set<TransactionScope> = new Set();
  readonly #waiters: Set<Waiter> = new Set();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * @param max Number of connections in the pool.
   * @param options Time limits of waiting queries.
   */
  constructor(max: number, { patienceMs = 5000, lookMs = 500 }: SlotsOptions = {}) {
    this.#max = max;
    this.#patienceMs = patienceMs;
    this.#lookMs = lookMs;
  }

  /**
   * Waits while transactions hold all connections.
   *
   * @param what Returns the query's name for errors.
   * @returns `undefined` if a connection is free.
   * @throws {TransactionMisuseError} If the query waits for its own transaction.
   */
  admit(what: () => string): Promise<void> | undefined {
    return this.#scopes.size < this.#max ? undefined : this.#wait(what, undefined);
  }

  /**
   * Runs a transaction as soon as a connection is free.
   *
   * @param run Begins the transaction, and runs its work in the scope.
   * @returns The result of `run`.
   * @throws {TransactionMisuseError} If the transaction waits for an outer one.
   */
  async hold<T>(run: (scope: TransactionScope) => Promise<T>): Promise<T> {
    const scope = new TransactionScope(this);
    if (this.#scopes.size < this.#max) this.#scopes.add(scope);
    else await this.#wait(() => "the transaction", scope);
    // at the deadline the connection is closed, even if the work never ends
    const forget = onDeadline(() => this.#abandon(scope));
    try {
      return await run(scope);
    } finally {
      forget();
      this.#release(scope);
    }
  }

  #abandon(scope: TransactionScope): void {
    for (const waiter of this.#waiters) {
      if (waiter.invocation === scope.invocation) {
        this.#refuse(waiter, this.#explainAbandoned(waiter));
      }
    }
    this.#release(scope);
  }

  #release(scope: TransactionScope): void {
    this.#scopes.delete(scope);
    for (const waiter of this.#waiters) {
      if (this.#scopes.size >= this.#max) return;
      this.#forget(waiter);
      if (waiter.scope !== undefined) this.#scopes.add(waiter.scope);
      waiter.start();
    }
  }

  async #wait(what: () => string, scope: TransactionScope | undefined): Promise<void> {
    const around = currentScope(this);
    if (around !== undefined) around.innerWaiters++;
    try {
      if (around !== undefined && this.#isDeadlock()) throw waitsForItself(what(), this.#max);
      await this.#queue(what, scope);
    } finally {
      if (around !== undefined) around.innerWaiters--;
    }
  }

  /**
   * Checks for a deadlock: every transaction contains a query that waits for another transaction.
   */
  #isDeadlock(): boolean {
    return [...this.#scopes].every(({ innerWaiters }) => innerWaiters > 0);
  }

  #queue(what: () => string, scope: TransactionScope | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const forget = onDeadline(() => this.#refuse(waiter, this.#explainAbandoned(waiter)));
      const waiter: Waiter = {
        what,
        scope,
        invocation: currentInvocation(),
        sinceMs: performance.now(),
        start: () => (forget(), resolve()),
        fail: (error) => (forget(), reject(error)),
      };
      this.#waiters.add(waiter);
      if (this.#timer === undefined) this.#lookLater();
    });
  }

  #refuse(waiter: Waiter, error: DatabaseError): void {
    if (!this.#waiters.has(waiter)) return;
    this.#forget(waiter);
    waiter.fail(error);
  }

  #forget(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    if (this.#waiters.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /**
   * Schedules a check. The timer keeps the process alive, since a program that waits for nothing
   * else would exit silently.
   */
  #lookLater(): void {
    const dueMs = performance.now() + this.#lookMs;
    const look = (): void => {
      // a late timer means that the program was busy, perhaps with the transactions
      if (performance.now() < dueMs + this.#lookMs) this.#look();
      if (this.#waiters.size > 0) this.#lookLater();
    };
    this.#timer = runOutsideInvocation(() => setTimeout(look, this.#lookMs));
  }

  /** Rejects one query at a time, since that may free the others. */
  #look(): void {
    for (const waiter of this.#waiters) {
      const waitedMs = performance.now() - waiter.sinceMs;
      if (
        waitedMs < this.#patienceMs || !this.#isIdle(this.#patienceMs) || !this.#maySelfWait(waiter)
      ) continue;
      return this.#refuse(waiter, waitedForIdle(waiter.what(), waitedMs, this.#max));
    }
  }

  #explainAbandoned(waiter: Waiter): DatabaseError {
    const waitedMs = performance.now() - waiter.sinceMs;
    if (this.#isIdle(waitedMs / 2) && this.#maySelfWait(waiter)) {
      return waitedForIdle(waiter.what(), waitedMs, this.#max);
    }
    return new DatabaseError(
      `The invocation reached its deadline while ${waiter.what()} waited for a connection`,
    );
  }

  /** Checks whether all transactions are still open and have sent nothing for a while. */
  #isIdle(idleMs: number): boolean {
    return [...this.#scopes].every(({ beganAtMs, lease }) =>
      beganAtMs !== undefined && !lease.hasEnded && lease.idleMs >= idleMs
    );
  }

  /**
   * Checks whether a query may belong to a transaction: a transaction that began before it, in the same
   * request.
   */
  #maySelfWait({ sinceMs, invocation }: Waiter): boolean {
    return [...this.#scopes].some((scope) =>
      scope.beganAtMs !== undefined && scope.beganAtMs <= sinceMs &&
      (invocation === undefined || scope.invocation === undefined ||
        scope.invocation === invocation)
    );
  }
}

/** Storage of the current transaction; created by the first transaction. */
let storage: AsyncLocalStorage<TransactionScope> | undefined;

/** Transaction in progress: the lease of its client, and the code that belongs to it. */
class TransactionScope {
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
function currentScope(pool: object): TransactionScope | undefined {
  let scope = storage?.getStore();
  while (scope !== undefined && (scope.pool !== pool || scope.lease.hasEnded)) scope = scope.outer;
  return scope;
}
