import { transactionEnded } from "./misuse_messages.ts";

const lateFailures: WeakSet<object> = new WeakSet();

/**
 * Checks for an error that ended a transaction after its work and before COMMIT: nothing was
 * committed.
 *
 * @param error The rejection of the transaction.
 */
export function isLateFailure(error: unknown): boolean {
  return typeof error === "object" && error !== null && lateFailures.has(error);
}

/**
 * Period in which the client of a transaction or savepoint may be used. It ends with the
 * transaction's work. Statements sent before are awaited, later ones are rejected.
 */
export class Lease {
  readonly #outer: Lease | undefined;
  readonly #inner: Set<Lease> = new Set();
  #hasEnded = false;
  /** Running statements, including those of inner transactions. */
  #busy = 0;
  #idleSinceMs = performance.now();
  /** Called when the last statement and the last inner transaction have ended. */
  #onDrained: (() => void) | undefined;
  #lateFailure: unknown;
  #cut: ((error: unknown) => void) | undefined;

  /**
   * @param outer The lease of the transaction around a savepoint.
   */
  constructor(outer?: Lease) {
    this.#outer = outer;
  }

  /** True once the work has ended. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Milliseconds since the last statement ended; 0 while a statement runs. */
  get idleMs(): number {
    return this.#busy > 0 ? 0 : performance.now() - this.#idleSinceMs;
  }

  /**
   * Runs a statement within the lease.
   *
   * @param what Returns the statement's name for errors.
   * @param send Sends the statement.
   * @returns The result of `send`.
   * @throws {TransactionMisuseError} If this lease or an outer one has ended.
   */
  async run<T>(what: () => string, send: () => Promise<T>): Promise<T> {
    this.assertOpen(what);
    this.#enter();
    try {
      return await send();
    } catch (error) {
      throw this.#noteIfLate(error);
    } finally {
      this.#leave();
    }
  }

  /**
   * Runs an inner transaction within the lease.
   *
   * @param begin Sends SAVEPOINT and the statements after it, with the inner transaction's lease.
   * @returns The result of `begin`.
   * @throws {TransactionMisuseError} If this lease or an outer one has ended.
   */
  async runInner<T>(begin: (inner: Lease) => Promise<T>): Promise<T> {
    this.assertOpen(() => "the inner transaction");
    const inner = new Lease(this);
    this.#inner.add(inner);
    try {
      return await begin(inner);
    } catch (error) {
      throw this.#noteIfLate(error);
    } finally {
      this.#inner.delete(inner);
      this.#tellIfDrained();
    }
  }

  /**
   * Runs the work of a transaction, and ends the lease with it. A failure of a statement that was
   * not awaited fails the transaction: it is not committed.
   *
   * @param work The work.
   * @returns The result of the work.
   */
  async use<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await (this.#outer === undefined ? work() : this.#race(work));
      if (!this.#end()) await this.#drain();
      if (this.#lateFailure !== undefined) throw this.#lateFailure;
      return result;
    } catch (error) {
      if (!this.#end()) await this.#drain();
      throw error;
    }
  }

  /** Runs the work of an inner transaction, until the outer one ends. */
  #race<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#cut = reject;
      work().then(resolve, reject);
    });
  }

  /** Ends the lease. Returns false if statements or inner transactions still run. */
  #end(): boolean {
    this.#hasEnded = true;
    return this.#isDrained();
  }

  async #drain(): Promise<void> {
    // an inner transaction that was not awaited is rolled back before this one ends
    for (const inner of this.#inner) inner.#cut?.(transactionEnded("the inner transaction"));
    await new Promise<void>((resolve) => this.#onDrained = resolve);
    // code that awaited the last statement may continue now, and its statements are then rejected
    await new Promise((resolve) => setTimeout(resolve, 0));
  }

  /**
   * Rejects a statement after the end of the lease.
   *
   * @param what Returns the statement's name for errors.
   * @throws {TransactionMisuseError} If this lease or an outer one has ended.
   */
  assertOpen(what: () => string): void {
    if (this.#isOver()) throw this.#noteIfLate(transactionEnded(what()));
  }

  #isOver(): boolean {
    return this.#hasEnded || (this.#outer !== undefined && this.#outer.#isOver());
  }

  #noteIfLate<E>(error: E): E {
    if (this.#hasEnded) {
      this.#lateFailure ??= error;
      if (typeof error === "object" && error !== null) lateFailures.add(error);
    }
    if (this.#outer !== undefined) this.#outer.#noteIfLate(error);
    return error;
  }

  #enter(): void {
    this.#busy++;
    if (this.#outer !== undefined) this.#outer.#enter();
  }

  #leave(): void {
    this.#busy--;
    if (this.#busy === 0) this.#idleSinceMs = performance.now();
    this.#tellIfDrained();
    if (this.#outer !== undefined) this.#outer.#leave();
  }

  #isDrained(): boolean {
    return this.#busy === 0 && this.#inner.size === 0;
  }

  #tellIfDrained(): void {
    if (this.#isDrained()) this.#onDrained?.();
  }
}
