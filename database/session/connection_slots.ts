import { DatabaseError } from "../../errors/database_errors.ts";
import { currentInvocation, runOutsideInvocation } from "../../observability/invocation_context.ts";
import { onDeadline } from "../providers/deadline.ts";
import { waitedForIdle, waitsForItself } from "./misuse_messages.ts";
import { currentScope, TransactionScope } from "./transaction_scope.ts";

/** Options of {@link ConnectionSlots}. */
export interface SlotsOptions {
  /**
   * How long a query waits for transactions that send nothing before it is refused.
   * @default 5000
   */
  patienceMs?: number;
  /**
   * How often waiting queries are looked at.
   * @default 500
   */
  lookMs?: number;
}

/** A query, or a transaction, that waits for a connection. */
interface Waiter {
  /** Names it in errors. */
  readonly what: () => string;
  /** The transaction that it is to become, where it is one. */
  readonly scope: TransactionScope | undefined;
  readonly invocation: object | undefined;
  readonly sinceMs: number;
  readonly start: () => void;
  readonly fail: (error: DatabaseError) => void;
}

/**
 * Counts the transactions on a pool of connections. While they hold all of its connections, other queries wait here and not
 * in the driver: one that would wait for ever is found, and refused before it is sent.
 */
export class ConnectionSlots {
  readonly #max: number;
  readonly #patienceMs: number;
  readonly #lookMs: number;
  readonly #scopes: Set<TransactionScope> = new Set();
  readonly #waiters: Set<Waiter> = new Set();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * @param max How many connections the pool has.
   * @param options When a query has waited for too long.
   */
  constructor(max: number, { patienceMs = 5000, lookMs = 500 }: SlotsOptions = {}) {
    this.#max = max;
    this.#patienceMs = patienceMs;
    this.#lookMs = lookMs;
  }

  /**
   * Waits while transactions hold all connections.
   *
   * @param what Names the query in errors.
   * @returns `undefined` when there is nothing to wait for.
   * @throws {TransactionMisuseError} If the query waits for itself.
   */
  admit(what: () => string): Promise<void> | undefined {
    return this.#scopes.size < this.#max ? undefined : this.#wait(what, undefined);
  }

  /**
   * Runs a transaction as soon as there is a connection for it.
   *
   * @param run Begins the transaction, and runs its work in the scope.
   * @returns What `run` resolves to.
   * @throws {TransactionMisuseError} If the transaction waits for itself.
   */
  async hold<T>(run: (scope: TransactionScope) => Promise<T>): Promise<T> {
    const scope = new TransactionScope(this);
    if (this.#scopes.size < this.#max) this.#scopes.add(scope);
    else await this.#wait(() => "the transaction", scope);
    // the connection of work that was given up at its deadline is cut, whether the work ever ends or not
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

  /** Every transaction has a query in it that waits for the end of another one. */
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

  /** The timer keeps the process alive: a program that waits for nothing else would end without a word. */
  #lookLater(): void {
    const dueMs = performance.now() + this.#lookMs;
    const look = (): void => {
      // a look that comes late says that the program was busy, perhaps with the work of the transactions
      if (performance.now() < dueMs + this.#lookMs) this.#look();
      if (this.#waiters.size > 0) this.#lookLater();
    };
    this.#timer = runOutsideInvocation(() => setTimeout(look, this.#lookMs));
  }

  /** Refuses one query at a time: the others may get their turn after it. */
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
      `The invocation was given up while ${waiter.what()} waited for a connection`,
    );
  }

  /** Whether all transactions have sent nothing for a while, and have not ended. */
  #isIdle(idleMs: number): boolean {
    return [...this.#scopes].every(({ beganAtMs, lease }) =>
      beganAtMs !== undefined && !lease.hasEnded && lease.idleMs >= idleMs
    );
  }

  /** Whether a query can be a part of a transaction: of one that began before it, and not of another request's. */
  #maySelfWait({ sinceMs, invocation }: Waiter): boolean {
    return [...this.#scopes].some((scope) =>
      scope.beganAtMs !== undefined && scope.beganAtMs <= sinceMs &&
      (invocation === undefined || scope.invocation === undefined ||
        scope.invocation === invocation)
    );
  }
}
