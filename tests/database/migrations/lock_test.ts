import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { nameTables } from "../../../database/migrations/history.ts";
import {
  type LockOptions,
  type MigrationLock,
  takeAdvisoryLock,
  takeLease,
  takeProcessLock,
} from "../../../database/migrations/lock.ts";
import { MigrationError } from "../../../database/migrations/migration_error.ts";
import type { DedicatedSession } from "../../../database/providers/provider.ts";
import type { Row } from "../../../sql/session.ts";
import { systemClock } from "../../../core/async/clock.ts";
import { createFakeClock, type FakeClock } from "../../../testing/mod.ts";
import { withSteppedClock } from "../../support/step_clock.ts";
import {
  connectionLost,
  fakeSession,
  serverError,
  withDeadline,
  withMigrationLab,
} from "./migration_support.ts";

const TABLES = nameTables();
const HOUR_MS = 3_600_000;

interface Waiting extends LockOptions {
  clock: FakeClock;
  lines: string[];
}

/** The lease lasts an hour, so that no sign of life comes into a test that does not look for it. */
function waiting(more: Partial<LockOptions> = {}): Waiting {
  const lines: string[] = [];
  return {
    timeoutMs: 10_000,
    ttlMs: HOUR_MS,
    logger: (line) => void lines.push(line),
    openSession: () => Promise.reject(new Error("no session")),
    lines,
    ...more,
    clock: more.clock as FakeClock ?? createFakeClock({ nowMs: 0, autoAdvance: true }),
  };
}

Deno.test("takeProcessLock() passes the lock from one run to the next", async () => {
  const options = waiting();
  const first = await takeProcessLock("a", options);
  const other = await takeProcessLock("b", options);
  assertEquals([first.fence, options.lines], [undefined, []]);
  assertNotEquals(first.owner, other.owner);
  await first.check();

  const clock = createFakeClock({ nowMs: 0 });
  const second = takeProcessLock("a", { ...options, clock });
  let taken = false;
  second.then(() => taken = true);
  await new Promise((resolve) => setTimeout(resolve, 0)); // it has asked, and sleeps
  await clock.advance(5000);
  assert(clock.sleeps.length > 10, String(clock.sleeps));
  assertEquals(taken, false);
  assertEquals(options.lines, ["waiting: another run is migrating this database"]);
  await first.release();
  await clock.advance(1000);
  await (await second).release();
  await other.release();
  await takeProcessLock("a", options);
  assertEquals(options.lines.length, 1);
});

Deno.test("takeProcessLock() asks every 125 to 375 ms, and gives up when its time is over", async () => {
  const held = await takeProcessLock("busy", waiting());
  const options = waiting({ timeoutMs: 600_000 });
  const error = await assertRejects(() => takeProcessLock("busy", options), MigrationError);
  assertEquals(error.code, "MIGRATION");
  assertEquals(
    error.message,
    "Another run is migrating this database and did not finish within 600 s: try again later, or raise lockTimeoutSeconds",
  );
  const { sleeps } = options.clock;
  assert(sleeps.every((ms) => ms >= 125 && ms < 375), String(sleeps));
  assert(new Set(sleeps).size > 1, "runners that came together ask together");
  const total = sleeps.reduce((sum, ms) => sum + ms);
  assert(total >= 600_000 && total - sleeps.at(-1)! < 600_000, String(total));
  await held.release();
});

Deno.test("takeProcessLock() with no time to wait asks once", async () => {
  const held = await takeProcessLock("once", waiting());
  const options = waiting({ timeoutMs: 0 });
  await assertRejects(
    () => takeProcessLock("once", options),
    MigrationError,
    "within 0 s",
  );
  assertEquals(options.clock.sleeps, []);
  await held.release();
});

Deno.test("takeProcessLock() waits no longer when the machine's clock is set back, and no shorter when it is set ahead", async () => {
  const held = await takeProcessLock("stepped", waiting());
  for (const offsetMs of [-3_600_000, 3_600_000]) {
    const startedMs = performance.now();
    await withSteppedClock(async (setMs) => {
      const options = waiting({ timeoutMs: 400 });
      const lost = assertRejects(
        () => takeProcessLock("stepped", { ...options, clock: systemClock }),
        MigrationError,
      );
      setMs(offsetMs);
      await lost;
    });
    const tookMs = performance.now() - startedMs;
    assert(tookMs >= 390 && tookMs < 5_000, String(tookMs));
  }
  await held.release();
});

