/** Maximum number of changes before the whole map is copied. */
const MAX_CHANGES = 64;

/**
 * Immutable map that shares its entries with its predecessor, so that changing one of thousands of
 * entries is cheap. Keeps the order of entries.
 */
export class SharedMap<V> implements ReadonlyMap<string, V> {
  readonly #base: ReadonlyMap<string, V>;
  /** Entries that differ from the base; `undefined` for a removed entry. */
  readonly #changes: ReadonlyMap<string, V | undefined>;
  /** Number of entries. */
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

  /** Returns a map with one entry set, or removed if its value is `undefined`. */
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
   * Finds the keys of values with a property, such as a name.
   *
   * @param map The map.
   * @param index Returns the keys of an unchanging map by that property; called once per map.
   * @param has Checks whether a value has it.
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

  /** Returns the value of a key. */
  get(key: string): V | undefined {
    return this.#changes.has(key) ? this.#changes.get(key) : this.#base.get(key);
  }

  /** Checks for a key. */
  has(key: string): boolean {
    return this.#changes.has(key) ? this.#changes.get(key) !== undefined : this.#base.has(key);
  }

  /** Iterates over the entries in order. */
  *entries(): Generator<[string, V], undefined> {
    for (const [key, value] of this.#base) {
      const current = this.#changes.has(key) ? this.#changes.get(key) : value;
      if (current !== undefined) yield [key, current];
    }
    for (const [key, value] of this.#changes) {
      if (value !== undefined && !this.#base.has(key)) yield [key, value];
    }
  }

  /** Iterates over the keys in order. */
  *keys(): Generator<string, undefined> {
    for (const [key] of this.entries()) yield key;
  }

  /** Iterates over the values in the order of their keys. */
  *values(): Generator<V, undefined> {
    for (const [, value] of this.entries()) yield value;
  }

  /** Iterates over the entries in order. */
  [Symbol.iterator](): Generator<[string, V], undefined> {
    return this.entries();
  }

  /** Calls a function for each entry. */
  forEach(callback: (value: V, key: string, map: ReadonlyMap<string, V>) => void): void {
    for (const [key, value] of this.entries()) callback(value, key, this);
  }
}
