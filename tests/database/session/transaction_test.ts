import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  executeRows,
  getDrizzleClient,
  isOccError,
  withDistSqlRetry,
  withQueryMetrics,
  withTransaction,
} from "../../../database/mod.ts";
import { CommitOutcomeUnknownError } from "../../../errors/mod.ts";
import { guardTransactions } from "../../../database/session/transaction_guard.ts";
import { sql } from "../../../database/orm.ts";
import { getSqlState } from "../../../errors/driver_error.ts";
import { findInCauseChain } from "../../../errors/mod.ts";
import { setLogOutput } from "../../../observability/mod.ts";
import { loadEmptySnapshot } from "../../../testing/embedded_snapshot.ts";
import { getDirectConfig, startPostgres } from "../../support/postgres.ts";

function getCode(error: unknown): string | undefined {
  return getSqlState(findInCauseChain(error, (link) => getSqlState(link) !== undefined));
}

async function withDatabases(
  test: (config: DatabaseConfig, name: string) => Promise<void>,
): Promise<void> {
  await using postgres = await startPostgres();
  const configs: DatabaseConfig[] = [
    { provider: "serverless-pg", connectionString: postgres.url, instrument: false },
    { provider: "embedded-pg", connectionString: "memory://transaction", instrument: false },
  ];
  for (const config of configs) {
    const db = await getDrizzleClient(config);
    try {
      await db.execute(sql`CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL DEFAULT 0)`);
      await test(config, config.provider);
    } finally {
      await closeDrizzleClient(config);
    }
  }
}

Deno.test("withTransaction() commits, rolls back, nests, and does not pass an aborted transaction for committed", async () => {
  await withDatabases(async (config, name) => {
    const db = await getDrizzleClient(config);
    const ids = async (): Promise<unknown[]> =>
      (await executeRows(db, sql`SELECT id FROM t ORDER BY id`)).map(({ id }) => id);

    assertEquals(
      await withTransaction(db, async (tx) => {
        await tx.execute(sql`INSERT INTO t VALUES (1)`);
        return "result";
      }),
      "result",
    );
    assertEquals(await ids(), [1], name);

    const thrown = new Error("mine");
    const error = await assertRejects(() =>
      withTransaction(db, async (tx) => {
        await tx.execute(sql`INSERT INTO t VALUES (2)`);
        throw thrown;
      })
    );
    assertEquals(error, thrown);
    assertEquals(await ids(), [1], name);

    // the caller swallows the failure, COMMIT answers with a silent ROLLBACK
    const swallowed = await assertRejects(() =>
      withTransaction(db, async (tx) => {
        await tx.execute(sql`INSERT INTO t VALUES (3)`);
        await tx.execute(sql`INSERT INTO t VALUES (1)`).catch(() => {});
      })
    );
    assertEquals(getCode(swallowed), "23505", name);
    assertEquals(await ids(), [1], name);

    await withTransaction(db, async (tx) => {
      await tx.execute(sql`INSERT INTO t VALUES (4)`);
      await withTransaction(tx, async (inner) => {
        await inner.execute(sql`INSERT INTO t VALUES (5)`);
        await inner.execute(sql`INSERT INTO t VALUES (1)`);
      }).catch(() => {});
      await withTransaction(tx, (inner) => inner.execute(sql`INSERT INTO t VALUES (6)`));
    });
    assertEquals(await ids(), [1, 4, 6], name);
  });
});

