import { isThenable } from "../../observability/invocation_context.ts";

/**
 * The promise that was fulfilled last, for a function that usually returns the same one, such as
 * `getDrizzleClient`. Its value is then known, and nothing has to wait for it.
 */
export class LastFulfilled<T> {
  #promise: PromiseLike<T> | undefined;
  #value: T | undefined;

  /**
   * Calls `next` with a value: at once, or when a promise that was not seen before is fulfilled.
   *
   * @param given A value, or a promise of one.
   * @param next The step that needs the value.
   * @returns The result of `next`.
   */
  use<R>(given: T | PromiseLike<T>, next: (value: T) => Promise<R>): Promise<R> {
    if (!isThenable(given)) return next(given);
    if (given === this.#promise) return next(this.#value as T);
    return Promise.resolve(given).then((value) => {
      this.#promise = given;
      this.#value = value;
      return next(value);
    });
  }
}
