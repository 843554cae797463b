import { assert } from "@std/assert";
import { IdleTimer } from "../../env/idle_timer.ts";
import { withSteppedClock } from "../support/step_clock.ts";

const HOUR_MS = 3_600_000;

Deno.test("IdleTimer counts on while the clock is set back", async () => {
  await withSteppedClock(async (setMs) => {
    const idle = new IdleTimer();
    setMs(-HOUR_MS);
    await new Promise((resolve) => setTimeout(resolve, 30));
    assert(idle.elapsedMs >= 25 && idle.elapsedMs < 5_000, String(idle.elapsedMs));
  });
});

Deno.test("IdleTimer believes the wall clock after a sandbox was frozen, and starts again with reset()", async () => {
  await withSteppedClock((setMs) => {
    const idle = new IdleTimer();
    setMs(HOUR_MS);
    assert(idle.elapsedMs >= HOUR_MS);
    idle.reset();
    assert(idle.elapsedMs < 5_000);
  });
});
