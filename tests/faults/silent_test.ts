// deno-lint-ignore-file no-console -- the figures are part of the result
import {
  assert,
  assertEquals,
  assertGreater,
  assertInstanceOf,
  assertLess,
  assertRejects,
} from "@std/assert";
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

// the clients of AWS and Neon keep sockets open between tests
const options = { sanitizeOps: false, sanitizeResources: false };

const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const states = isFull ? ["black-hole", "half-open"] as const : ["half-open"] as const;

/** Statements below it sleep for a fraction of it: on a busy machine an answer comes late. */
const LIMIT_SECONDS = 0.5;

/** Runs work on each provider with the limit. */
function withLimitedLab(
  work: (target: FaultTarget, lab: FaultLab) => Promise<void>,
): Promise<void> {
  return withFaultLab(async (target, lab) => {
    const config = { ...target.config, statementTimeoutSeconds: LIMIT_SECONDS };
    try {
      await work({ ...target, config }, lab);
    } finally {
      target.network.set("pass");
      await closeDrizzleClient(config);
    }
  });
}

/** The error of a statement that was given up, and how long it took. */
async function giveUp(label: string, work: () => Promise<unknown>): Promise<unknown> {
  const startedAt = performance.now();
  const error = await assertRejects(work);
  const ms = Math.round(performance.now() - startedAt);
  console.log(`${label}: ${(error as Error).name} after ${ms} ms`);
  assertGreater(ms, LIMIT_SECONDS * 1000 - 50, label);
  assertLess(ms, LIMIT_SECONDS * 1000 + 2500, label);
  return error;
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
    await withLimitedLab(async (target) => {
      const { name, network, config } = target;
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
        assert(tells(await giveUp(`${name}, ${state} in a statement`, one)), name);
        network.set("pass");
        assertEquals(await one(), { one: 1 });

        network.set(state);
        const failed = await giveUp(`${name}, ${state} in a query`, () => find());
        assertInstanceOf(failed, DatabaseError);
        assert(tells(failed), name);
        network.set("pass");
        assertEquals(await one(), { one: 1 });

        const inside = await giveUp(`${name}, ${state} in a transaction`, async () => {
          await withTransaction(await client(), async (tx) => {
            await tx.execute(sql`INSERT INTO ${said} VALUES (1)`);
            network.set(state);
            await tx.execute(sql`INSERT INTO ${said} VALUES (2)`);
          });
        });
        assert(tells(inside), name);
        network.set("pass");

        const commit = await giveUp(`${name}, ${state} in a COMMIT`, async () => {
          await withTransaction(await client(), async (tx) => {
            await tx.execute(sql`INSERT INTO ${said} VALUES (3)`);
            network.set(state);
          });
        });
        assertInstanceOf(commit, CommitOutcomeUnknownError, name);
        network.set("pass");

        await giveUp(`${name}, ${state} in a BEGIN`, async () => {
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
    await withLimitedLab(async (target, lab) => {
      const { name, config } = target;
      const db = await getDrizzleClient(config);
      const sleep = (seconds: number) => sql`SELECT pg_sleep(${sql.raw(String(seconds))})`;
      // four statements on one connection take longer than the limit, each for itself does not
      await Promise.all([1, 2, 3, 4].map(() => executeRows(db, sleep(0.15))));
      await Promise.all(
        [1, 2, 3, 4].map(() => withTransaction(db, (tx) => executeRows(tx, sleep(0.2)))),
      );
      await withTransaction(db, async (tx) => {
        await Promise.all([1, 2, 3, 4].map(() => executeRows(tx, sleep(0.15))));
        // a transaction may rest, and go on
        await new Promise((resolve) => setTimeout(resolve, LIMIT_SECONDS * 1000 + 150));
        await executeRows(tx, sleep(0.15));
      });
      // plain statements and transactions that wait for one another
      await Promise.all([1, 2].flatMap(() => [
        executeRows(db, sleep(0.15)),
        withTransaction(db, (tx) => executeRows(tx, sleep(0.15))),
      ]));
      // in a handler the deadline counts
      const { status } = await lab.request(
        `${name}, a slow statement in a handler`,
        () => executeRows(db, sleep(1)),
        5000,
      );
      assertEquals(status, 200, name);
      const slow = await lab.request(
        `${name}, a slow transaction in a handler`,
        () => withTransaction(db, (tx) => executeRows(tx, sleep(1))),
        5000,
      );
      assertEquals(slow.status, 200, name);
      await giveUp(`${name}, a slow statement in a script`, () => executeRows(db, sleep(1)));
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
        `INSERT INTO ${table} SELECT g, 0 FROM generate_series(1, 3) g CROSS JOIN LATERAL (SELECT pg_sleep(0.2 + g * 0)) s;`,
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
        assertLess(ms, 20_000);
      } finally {
        network.set("pass");
        await Deno.remove(migrationsFolder, { recursive: true });
      }
    });
  },
);