Deno.test("takeProcessLock() leaves an invocation 500 ms to say that it did not get the lock", async () => {
  const held = await takeProcessLock("handler", waiting());
  for (const [leftMs, asksAgain] of [[499, false], [500, true]] as const) {
    await withDeadline(async (deadlineMs) => {
      const clock = createFakeClock({ nowMs: deadlineMs - leftMs, autoAdvance: true });
      await assertRejects(
        () => takeProcessLock("handler", waiting({ clock })),
        MigrationError,
        "Another run",
      );
      assertEquals(clock.sleeps.length > 0, asksAgain);
    });
  }
  await held.release();
});

Deno.test("takeAdvisoryLock() takes the database's lock by the name of the runner's table, and gives the same one back", async () => {
  const asked: string[] = [];
  const answers = [false, true];
  const session = fakeSession((text) => {
    asked.push(text);
    return text.includes("try") ? [{ taken: answers.shift() }] : [];
  });
  const lock = await takeAdvisoryLock(session, TABLES, waiting());
  assertEquals([lock.fence, asked.length], [undefined, 2]);
  await lock.check();
  await lock.release();
  const [key] = /-?\d+/.exec(asked[0])!;
  assertEquals(asked, [
    `SELECT pg_try_advisory_lock(${key}) AS taken`,
    `SELECT pg_try_advisory_lock(${key}) AS taken`,
    `SELECT pg_advisory_unlock(${key})`,
  ]);
  // every version of this package must come to the same number, or two of them run at once
  assertEquals(key, "7433866460625659119");
  answers.push(true);
  await takeAdvisoryLock(session, nameTables("other"), waiting());
  assertNotEquals(asked.at(-1), asked[0]);
});

function lease(session: DedicatedSession, more: Partial<LockOptions> = {}): Promise<MigrationLock> {
  return takeLease(session, TABLES, waiting(more));
}

Deno.test("takeLease() holds the lease until it is released", async () => {
  await withMigrationLab({}, async ({ session, rows }) => {
    const first = await lease(session);
    assertEquals((await session.query(first.fence!)).length, 1);
    const [row] = await rows(
      `SELECT id, owner, fence::int AS fence, expires_at - now() > interval '59 minutes' AND
       expires_at - now() <= interval '1 hour' AS lasts FROM orm.__orm_migrations_lease`,
    );
    assertEquals(row, { id: 1, owner: first.owner, fence: 1, lasts: true });
    await first.check();
    await assertRejects(
      () => lease(session, { timeoutMs: 1000 }),
      MigrationError,
      "Another run is migrating",
    );
    await first.release();
    const [released] = await rows(
      "SELECT owner, expires_at < now() AS ended FROM orm.__orm_migrations_lease",
    );
    assertEquals(released, { owner: "", ended: true });
    const second = await lease(session);
    assertEquals((await session.query(second.fence!)).length, 1);
    assertEquals((await session.query(first.fence!)).length, 0);
    await second.release();
  });
});

Deno.test("takeLease() puts the end off with each check", async () => {
  await withMigrationLab({}, async ({ session, rows }) => {
    const lock = await lease(session);
    await rows("UPDATE orm.__orm_migrations_lease SET expires_at = now() + interval '1 second'");
    await lock.check();
    const [{ lasts }] = await rows(
      "SELECT expires_at - now() > interval '59 minutes' AS lasts FROM orm.__orm_migrations_lease",
    );
    assertEquals(lasts, true);
    await lock.release();
  });
});

Deno.test("takeLease() takes over what ran out; the run that lost it stops, and does not release the other's", async () => {
  await withMigrationLab({}, async ({ session, rows }) => {
    const first = await lease(session);
    await rows("UPDATE orm.__orm_migrations_lease SET expires_at = now() - interval '1 second'");
    const second = await lease(session);
    assertEquals((await session.query(first.fence!)).length, 0);
    const error = await assertRejects(() => first.check(), MigrationError);
    assertEquals(
      error.message,
      "Another run took over the migrations of this database, so this run stops",
    );
    await first.release();
    await second.check();
    assertEquals(
      (await rows("SELECT fence::int AS fence FROM orm.__orm_migrations_lease"))[0].fence,
      2,
    );
    await second.release();
  });
});

Deno.test("takeLease() knows its own lease when the first try had no answer, and tries again after a conflict", async () => {
  for (
    const [what, fault, commits] of [
      ["an answer that is lost", connectionLost(), true],
      ["a conflict", serverError("40001"), false],
    ] as const
  ) {
    let tries = 0;
    await withMigrationLab({
      async intercept(text, run) {
        if (!text.includes("fence = fence + 1") || ++tries > 1) return await run();
        if (commits) await run();
        throw fault;
      },
    }, async ({ session }) => {
      const lock = await lease(session);
      assertEquals(
        [tries, (await session.query(lock.fence!)).length],
        [2, 1],
        what,
      );
      await lock.release();
    });
  }
});

