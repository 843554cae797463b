import { transactionEnded } from "./misuse_messages.ts";

const lateFailures: WeakSet<object> = new WeakSet();

/**
 * Whether an error ended a transaction after its work and before COMMIT: nothing was committed.
 *
 * @param error What the transaction rejected with.
 */
export function isLateFailure(error: unknown): boolean {
  return typeof error === "object" && error !== null && lateFailures.has(error);
}

/**
 * The time in which the client of a transaction, or of a savepoint, may be used. It ends with the work that was given to
 * the transaction. What was sent before is waited for, and what comes later is refused.
 */
export class Lease {
  readonly #outer: Lease | undefined;
  readonly #inner: Set<Lease> = new Set();
  #hasEnded = false;
  /** Statements under way, those of inner transactions too. */
  #busy = 0;
  #idleSinceMs = performance.now();
  /** Called when the last statement and the last inner transaction have ended. */
  #onDrained: (() => void) | undefined;
  #lateFailure: unknown;
  #cut: ((error: unknown) => void) | undefined;

  /** @param outer The lease of the transaction that a savepoint belongs to. */
  constructor(outer?: Lease) {
    this.#outer = outer;
  }

  /** Whether the work has ended. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Milliseconds since the last statement ended; 0 while one is under way. */
  get idleMs(): number {
    return this.#busy > 0 ? 0 : performance.now() - this.#idleSinceMs;
  }

  /**
   * Runs a statement while the lease lasts.
   *
   * @param what Names the statement in the error.
   * @param send Sends it.
   * @returns What `send` resolves to.
   * @throws {TransactionMisuseError} If the lease, or one around it, has ended.
   */
  async run<T>(what: () => string, send: () => Promise<T>): Promise<T> {
    this.#assertOpen(what);
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
   * Runs an inner transaction while the lease lasts.
   *
   * @param begin Sends SAVEPOINT and what follows, with the inner transaction's lease.
   * @returns What `begin` resolves to.
   * @throws {TransactionMisuseError} If the lease, or one around it, has ended.
   */
  async runInner<T>(begin: (inner: Lease) => Promise<T>): Promise<T> {
    this.#assertOpen(() => "the inner transaction");
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
   * Runs the work of a transaction, and ends the lease with it. A failure of something that the work did not wait for is
   * the transaction's: it is not committed.
   *
   * @param work The work.
   * @returns What the work resolves to.
   */
  async use<T>(work: () => Promise<T>): Promise<T> {
    const cut = new Promise<never>((_, reject) => this.#cut = reject);
    // nobody waits for it where the work ends first
    cut.catch(() => {});
    try {
      const result = await Promise.race([work(), cut]);
      await this.#end();
      if (this.#lateFailure !== undefined) throw this.#lateFailure;
      return result;
    } catch (error) {
      await this.#end();
      throw error;
    }
  }

  async #end(): Promise<void> {
    this.#hasEnded = true;
    if (this.#isDrained()) return;
    // an inner transaction that nobody waited for is rolled back before this one ends
    for (const inner of this.#inner) inner.#cut?.(transactionEnded("the inner transaction"));
    await new Promise<void>((resolve) => this.#onDrained = resolve);
    // whoever waited for what has just ended may go on now, and be refused
    await new Promise((resolve) => setTimeout(resolve, 0));
  }

  #assertOpen(what: () => string): void {
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
