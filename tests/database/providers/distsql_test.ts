import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { getMigrationStatus, MigrationError } from "../../../database/migrate.ts";
import {
  closeDrizzleClient,
  DatabaseError,
  executeRows,
  getDrizzleClient,
  isOccError,
  onConnectionInvalidated,
  runMigrations,
  withDistSqlRetry,
  withTransaction,
} from "../../../database/mod.ts";
import type { ConnectionInvalidation } from "../../../database/types.ts";
import { CommitOutcomeUnknownError } from "../../../errors/mod.ts";
import { sql } from "../../../database/orm.ts";
import { getSqlState } from "../../../errors/driver_error.ts";
import { ConfigurationError, findInCauseChain } from "../../../errors/mod.ts";
import type { DistSqlServer } from "../../../distsql/server/server.ts";
import type { DistSqlServerOptions } from "../../../distsql/server/server_options.ts";
import { startPostgres } from "../../support/postgres.ts";
import { type DistSqlConfig, withDistSqlServer } from "../../support/distsql_server.ts";

interface Lab {
  server: DistSqlServer;
  admin: DistSqlConfig;
  folder: string;
  write: (files: Record<string, string>) => Promise<void>;
}

async function withServer(
  test: (lab: Lab) => Promise<void>,
  options: DistSqlServerOptions = {},
): Promise<void> {
  const postgres = await startPostgres();
  const folder = await Deno.makeTempDir();
  try {
    await withDistSqlServer(
      { backend: { url: postgres.url }, ...options },
      (admin, server) =>
        test({
          server,
          admin,
          folder,
          async write(files): Promise<void> {
            for (const [name, content] of Object.entries(files)) {
              await Deno.writeTextFile(`${folder}/${name}`, content);
            }
          },
        }).finally(async () => {
          for (let i = 0; i < 3; i++) await closeDrizzleClient();
        }),
    );
  } finally {
    await postgres.stop();
    await Deno.remove(folder, { recursive: true });
  }
}

function getCode(error: unknown): string | undefined {
  return getSqlState(findInCauseChain(error, (link) => getSqlState(link) !== undefined));
}

const options = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "distsql signs a token for each connection and verifies the server",
  options,
  async () => {
    await withServer(async ({ server, admin }) => {
      const events: ConnectionInvalidation[] = [];
      const unregister = onConnectionInvalidated((event) => void events.push(event));
      const db = await getDrizzleClient(admin);
      assertEquals(await executeRows(db, sql`SELECT current_user AS name`), [{ name: "admin" }]);
      server.closeIdleConnections();
      await new Promise((resolve) => setTimeout(resolve, 100));
      assertEquals(await executeRows(db, sql`SELECT 1 AS one`), [{ one: 1 }]);
      assertEquals(events.map(({ provider, reason }) => [provider, reason]), [[
        "distsql",
        "ended",
      ]]);

      const { ca: _ca, ...untrusted } = admin;
      await assertRejects(() => getDrizzleClient(untrusted));
      const refused = await assertRejects(
        () => getDrizzleClient({ ...admin, isAdmin: undefined, username: "stranger" }),
        DatabaseError,
      );
      assertStringIncludes(refused.message, "dsql:DbConnect");
      assertStringIncludes(refused.message, "AWS IAM GRANT stranger");
      assertEquals(events.at(-1)?.reason, "refused");
      unregister();
    });
  },
);

