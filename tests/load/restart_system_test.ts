import { assertEquals, assertGreater } from "@std/assert";
import { startRestartablePostgres } from "../../bench/load/restartable_postgres.ts";
import { closeDrizzleClient, getDrizzleClient } from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { getDirectConfig } from "../support/postgres.ts";

/** What lies in the outage waits for one connection; the others go on. */
const WORKERS = 8;

async function inTime<T>(
  work: PromiseLike<T>,
  explain = () => "no answer after the recovery",
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) =>
    timer = setTimeout(() => reject(new Error(explain())), 10_000)
  );
  return await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

Deno.test("getDrizzleClient() answers all who wait for a connection when the server restarts", async () => {
  const server = await startRestartablePostgres();
  const config = getDirectConfig(server.url);
  try {
    const db = await getDrizzleClient(config);
    const pending: Set<number> = new Set();
    const failures: Set<string> = new Set();
    let isOn = true, count = 0;

    const work = async (statement: () => Promise<unknown>): Promise<void> => {
      while (isOn) {
        const id = ++count;
        pending.add(id);
        try {
          await statement();
        } catch (error) {
          const cause = (error as Error).cause as { code?: string; message: string } ?? error;
          failures.add(cause.code ?? cause.message);
        }
        pending.delete(id);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };

    const workers = Array.from(
      { length: WORKERS },
      (_, i) =>
        work(() =>
          i % 2 === 0 ? db.execute(sql`select 1`) : db.transaction(async (tx) => {
            await tx.execute(sql`select 1`);
            await tx.execute(sql`select 2`);
          })
        ),
    );
    // as it should, and as in a crash; each finds other statements under way
    for (const how of ["fast", "immediate", "fast", "immediate"] as const) {
      await server.restart(how, 300);
      // whoever asks after the recovery gets an answer
      assertEquals(
        (await inTime(db.execute(sql`select 3 as n`))).rows,
        [{ n: 3 }],
      );
    }
    isOn = false;
    await inTime(Promise.all(workers), () => `${pending.size} of ${count} were never answered`);
    assertGreater(failures.size, 0);
    // what a caller is told must name the loss, never the pool's own doings
    const known = /^(?:57P0\d|E[A-Z]+|CONNECTION_(?:CLOSED|DESTROYED)|COMMIT_OUTCOME_UNKNOWN)$/;
    assertEquals([...failures].filter((code) => !known.test(code)), []);
  } finally {
    await closeDrizzleClient(config);
    await server.stop();
  }
});
