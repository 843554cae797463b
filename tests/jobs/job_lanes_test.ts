import { assert, assertEquals } from "@std/assert";
import type { LeasedJob } from "../../jobs/claim.ts";
import type { NextJobs } from "../../jobs/job_claimer.ts";
import { JobLanes } from "../../jobs/job_lanes.ts";

const LANES = 4;

function createLeased(id: string): LeasedJob {
  return {
    id,
    name: "job",
    payload: "",
    shard: 0,
    attempts: 1,
    fence: 1,
    isFirst: true,
    group: null,
    enqueuedAt: new Date(0),
    ageMs: 0,
    waitedMs: 0,
    correlationId: null,
    traceParent: null,
  };
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 1));

/** Lanes with a table in memory, whose statements and jobs take a turn each. */
function createWorld({ lanes = LANES, onRun = (_id: string) => {}, onClaim = () => {} } = {}) {
  const queued: string[] = [];
  const ran: string[] = [];
  const released: string[] = [];
  /** Lanes that ran a job when a claim was sent. */
  const busy: number[] = [];
  /** Most jobs that were leased and had not begun, beyond the lanes that could begin them. */
  let mostAhead = 0;
  let leased = 0;
  let running = 0;
  let isStopping = false;
  const claimDue: NextJobs = async (getLimit) => {
    const at = busy.push(0) - 1;
    const ids = queued.splice(0, getLimit());
    leased += ids.length;
    mostAhead = Math.max(mostAhead, leased - lanes);
    onClaim();
    // a lane that took a job begins it at once
    setTimeout(() => busy[at] = running);
    await turn();
    return ids.map((id) => ({ jobs: [createLeased(id)], isWhole: true }));
  };
  return {
    queued,
    ran,
    released,
    busy,
    getMostAhead: () => mostAhead,
    stop: () => void (isStopping = true),
    lanes: new JobLanes({
      next: claimDue,
      claimer: {
        claimDue,
        claimGroup: () => Promise.resolve([]),
        fillBatch: ({ jobs }) => Promise.resolve(jobs),
        hasLimits: false,
      },
      runner: {
        async run([{ id }]) {
          running++;
          await turn();
          onRun(id);
          ran.push(id);
          running--;
          leased--;
          return [Promise.resolve("done")];
        },
        release(jobs) {
          released.push(...jobs.map(({ id }) => id));
          return Promise.resolve();
        },
        flush: () => {},
        rest: () => {},
        getBatchSize: () => 1,
        hasLimit: () => false,
        mayWait: () => true,
      },
      concurrency: lanes,
      canStart: () => !isStopping,
      mayLeaseAhead: true,
      onPlaceFree: () => {},
    }),
  };
}

const listJobs = (count: number) => Array.from({ length: count }, (_, n) => String(n));

Deno.test("JobLanes leases the next jobs while all lanes run, and at most one ahead for each lane", async () => {
  const world = createWorld();
  world.queued.push(...listJobs(200));
  assertEquals((await world.lanes.run()).done, 200);
  assertEquals(world.ran.toSorted(), listJobs(200).toSorted());
  assert(world.busy.includes(LANES), `claims while ${world.busy} lanes ran`);
  assertEquals(world.getMostAhead(), LANES);
  // a claim for each two jobs would cost more than lanes that wait
  assert(world.busy.length < 90, `${world.busy.length} claims`);
});

Deno.test("JobLanes with one lane leases two jobs at a time", async () => {
  const world = createWorld({ lanes: 1 });
  world.queued.push(...listJobs(100));
  await world.lanes.run();
  // the first claim has one job, and the last one none
  assertEquals([world.busy.length, world.getMostAhead()], [52, 1]);
});

Deno.test("JobLanes runs a job that the last one enqueued, also after a look that found none", async () => {
  for (const lanes of [1, 2, LANES]) {
    for (let size = 1; size < 12; size++) {
      const world = createWorld({
        lanes,
        onRun: (id) => id === "last" && void world.queued.push("next"),
      });
      world.queued.push(...listJobs(size), "last");
      await world.lanes.run();
      assertEquals(world.ran.at(-1), "next", `after ${size} jobs in ${lanes} lanes`);
    }
  }
});

Deno.test("JobLanes gives back what was leased ahead while it stopped", async () => {
  for (let stopAt = 2; stopAt < 12; stopAt++) {
    let claims = 0;
    const world = createWorld({ onClaim: () => ++claims === stopAt && world.stop() });
    world.queued.push(...listJobs(100));
    await world.lanes.run();
    assertEquals(
      [...world.ran, ...world.released, ...world.queued].toSorted(),
      listJobs(100).toSorted(),
    );
    assert(world.released.length > 0);
  }
});
