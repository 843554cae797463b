import { assertEquals } from "@std/assert";
import { PgDialect } from "drizzle-orm/pg-core";
import type { SQL } from "drizzle-orm";
import type { DrizzleClient } from "../../database/session/drizzle_client.ts";
import { JobFinisher } from "../../jobs/finish.ts";

/** A database that answers when the test lets it, and keeps the sizes of what it was asked to mark. */
function createSlowDatabase() {
  const sizes: number[] = [];
  const answers: (() => void)[] = [];
  const dialect = new PgDialect();
  const db = {
    execute(statement: SQL): Promise<{ rows: { id: string }[] }> {
      const list = dialect.sqlToQuery(statement).params.find((param) => /^{job-/.test(`${param}`));
      const ids = `${list}`.slice(1, -1).split(",");
      sizes.push(ids.length);
      return new Promise((resolve) =>
        answers.push(() => resolve({ rows: ids.map((id) => ({ id })) }))
      );
    },
  } as unknown as DrizzleClient;
  async function answer(): Promise<void> {
    // the finisher's own promises come first
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    answers.shift()?.();
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  }
  return { db, sizes, answer };
}

const createJob = (n: number) => ({ id: `job-${n}`, fence: 1, keepSeconds: 60 });

Deno.test("JobFinisher marks eight jobs at once, and what ends meanwhile together", async () => {
  const { db, sizes, answer } = createSlowDatabase();
  const finisher = new JobFinisher(() => db, undefined);
  const finish = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, n) => finisher.finish(createJob(from + n)));
  const first = finish(0, 8);
  await answer();
  assertEquals(await Promise.all(first), Array(8).fill(true));
  assertEquals(sizes, [8]);

  const all = finish(8, 16);
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  // three jobs end while the statement runs: they wait for more, or for the flush
  all.push(...finish(16, 19));
  await answer();
  assertEquals(sizes, [8, 8]);
  all.push(...finish(19, 20));
  finisher.flush();
  await answer();
  assertEquals(sizes, [8, 8, 4]);
  assertEquals(await Promise.all(all), Array(12).fill(true));
});

Deno.test("JobFinisher marks the jobs of a batch with one statement", async () => {
  const { db, sizes, answer } = createSlowDatabase();
  const finisher = new JobFinisher(() => db, undefined);
  const batch = Array.from({ length: 20 }, (_, n) => finisher.finish(createJob(n)));
  await answer();
  assertEquals(await Promise.all(batch), Array(20).fill(true));
  assertEquals(sizes, [20]);
});

Deno.test("JobFinisher marks a single job after a short time", async () => {
  const { db, sizes, answer } = createSlowDatabase();
  const finished = new JobFinisher(() => db, undefined).finish(createJob(1));
  assertEquals(sizes, []);
  while (sizes.length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  await answer();
  assertEquals(await finished, true);
});
