/** Seeded randomness: the same seed gives the same choices. */
export interface Random {
  /** A whole number from 0 up to, without, the limit. */
  below(limit: number): number;
  /** Whether something with this probability happens. */
  chance(probability: number): boolean;
  /** One of several. */
  pick<T>(choices: readonly T[]): T;
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
  return {
    below,
    chance: (probability) => next() < probability,
    pick: (choices) => choices[below(choices.length)],
  };
}
