/**
 * Values made once for each key, also when several callers ask at the same time. A failure is not kept: the next
 * caller tries again.
 */
export class SingleFlight<K, V> {
  readonly #flights: Map<K, Promise<V>> = new Map();

  /**
   * The value of a key, made when it is not there.
   *
   * @param key What is asked for.
   * @param make Makes the value.
   * @returns The value that the first caller's `make` gave.
   */
  get(key: K, make: () => Promise<V>): Promise<V> {
    const known = this.#flights.get(key);
    if (known !== undefined) return known;
    const flight = make();
    this.#flights.set(key, flight);
    flight.catch(() => {
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
    });
    return flight;
  }

  /** Forgets a key and gives what was kept for it. */
  evict(key: K): Promise<V> | undefined {
    const flight = this.#flights.get(key);
    this.#flights.delete(key);
    return flight;
  }

  /** The keys that are kept. */
  keys(): K[] {
    return [...this.#flights.keys()];
  }
}

/**
 * Returns a function that calls `load` once for all its callers. After a failure, the next caller loads again.
 *
 * @param load Makes the value.
 */
export function loadOnce<V>(load: () => Promise<V>): () => Promise<V> {
  const flight = new SingleFlight<undefined, V>();
  return function getLoaded(): Promise<V> {
    return flight.get(undefined, load);
  };
}