Deno.test("withTransaction() is retried as a whole, and a retry inside it leaves its statements alone", async () => {
  const restore = setLogOutput(() => {});
  try {
    await withDatabases(async (config, name) => {
      const db = await getDrizzleClient(config);
      await db.execute(sql.raw(`CREATE FUNCTION fail_once(calls int) RETURNS int LANGUAGE plpgsql AS
        $$ BEGIN IF calls < 3 THEN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END IF; RETURN calls; END $$`));
      let transactions = 0;
      let statements = 0;
      const run = withDistSqlRetry(() =>
        withTransaction(db, async (tx) => {
          transactions++;
          await tx.execute(sql`INSERT INTO t VALUES (10)`);
          return await withQueryMetrics("inner", () => {
            statements++;
            return executeRows(tx, sql`SELECT fail_once(${transactions}::int) AS calls`);
          });
        }), { baseDelayMs: 1 });
      assertEquals(await run, [{ calls: 3 }], name);
      assertEquals([transactions, statements], [3, 3], name);
      assertEquals(await executeRows(db, sql`SELECT id FROM t`), [{ id: 10 }]);
    });
  } finally {
    restore();
  }
});

Deno.test("withTransaction() gives CommitOutcomeUnknownError when COMMIT has no answer, and the server's own word else", async () => {
  const postgres = await startPostgres();
  const config = getDirectConfig(postgres.url);
  try {
    const db = await getDrizzleClient(config);
    // a deferred constraint trigger runs in COMMIT: it ends the connection, or reports a conflict
    await db.execute(sql.raw(`CREATE TABLE c (what text)`));
    await db.execute(
      sql.raw(`CREATE FUNCTION at_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF NEW.what = 'cut' THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
      RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END $$`),
    );
    await db.execute(
      sql.raw(`CREATE CONSTRAINT TRIGGER late AFTER INSERT ON c DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION at_commit()`),
    );
    const cut = await assertRejects(
      () => withTransaction(db, (tx) => tx.execute(sql`INSERT INTO c VALUES ('cut')`)),
      CommitOutcomeUnknownError,
    );
    assertEquals(cut.code, "COMMIT_OUTCOME_UNKNOWN");
    const conflict = await assertRejects(() =>
      withTransaction(db, (tx) => tx.execute(sql`INSERT INTO c VALUES ('conflict')`))
    );
    assert(isOccError(conflict));
    assert(!(conflict instanceof CommitOutcomeUnknownError));
    // the connection that was lost is replaced
    assertEquals(await executeRows(db, sql`SELECT what FROM c`), []);
  } finally {
    await closeDrizzleClient(config);
    await postgres.stop();
  }
});

Deno.test("withTransaction() gives the lost connection itself when it is lost before COMMIT", async () => {
  const postgres = await startPostgres();
  const config = getDirectConfig(postgres.url);
  try {
    const db = await getDrizzleClient(config);
    const error = await assertRejects(() =>
      withTransaction(db, async (tx) => {
        await tx.execute(sql`SELECT pg_terminate_backend(pg_backend_pid())`);
      })
    );
    assert(!(error instanceof CommitOutcomeUnknownError));
    assertEquals(await executeRows(db, sql`SELECT 1 AS one`), [{ one: 1 }]);
  } finally {
    await closeDrizzleClient(config);
    await postgres.stop();
  }
});

Deno.test("guardTransactions() refuses a transaction inside a transaction where there are no savepoints", async () => {
  const { PGlite } = await import("@electric-sql/pglite");
  const { drizzle } = await import("drizzle-orm/pglite");
  const loadDataDir = await loadEmptySnapshot("a test");
  const pglite = await PGlite.create({ loadDataDir });
  const db = guardTransactions(drizzle({ client: pglite }) as never, {
    savepoints: false,
    settings: false,
  });
  const error = await assertRejects(() =>
    withTransaction(db, (tx) => withTransaction(tx, () => Promise.resolve()))
  );
  assertInstanceOf(error, Error);
  assert(error.message.includes("savepoints"));
  const settings = await assertRejects(() =>
    withTransaction(db, () => Promise.resolve(), { isolationLevel: "serializable" })
  );
  assert((settings as Error).message.includes("serializable"));
  assertEquals(
    await withTransaction(db, () => Promise.resolve(1), { isolationLevel: "repeatable read" }),
    1,
  );
  await pglite.close();
});