Deno.test(
  "distsql retries conflicts at COMMIT, tells a lost COMMIT, and refuses a transaction in a transaction",
  options,
  async () => {
    await withServer(async ({ server, admin }) => {
      const db = await getDrizzleClient(admin);
      await db.execute(sql`CREATE TABLE c (id int PRIMARY KEY, n int)`);
      await db.execute(sql`INSERT INTO c VALUES (1, 0)`);
      const add = (): Promise<unknown> =>
        withTransaction(db, (tx) => tx.execute(sql`UPDATE c SET n = n + 1 WHERE id = 1`));
      const read = async (): Promise<unknown> => (await executeRows(db, sql`SELECT n FROM c`))[0].n;

      server.inject({ fault: "OC000" });
      assert(isOccError(await assertRejects(add)));
      server.inject({ fault: "OC000", times: 2 });
      let retries = 0;
      await withDistSqlRetry(add, { baseDelayMs: 1, onRetry: () => void retries++ });
      assertEquals([retries, await read()], [2, 1]);

      server.inject({ fault: "cut-after-commit" });
      await assertRejects(() => withDistSqlRetry(add), CommitOutcomeUnknownError);
      assertEquals(await read(), 2);
      server.inject({ fault: "cut-before-commit" });
      await withDistSqlRetry(add, { idempotent: true, baseDelayMs: 1 });
      assertEquals(await read(), 3);

      const nested = await assertRejects(() =>
        withTransaction(db, (tx) => withTransaction(tx, () => Promise.resolve()))
      );
      assertInstanceOf(nested, ConfigurationError);
      assertEquals(
        getCode(await assertRejects(() => db.execute(sql`CREATE INDEX c_n ON c (n)`))),
        "0A000",
      );
    });
  },
);

Deno.test(
  "runMigrations() on distsql translates, waits for jobs, keeps constraints, and fills columns in batches",
  options,
  async () => {
    await withServer(async ({ admin, folder: migrationsFolder, write, server }) => {
      await write({
        "0001_start.sql": `CREATE TABLE owners (id int PRIMARY KEY, name text);
--> statement-breakpoint
CREATE TABLE notes (id int PRIMARY KEY, owner_id int, title text);
CREATE INDEX notes_owner ON notes USING btree (owner_id DESC);`,
        "0002_rows.sql": `INSERT INTO owners VALUES (1, 'a');
INSERT INTO notes SELECT n, 1, 'note ' || n FROM generate_series(1, 2500) AS n;
INSERT INTO notes SELECT n, 1, 'note ' || n FROM generate_series(2501, 5000) AS n;`,
        "0003_column.sql": `ALTER TABLE notes ADD COLUMN done boolean DEFAULT false NOT NULL;
UPDATE notes SET title = title || '!';
ALTER TABLE notes ADD CONSTRAINT notes_owner_fk FOREIGN KEY (owner_id) REFERENCES owners (id);
ALTER TABLE notes ADD CONSTRAINT notes_title_unique UNIQUE (title);`,
      });
      const lines: string[] = [];
      const result = await runMigrations({
        migrationsFolder,
        database: admin,
        logger: (line) => lines.push(line),
      });
      assertEquals(result.applied, 3, lines.join("\n"));
      const db = await getDrizzleClient(admin);
      assertEquals(
        await executeRows(
          db,
          sql`SELECT count(*)::int AS n, count(*) FILTER (WHERE NOT done)::int AS filled,
        count(*) FILTER (WHERE title LIKE '%!' AND title NOT LIKE '%!!')::int AS changed FROM notes`,
        ),
        [{ n: 5000, filled: 5000, changed: 5000 }],
      );
      assertEquals(
        await executeRows(
          db,
          sql`SELECT conname, convalidated FROM pg_constraint WHERE conrelid = 'notes'::regclass
        AND contype IN ('f', 'u', 'c') ORDER BY conname`,
        ),
        [
          { conname: "notes_done_not_null", convalidated: true },
          { conname: "notes_owner_fk", convalidated: true },
          { conname: "notes_title_unique", convalidated: true },
        ],
      );
      assertEquals(
        await executeRows(
          db,
          sql`SELECT indisvalid FROM pg_index WHERE indexrelid = 'notes_owner'::regclass`,
        ),
        [{ indisvalid: true }],
      );
      assertEquals((await runMigrations({ migrationsFolder, database: admin })).applied, 0);
      assertEquals((await getMigrationStatus({ migrationsFolder, database: admin })).pending, []);
      assert(server.statistics.commits > 10);
    });
  },
);

