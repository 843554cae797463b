/** Changes that a map keeps apart before it is copied whole. */
const MAX_CHANGES = 64;

/**
 * An immutable map that shares its entries with the map that it was made from, so that one change of a map of thousands
 * of entries costs little. Entries keep their order.
 */
export class SharedMap<V> implements ReadonlyMap<string, V> {
  readonly #base: ReadonlyMap<string, V>;
  /** Entries that differ from the base; `undefined` where one is removed. */
  readonly #changes: ReadonlyMap<string, V | undefined>;
  /** How many entries there are. */
  readonly size: number;

  private constructor(
    base: ReadonlyMap<string, V>,
    changes: ReadonlyMap<string, V | undefined>,
    size: number,
  ) {
    this.#base = base;
    this.#changes = changes;
    this.size = size;
  }

  /** Returns a map with one entry set, or removed when its value is `undefined`. */
  static change<V>(
    map: ReadonlyMap<string, V>,
    key: string,
    value: V | undefined,
  ): ReadonlyMap<string, V> {
    const isShared = map instanceof SharedMap;
    const size = map.size + Number(value !== undefined) - Number(map.has(key));
    if (isShared && map.#changes.size >= MAX_CHANGES) {
      return SharedMap.change(new Map(map.entries()), key, value);
    }
    const [base, changes] = isShared ? [map.#base, map.#changes] : [map, []];
    return new SharedMap<V>(base, new Map([...changes]).set(key, value), size);
  }

  /**
   * Finds the keys of values that have something, such as a name.
   *
   * @param map The map.
   * @param index The keys of an unchanging map by what their values have; called once for each map.
   * @param has Whether a value has it.
   */
  static keysWith<V>(
    map: ReadonlyMap<string, V>,
    index: (base: ReadonlyMap<string, V>) => readonly string[],
    has: (value: V) => boolean,
  ): string[] {
    if (!(map instanceof SharedMap)) return [...index(map)];
    const unchanged = index(map.#base).filter((key) => !map.#changes.has(key));
    const changed = [...map.#changes].filter(([, value]) => value !== undefined && has(value)).map((
      [key],
    ) => key);
    return [...unchanged, ...changed];
  }

  /** The value of a key. */
  get(key: string): V | undefined {
    return this.#changes.has(key) ? this.#changes.get(key) : this.#base.get(key);
  }

  /** Whether there is an entry. */
  has(key: string): boolean {
    return this.#changes.has(key) ? this.#changes.get(key) !== undefined : this.#base.has(key);
  }

  /** The entries in their order. */
  *entries(): Generator<[string, V], undefined> {
    for (const [key, value] of this.#base) {
      const current = this.#changes.has(key) ? this.#changes.get(key) : value;
      if (current !== undefined) yield [key, current];
    }
    for (const [key, value] of this.#changes) {
      if (value !== undefined && !this.#base.has(key)) yield [key, value];
    }
  }

  /** The keys in their order. */
  *keys(): Generator<string, undefined> {
    for (const [key] of this.entries()) yield key;
  }

  /** The values in the order of their keys. */
  *values(): Generator<V, undefined> {
    for (const [, value] of this.entries()) yield value;
  }

  /** The entries in their order. */
  [Symbol.iterator](): Generator<[string, V], undefined> {
    return this.entries();
  }

  /** Calls a function with each entry. */
  forEach(callback: (value: V, key: string, map: ReadonlyMap<string, V>) => void): void {
    for (const [key, value] of this.entries()) callback(value, key, this);
  }
}
