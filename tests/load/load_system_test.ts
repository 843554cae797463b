import { assertEquals, assertGreater } from "@std/assert";
import { runLoad } from "../../bench/load/run_load.ts";
import { judge } from "../../bench/load/verdict.ts";
import { testSeed } from "../support/seed.ts";

const seed = testSeed;

const isLinux = Deno.build.os === "linux";
// deno-lint-ignore no-console -- a test that is left out says so
if (!isLinux) console.warn("The load test is left out: it reads descriptors and memory from /proc");

Deno.test({
  name:
    `the example answers, leaks nothing and loses nothing while its database restarts (seed ${seed})`,
  ignore: !isLinux,
  // the clients' connections are closed by the runtime a little later
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const report = await runLoad({
      ...{
        database: "postgres",
        seconds: 10,
        restartEvery: 4,
        downMs: 700,
        clients: 6,
        rate: 80,
        seed,
      },
    });
    assertEquals(judge(report), []);
    assertEquals(report.downTimes.length, 2);
    // traffic that meets no outage, or that writes nothing, would prove nothing
    assertGreater(report.outcomes.metOutage, 0);
    assertGreater(report.acknowledged, 0);
  },
});
