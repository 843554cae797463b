/**
 * Preloaded by `scripts/run_tests.ts` into every test file and example: embedded databases in memory
 * start from a snapshot of an empty one, because `initdb` takes seconds of CPU time each time.
 */
import { setEmbeddedSnapshot } from "../../database/providers/embedded_snapshot.ts";

setEmbeddedSnapshot(async () => {
  const { loadEmptySnapshot } = await import("../../testing/embedded_snapshot.ts");
  return await loadEmptySnapshot("Provider embedded-pg");
});
