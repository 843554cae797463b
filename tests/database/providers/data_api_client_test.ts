/** What a project does through the Data API, with the client of AWS and a server that speaks its protocol. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { AUTH_MIGRATION_SQL } from "../../../auth/tables/migration.ts";
import { createAuth, validateSession } from "../../../auth/mod.ts";
import { getMigrationStatus, MigrationError } from "../../../database/migrate.ts";
import {
  applyPermissions,
  closeDrizzleClient,
  executeRows,
  getDrizzleClient,
  runMigrations,
} from "../../../database/mod.ts";
import { sql } from "../../../database/orm.ts";
import { setLogOutput } from "../../../observability/mod.ts";
import { DATA_API } from "../../support/fault_targets.ts";
import { getDirectConfig, startPostgres } from "../../support/postgres.ts";
import { type RdsDataServer, startRdsDataServer } from "../../support/rds_data_server.ts";
import { withEnv } from "../../support/with_env.ts";

const database = getDirectConfig(DATA_API);

const FILES: Readonly<Record<string, string>> = {
  "migrations/0001_auth.sql": AUTH_MIGRATION_SQL,
  "migrations/0002_notes.sql": "CREATE TABLE notes (id int PRIMARY KEY, title text);\n" +
    "INSERT INTO notes VALUES (1, 'it''s: a :name, 100 %');",
  "migrations/0003_single.sql": "-- trellis: no-transaction\nINSERT INTO notes VALUES (2, 'b');\n" +
    "CREATE INDEX CONCURRENTLY notes_title ON notes (title);\nINSERT INTO notes VALUES (3, 'c');",
  "permissions/roles.sql":
    'CREATE ROLE "${PREFIX}-notes" WITH LOGIN;\nGRANT SELECT ON notes TO "${PREFIX}-notes";',
};

async function withDataApi(
  use: (server: RdsDataServer, folder: string) => Promise<void>,
): Promise<void> {
  const unmute = setLogOutput(() => {});
  const postgres = await startPostgres();
  const server = startRdsDataServer(postgres.url);
  const folder = await Deno.makeTempDir();
  try {
    for (const [path, text] of Object.entries(FILES)) {
      await Deno.mkdir(join(folder, path, ".."), { recursive: true });
      await Deno.writeTextFile(join(folder, path), text);
    }
    await withEnv({
      AWS_ACCESS_KEY_ID: "local",
      AWS_SECRET_ACCESS_KEY: "local",
      AWS_ENDPOINT_URL_RDS_DATA: server.url,
    }, () => use(server, folder));
  } finally {
    await closeDrizzleClient(database);
    await server.stop();
    await postgres.stop();
    unmute();
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test({
  name: "migrations, grants and the check of a session work through the Data API",
  // the client of AWS keeps sockets open
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await withDataApi(async (server, folder) => {
      const target = { migrationsFolder: join(folder, "migrations"), database };
      // the service refuses one statement in the middle of a file
      const run = runMigrations({
        ...target,
        logger(line): void {
          if (!line.startsWith("0003_single: statement 3")) return;
          const message = "ERROR: permission denied for table notes; SQLState: 42501";
          server.fail({ name: "DatabaseErrorException", message });
        },
      });
      const error = await assertRejects(() => run, MigrationError, "0003_single.sql");
      assertEquals([error.statement, error.line], [3, 4]);
      const { pending, unfinished } = await getMigrationStatus(target);
      assertEquals([pending, unfinished?.[0].statementsDone], [["0003_single"], 2]);
      assertEquals((await runMigrations(target)).migrations.map(({ tag }) => tag), ["0003_single"]);
      const db = await getDrizzleClient(database);
      assertEquals(await executeRows(db, sql`SELECT id, title FROM notes ORDER BY id`), [
        { id: 1, title: "it's: a :name, 100 %" },
        { id: 2, title: "b" },
        { id: 3, title: "c" },
      ]);
      const concurrent = await Promise.all([runMigrations(target), runMigrations(target)]);
      assertEquals(concurrent.map(({ applied }) => applied), [0, 0]);

      const permissions = {
        permissionsFolder: join(folder, "permissions"),
        database,
        env: { PREFIX: "app" },
      };
      assertEquals(await applyPermissions(permissions), { applied: 2, skipped: 0, errors: [] });
      assertEquals(await applyPermissions(permissions), { applied: 0, skipped: 2, errors: [] });

      const [{ id }] = await executeRows(
        db,
        sql`INSERT INTO users (name, email) VALUES ('Ada', 'ada@example.com') RETURNING id`,
      );
      await db.execute(sql`INSERT INTO sessions (token, expires_at, user_id)
        VALUES ('token-of-ada', now() + interval '20 days', ${id}::uuid)`);
      const auth = createAuth(db, {
        secret: "at-least-32-random-characters-0123456789",
        baseURL: "http://localhost:3000",
      });
      server.requests.length = 0;
      const { user, session } = await validateSession(auth, "token-of-ada");
      assertEquals([user.id, user.email], [id, "ada@example.com"]);
      assert(session.expiresAt.getTime() > Date.now() + 19 * 86_400_000);
      assertEquals(server.requests.filter((line) => line.includes("select")).length, 1);
    });
  },
});
