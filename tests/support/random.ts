/** Seeded randomness: the same seed gives the same choices. */
export interface Random {
  /** A number from 0 up to, but not including, 1. */
  next(): number;
  /** A whole number from 0 up to, but not including, the limit. */
  below(limit: number): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  /** Picks a value. */
  pick<T>(values: readonly T[]): T;
  /** Picks at least one and at most `most` of several values, in their order. */
  some<T>(values: readonly T[], most: number): T[];
}

/** Creates a source of randomness (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: (values) => values[below(values.length)],
    some(values, most) {
      const left = [...values];
      const count = 1 + below(Math.min(most, left.length));
      while (left.length > count) left.splice(below(left.length), 1);
      return left;
    },
  };
}
