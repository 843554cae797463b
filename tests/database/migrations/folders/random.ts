/** Seeded randomness: the same seed gives the same choices. */
export interface Random {
  /** A whole number from 0 up to, but not including, the limit. */
  below(limit: number): number;
  /** Whether something of this probability happens. */
  chance(probability: number): boolean;
  /** One of several values. */
  pick<T>(values: readonly T[]): T;
  /** Some of several values, at least one, in their order. */
  some<T>(values: readonly T[], most: number): T[];
}

/** Makes a source of randomness (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const below = (limit: number): number => Math.floor(next() * limit);
  const pick = <T>(values: readonly T[]): T => values[below(values.length)];
  return {
    below,
    pick,
    chance: (probability) => next() < probability,
    some(values, most) {
      const left = [...values];
      const count = 1 + below(Math.min(most, left.length));
      while (left.length > count) left.splice(below(left.length), 1);
      return left;
    },
  };
}
