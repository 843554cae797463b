/**
 * Seed of the generated cases of this run. An ordinary run always tries the same cases, so that a failure comes from the
 * change under test; a full run (`TRELLIS_FULL_TESTS=1`) tries new ones. `TRELLIS_SEED` runs a printed seed again.
 */
export const testSeed: number = Number(
  Deno.env.get("TRELLIS_SEED") ??
    (Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? Date.now() % 2 ** 31 : 20_261_122),
);