Deno.test(
  "runMigrations() on distsql drops an index that failed, names the job's reason, and goes on when the rows are mended",
  options,
  async () => {
    await withServer(async ({ admin, folder: migrationsFolder, write }) => {
      await write({
        "0001_a.sql":
          "CREATE TABLE t (id int PRIMARY KEY, email text);\nINSERT INTO t VALUES (1, 'x'), (2, 'x');\n" +
          "CREATE UNIQUE INDEX t_email ON t (email);",
      });
      const error = await assertRejects(
        () => runMigrations({ migrationsFolder, database: admin }),
        MigrationError,
      );
      assertStringIncludes(error.message, "invalid index was dropped");
      const db = await getDrizzleClient(admin);
      assertEquals(await executeRows(db, sql`SELECT to_regclass('t_email') IS NULL AS gone`), [{
        gone: true,
      }]);
      await db.execute(sql`UPDATE t SET email = 'y' WHERE id = 2`);
      const lines: string[] = [];
      await runMigrations({
        migrationsFolder,
        database: admin,
        logger: (line) => lines.push(line),
      });
      assertStringIncludes(lines.join("\n"), "continues at statement 3");
      assertEquals(
        await executeRows(
          db,
          sql`SELECT i.indisvalid FROM pg_index i WHERE i.indexrelid = 't_email'::regclass`,
        ),
        [
          { indisvalid: true },
        ],
      );
    });
  },
);

Deno.test(
  "runMigrations() on distsql goes on through catalog conflicts and cut connections",
  options,
  async () => {
    await withServer(async ({ admin, folder: migrationsFolder, write, server }) => {
      await write({
        "0001_a.sql": Array.from(
          { length: 6 },
          (_, at) => `CREATE TABLE t${at} (id int PRIMARY KEY, n int);`,
        ).join("\n"),
        "0002_b.sql": Array.from({ length: 6 }, (_, at) => `INSERT INTO t${at} VALUES (1, 1);`)
          .join("\n"),
        "0003_c.sql": Array.from({ length: 3 }, (_, at) => `CREATE INDEX t${at}_n ON t${at} (n);`)
          .join("\n"),
      });
      server.inject({ fault: "cut-after-commit", times: 3 });
      server.inject({ fault: "cut-before-commit", times: 3 });
      const result = await runMigrations({ migrationsFolder, database: admin });
      assertEquals(result.applied, 3);
      const db = await getDrizzleClient(admin);
      for (let at = 0; at < 6; at++) {
        assertEquals(await executeRows(db, sql.raw(`SELECT count(*)::int AS n FROM t${at}`)), [{
          n: 1,
        }]);
      }
    }, { catalogConflicts: true });
  },
);

Deno.test(
  "runMigrations() on distsql makes a table again where there is no statement for the change",
  options,
  async () => {
    await withServer(async ({ admin, folder: migrationsFolder, write }) => {
      await write({
        "0001_a.sql": "CREATE TABLE prices (id int PRIMARY KEY, amount text NOT NULL);\n" +
          "INSERT INTO prices SELECT n, n || '.50' FROM generate_series(1, 2000) AS n;",
        "0002_b.sql":
          "ALTER TABLE prices ALTER COLUMN amount TYPE numeric(10, 2) USING amount::numeric;\n" +
          "INSERT INTO prices VALUES (2001, 0.25);",
      });
      assertEquals((await runMigrations({ migrationsFolder, database: admin })).applied, 2);
      const db = await getDrizzleClient(admin);
      assertEquals(
        await executeRows(db, sql`SELECT count(*)::int AS n, sum(amount)::text AS sum FROM prices`),
        [{ n: 2001, sum: "2002000.25" }],
      );
      assertEquals(
        await executeRows(
          db,
          sql`SELECT format_type(atttypid, atttypmod) AS type FROM pg_attribute
        WHERE attrelid = 'prices'::regclass AND attname = 'amount'`,
        ),
        [{ type: "numeric(10,2)" }],
      );
    });
  },
);
