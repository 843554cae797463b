/** Reproducible random choices, for more cases than fast-check can shrink in reasonable time. */
export interface Random {
  /** Returns a whole number from 0, below the limit. */
  below(limit: number): number;
  /** Returns an item of a list. */
  pick<T>(items: readonly T[]): T;
}

/** Creates the choices of a seed (xorshift32). */
export function createRandom(seed: number): Random {
  let state = (seed | 0) || 1;
  function below(limit: number): number {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % limit;
  }
  return { below, pick: (items) => items[below(items.length)] };
}
