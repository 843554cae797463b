// deno-lint-ignore-file no-console -- the figures are part of the result
import { assert, assertEquals, assertInstanceOf, assertLess, assertRejects } from "@std/assert";
import { getMigrationStatus } from "../../database/migrate.ts";
import {
  closeDrizzleClient,
  createQueryFactory,
  DatabaseError,
  executeRows,
  getDrizzleClient,
  runMigrations,
  withTransaction,
} from "../../database/mod.ts";
import { CommitOutcomeUnknownError } from "../../errors/mod.ts";
import { sql } from "../../database/orm.ts";
import { causeChain } from "../../errors/cause_chain.ts";
import type { FaultLab } from "../support/fault_lab.ts";
import { type FaultTarget, withFaultLab } from "../support/fault_targets.ts";
import { type HeldTimers, holdTimers } from "../support/held_timers.ts";

// the clients of AWS and Neon keep sockets open between tests
const options = { sanitizeOps: false, sanitizeResources: false };

const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const states = isFull ? ["black-hole", "half-open"] as const : ["half-open"] as const;

/** Only the test lets it pass. It is short enough for connections not to count as forgotten. */
const LIMIT_SECONDS = 17;
const LIMIT_MS = LIMIT_SECONDS * 1000;

/** Runs work on each provider with a limit. */
function withLimitedLab(
  work: (target: FaultTarget, timers: HeldTimers, lab: FaultLab) => Promise<void>,
  statementTimeoutSeconds = LIMIT_SECONDS,
): Promise<void> {
  return withFaultLab(async (target, lab) => {
    const config = { ...target.config, statementTimeoutSeconds };
    using timers = holdTimers(LIMIT_MS);
    try {
      await work({ ...target, config }, timers, lab);
    } finally {
      target.network.set("pass");
      await closeDrizzleClient(config);
    }
  });
}