Deno.test("takeLease() does not wait when the server refuses it", async () => {
  const refusal = serverError("42501", "permission denied");
  let tries = 0;
  await withMigrationLab({
    intercept: (text, run) =>
      text.includes("fence = fence + 1") ? (tries++, Promise.reject(refusal)) : run(),
  }, async ({ session }) => {
    assertEquals(await assertRejects(() => lease(session)), refusal);
    assertEquals(tries, 1);
  });
});

Deno.test("takeLease() makes its tables, and asks again where an answer is lost", async () => {
  const lostOnce = new Set<string>();
  await withMigrationLab({
    intercept(text, run) {
      const kind = /^INSERT|SET owner = ''|SET expires_at/.exec(text)?.[0];
      if (kind === undefined || lostOnce.has(kind)) return run();
      lostOnce.add(kind);
      return Promise.reject(connectionLost());
    },
  }, async ({ session, rows }) => {
    await rows("DROP SCHEMA orm CASCADE");
    const lock = await lease(session);
    await lock.check();
    await lock.release();
    assertEquals([...lostOnce], ["INSERT", "SET expires_at", "SET owner = ''"]);
    assertEquals((await rows("SELECT owner FROM orm.__orm_migrations_lease"))[0].owner, "");
  });
});

/** A server whose lease is taken at once; `beat` answers the signs of life. */
function leaseSession(
  beat: () => Row[] | Promise<Row[]>,
  more: Partial<DedicatedSession> = {},
): DedicatedSession {
  return fakeSession((text) => {
    if (text.includes("count(*)")) return [{ there: 3 }];
    if (text.includes("fence = fence + 1")) return [{ fence: "7" }];
    return text.includes("SET expires_at") ? beat() : [];
  }, more);
}

Deno.test("takeLease() renews the lease on a separate session, three times in its duration", async () => {
  const [beats, all] = [Promise.withResolvers<void>(), { beats: 0, sessions: 0, closed: 0 }];
  const own = leaseSession(() => {
    if (++all.beats === 3) beats.resolve();
    return [{ id: 1 }];
  }, { close: () => Promise.resolve(void all.closed++) });
  let interval: number | undefined;
  const real = globalThis.setInterval;
  globalThis.setInterval = ((fn: () => void, ms: number): number => {
    interval = ms;
    return real(fn, 1) as unknown as number;
  }) as unknown as typeof setInterval;
  try {
    const busy = leaseSession(() => [{ id: 1 }]);
    const openSession = (): Promise<DedicatedSession> =>
      Promise.resolve(void all.sessions++).then(() => own);
    const lock = await lease(busy, { ttlMs: 3000, openSession });
    await beats.promise;
    await lock.release();
    assertEquals([interval, all.sessions, all.closed], [1000, 1, 1]);
    const after = all.beats;
    await new Promise((resolve) => real(resolve, 5));
    assertEquals(all.beats, after);
  } finally {
    globalThis.setInterval = real;
  }
});

Deno.test("takeLease() lives with signs of life that fail, does not let them pile up, and learns from them", async () => {
  const lost = Promise.withResolvers<void>();
  let sessions = 0;
  let running = 0;
  let most = 0;
  let beats = 0;
  const own = leaseSession(async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 4));
    running--;
    if (++beats === 1) throw connectionLost();
    if (beats === 3) lost.resolve();
    return beats < 3 ? [{ id: 1 }] : [];
  });
  let released = 0;
  const busy = fakeSession((text) => {
    if (text.includes("SET owner = ''")) released++;
    if (text.includes("count(*)")) return [{ there: 3 }];
    return text.includes("fence = fence + 1") ? [{ fence: "7" }] : [{ id: 1 }];
  });
  const lock = await lease(busy, {
    ttlMs: 3,
    openSession: () => ++sessions === 1 ? Promise.reject(connectionLost()) : Promise.resolve(own),
  });
  await lost.promise;
  await new Promise((resolve) => setTimeout(resolve, 0));
  assertEquals([most, sessions], [1, 2]);
  // the runner's own session still finds the row, but another run had it in between
  await assertRejects(() => lock.check(), MigrationError, "took over");
  await lock.release();
  assertEquals(released, 0);
});
