import type { DrizzleFile } from "./drizzle_file.ts";

/**
 * Loads drizzle for a function whose bundle does not contain it. `trellis build` replaces this module
 * by one that loads the second file of the function, synchronously and once.
 *
 * @returns The second file.
 */
export function loadDrizzle(): DrizzleFile {
  throw new Error("drizzle is loaded on demand only by functions that trellis build has built");
}