/** The error of a statement that is given up once the limit has passed, and not before. */
async function giveUp(
  label: string,
  timers: HeldTimers,
  work: () => Promise<unknown>,
  isSilent: () => boolean = () => true,
): Promise<unknown> {
  let hasEnded = false;
  const rejected = assertRejects(work).finally(() => hasEnded = true);
  while (!hasEnded && !(isSilent() && timers.waiting > 0)) await pause(5);
  timers.advance(LIMIT_MS - 1);
  await pause(100);
  assert(!hasEnded, `${label}: ended before the limit`);
  timers.advance(1);
  // what follows, such as a ROLLBACK, is not answered either
  while (!hasEnded) {
    await pause(200);
    if (timers.waiting > 0) timers.advance(LIMIT_MS);
  }
  const error = await rejected;
  console.log(`${label}: ${(error as Error).name}`);
  return error;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function tells(error: unknown): boolean {
  return causeChain(error).some((link) =>
    String((link as Error).message).includes(
      `did not answer within ${LIMIT_SECONDS} s; it may have run the statement. DatabaseConfig.statementTimeoutSeconds`,
    )
  );
}

Deno.test(
  "a silent connection ends a script's statement at statementTimeoutSeconds, and the next one works",
  options,
  async () => {
    await withLimitedLab(async ({ name, network, config }, timers) => {
      const lose = (label: string, work: () => Promise<unknown>) =>
        giveUp(`${name}, ${label}`, timers, work, () => network.state !== "pass");
      const client = () => getDrizzleClient(config);
      const { defineQuery } = createQueryFactory(client);
      const one = async () => (await executeRows(await client(), sql`SELECT 1 AS one`))[0];
      const find = defineQuery(
        { tables: [], name: "find" },
        async (db) => await executeRows(db, sql`SELECT 1`),
      );
      assertEquals(await one(), { one: 1 });
      // the server may hold the table of a transaction that it knows nothing of any more
      const said = sql.identifier(`said_${crypto.randomUUID().slice(0, 8)}`);
      await (await client()).execute(sql`CREATE TABLE ${said} (n int)`);
      for (const state of states) {
        network.set(state);
        assert(tells(await lose(`${state} in a statement`, one)), name);
        network.set("pass");
        assertEquals(await one(), { one: 1 });

        network.set(state);
        const failed = await lose(`${state} in a query`, () => find());
        assertInstanceOf(failed, DatabaseError);
        assert(tells(failed), name);
        network.set("pass");
        assertEquals(await one(), { one: 1 });

        const inside = await lose(`${state} in a transaction`, async () => {
          await withTransaction(await client(), async (tx) => {
            await tx.execute(sql`INSERT INTO ${said} VALUES (1)`);
            network.set(state);
            await tx.execute(sql`INSERT INTO ${said} VALUES (2)`);
          });
        });
        assert(tells(inside), name);
        network.set("pass");

        const commit = await lose(`${state} in a COMMIT`, async () => {
          await withTransaction(await client(), async (tx) => {
            await tx.execute(sql`INSERT INTO ${said} VALUES (3)`);
            network.set(state);
          });
        });
        assertInstanceOf(commit, CommitOutcomeUnknownError, name);
        network.set("pass");
        // with a connection for the next transaction
        assertEquals(await one(), { one: 1 });

        await lose(`${state} in a BEGIN`, async () => {
          const db = await client();
          network.set(state);
          await withTransaction(db, (tx) => tx.execute(sql`SELECT 1`));
        });
        network.set("pass");
        assertEquals(await one(), { one: 1 });
      }
      const rows = await executeRows(await client(), sql`SELECT n FROM ${said} WHERE n < 3`);
      assertEquals(rows, [], name);
    });
  },
);

Deno.test(
  "statementTimeoutSeconds leaves alone what is answered, what waits its turn, and what a handler does",
  options,
  async () => {
    await withLimitedLab(async ({ name, config }, timers, lab) => {
      const db = await getDrizzleClient(config);
      const sleep = (seconds: number) => sql`SELECT pg_sleep(${sql.raw(String(seconds))})`;
      /** Each piece of work ends a third of the limit after the one before. */
      const inTurn = (work: () => Promise<unknown>) =>
        Promise.all(
          Array.from({ length: 4 }, () => work().then(() => timers.advance(LIMIT_MS * 0.3))),
        );
      // four statements on one connection take longer than the limit, each for itself does not
      await inTurn(() => executeRows(db, sleep(0.05)));
      await inTurn(() => withTransaction(db, (tx) => executeRows(tx, sleep(0.05))));
      await withTransaction(db, async (tx) => {
        await inTurn(() => executeRows(tx, sleep(0.05)));
        // a transaction may rest, and go on
        timers.advance(LIMIT_MS * 1.2);
        await pause(100);
        await executeRows(tx, sleep(0.05));
      });
      // plain statements and transactions that wait for one another
      await Promise.all([1, 2].flatMap(() => [
        executeRows(db, sleep(0.05)).then(() => timers.advance(LIMIT_MS * 0.3)),
        withTransaction(db, (tx) => executeRows(tx, sleep(0.05)))
          .then(() => timers.advance(LIMIT_MS * 0.3)),
      ]));
      // in a handler the deadline counts
      const slow = {
        "a statement": () => executeRows(db, sleep(0.3)),
        "a transaction": () => withTransaction(db, (tx) => executeRows(tx, sleep(0.3))),
      };
      for (const [label, work] of Object.entries(slow)) {
        const seen = await lab.request(`${name}, ${label} in a handler`, async () => {
          const answer = work();
          await pause(100);
          assertEquals(timers.waiting, 0, `${name}, ${label}`);
          await answer;
        });
        assertEquals(seen.status, 200, name);
      }
      await giveUp(
        `${name}, a slow statement in a script`,
        timers,
        () => executeRows(db, sleep(5)),
      );
      assertEquals(await executeRows(db, sql`SELECT 1 AS one`), [{ one: 1 }]);
    });
  },
);

Deno.test(
  "statementTimeoutSeconds limits what commands ask of the database, not what migrations apply",
  options,
  async () => {
    await withLimitedLab(async (target) => {
      const { name, network, config: database } = target;
      const migrationsFolder = await Deno.makeTempDir();
      const migrationsTable = `m_${crypto.randomUUID().replaceAll("-", "").slice(0, 12)}`;
      const table = `t_${migrationsTable}`;
      const names = { migrationsTable, migrationsSchema: `s_${migrationsTable}` };
      await Deno.writeTextFile(
        `${migrationsFolder}/0001_a.sql`,
        `CREATE TABLE ${table} (id int PRIMARY KEY, n int);`,
      );
      // a statement of a migration that takes longer than the limit
      await Deno.writeTextFile(
        `${migrationsFolder}/0002_b.sql`,
        `INSERT INTO ${table} SELECT g, 0 FROM generate_series(1, 3) g CROSS JOIN LATERAL (SELECT pg_sleep(0.8 + g * 0)) s;`,
      );
      try {
        const result = await runMigrations({ migrationsFolder, database, ...names });
        assertEquals(result.applied, 2, name);
        const count = sql`SELECT count(*)::int AS n FROM ${sql.identifier(table)}`;
        assertEquals(await executeRows(await getDrizzleClient(database), count), [{ n: 3 }], name);
        // the session's connection is forgotten by a gateway, and new ones work
        network.onceAnswered("", () => network.forget());
        const startedAt = performance.now();
        await getMigrationStatus({ migrationsFolder, database, ...names }).catch(() => {});
        const ms = Math.round(performance.now() - startedAt);
        console.log(`${name}: status came to an end after ${ms} ms`);
        assertLess(ms, 60_000);
      } finally {
        network.set("pass");
        await Deno.remove(migrationsFolder, { recursive: true });
      }
    }, 2);
  },
);
