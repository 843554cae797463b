import { assert, assertEquals } from "@std/assert";
import { createAuth, validateSession } from "../../auth/mod.ts";
import { getMigrationStatus } from "../../database/migrate.ts";
import {
  applyPermissions,
  closeDrizzleClient,
  type DatabaseConfig,
  executeRows,
  getDrizzleClient,
  runMigrations,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { startDistSqlServer } from "../../distsql/server/server.ts";
import { runInProcess } from "../cli/fixtures/run.ts";
import { getDirectConfig, startPostgres, type TestPostgres } from "../support/postgres.ts";
import { withEnv } from "../support/with_env.ts";
import { getAdminConfig, getCredentials } from "../support/distsql_server.ts";

/** What `scripts/release_fixtures.ts` wrote about a release. */
interface Release {
  version: string;
  auth: { secret: string; baseURL: string };
  login: { email: string; password: string };
  tokens: Record<string, string>;
}

const RELEASES = new URL("../fixtures/releases/", import.meta.url);
const EXAMPLE = new URL("../../examples/notes/", import.meta.url);
const versions = [...Deno.readDirSync(RELEASES)].filter(({ isDirectory }) => isDirectory).map((
  { name },
) => name)
  .sort();

// the AWS client keeps a socket open, and a migration's session ends after its test
const options = { sanitizeOps: false, sanitizeResources: false };

async function readRelease(version: string): Promise<{ folder: string; release: Release }> {
  const folder = new URL(`${version}/`, RELEASES).pathname;
  return { folder, release: JSON.parse(await Deno.readTextFile(`${folder}release.json`)) };
}

/** Makes a database what the release left behind. */
async function restore(database: DatabaseConfig, file: string): Promise<void> {
  const db = await getDrizzleClient(database);
  for (const statement of (await Deno.readTextFile(file)).split(/;\n(?=[A-Z]|$)/)) {
    if (statement.trim() !== "") await db.execute(sql.raw(statement));
  }
}

/** What today's code makes of a database of the release. */
async function readsDatabase(
  { folder, release }: Awaited<ReturnType<typeof readRelease>>,
  database: DatabaseConfig,
) {
  const name = `${release.version} ${database.provider}`;
  const migrationsFolder = await Deno.makeTempDir();
  for (const { name: file } of Deno.readDirSync(`${folder}migrations`)) {
    await Deno.copyFile(`${folder}migrations/${file}`, `${migrationsFolder}/${file}`);
  }
  try {
    const before = await getMigrationStatus({ migrationsFolder, database });
    assertEquals([before.pending, before.changed, before.unfinished], [[], [], []], name);
    assert(before.applied.length > 0, name);
    assertEquals((await runMigrations({ migrationsFolder, database })).applied, 0, name);
    // the history and the lease of the release take what is new
    await Deno.writeTextFile(
      `${migrationsFolder}/9001_upgraded.sql`,
      "CREATE TABLE upgraded (id int PRIMARY KEY);\n",
    );
    assertEquals((await runMigrations({ migrationsFolder, database })).applied, 1, name);
    const after = await getMigrationStatus({ migrationsFolder, database });
    assertEquals([after.applied.length, after.pending], [before.applied.length + 1, []], name);

    const db = await getDrizzleClient(database);
    const auth = createAuth(db, release.auth);
    const { user, session } = await validateSession(auth, release.tokens[database.provider]);
    assertEquals(
      [user.email, session.expiresAt.getUTCFullYear()],
      [release.login.email, 2099],
      name,
    );
    if (database.provider === "embedded-pg") {
      // the hash of the password too
      const { email, password } = release.login;
      assertEquals((await auth.api.signInEmail({ body: { email, password } })).user.email, email);
    }
  } finally {
    await Deno.remove(migrationsFolder, { recursive: true });
  }
}

async function withReleasePostgres(test: (postgres: TestPostgres) => Promise<void>): Promise<void> {
  const postgres = await startPostgres();
  const giveBack = setLogOutput(() => {});
  try {
    await test(postgres);
  } finally {
    giveBack();
    await postgres.stop();
  }
}

Deno.test("there is a fixture of a release", () =>
  assert(versions.length > 0, "run scripts/release_fixtures.ts"));

for (const version of versions) {
  Deno.test(
    `databases of ${version} are read: history, lease, sessions, permissions`,
    options,
    async () => {
      const read = await readRelease(version);
      await withReleasePostgres(async (postgres) => {
        const embedded: DatabaseConfig = {
          provider: "embedded-pg",
          connectionString: `memory://${version}`,
          instrument: false,
        };
        const connectionString = await postgres.createDatabase("serverless");
        const serverless = getDirectConfig(connectionString);
        for (const database of [embedded, serverless]) {
          await restore(database, `${read.folder}databases/${database.provider}.sql`);
          await readsDatabase(read, database);
          await closeDrizzleClient(database);
        }

        const url = await postgres.createDatabase("distsql");
        const backend = getDirectConfig(url);
        const server = await startDistSqlServer({ backend: { url } });
        const database = getAdminConfig(server);
        await withEnv({
          ...getCredentials(server),
          AWS_ACCOUNT_ID: "123456789012",
          RESOURCE_PREFIX: "notes-dev",
        }, async () => {
          try {
            await restore(backend, `${read.folder}databases/distsql.sql`);
            // the text is run by the server's owner, the cluster's tables belong to its admin
            await executeRows(
              await getDrizzleClient(backend),
              sql.raw(`DO $$ DECLARE t regclass; BEGIN
            FOR t IN SELECT c.oid FROM pg_class c WHERE relkind = 'r' AND relnamespace IN ('public'::regnamespace, 'orm'::regnamespace)
            LOOP EXECUTE format('ALTER TABLE %s OWNER TO admin', t); END LOOP; ALTER SCHEMA orm OWNER TO admin; END $$`),
            );
            await closeDrizzleClient(backend);
            await readsDatabase(read, database);
            const permissions = { permissionsFolder: `${read.folder}permissions`, database };
            const first = await applyPermissions(permissions);
            assertEquals(first.errors, []);
            assert(first.applied > 0);
            assertEquals((await applyPermissions(permissions)).applied, 0);
          } finally {
            await closeDrizzleClient(database);
            await server.stop();
          }
        });
      });
    },
  );

  Deno.test(`what ${version} generated is known as generated, and is brought up to date`, async () => {
    const { folder } = await readRelease(version);
    const root = await Deno.realPath(await Deno.makeTempDir());
    try {
      for (const name of ["src", "migrations", "trellis.config.ts"]) {
        await new Deno.Command("cp", { args: ["-r", new URL(name, EXAMPLE).pathname, root] })
          .output();
      }
      for (const name of ["permissions", "infra", "openapi.json"]) {
        await new Deno.Command("cp", { args: ["-r", `${folder}${name}`, root] }).output();
      }
      for (const what of ["permissions", "infra", "openapi"]) {
        const written = await runInProcess(["generate", what, "--project", root]);
        assertEquals(written.exitCode, 0, `generate ${what}: ${written.stderr}${written.stdout}`);
        const again = await runInProcess(["generate", what, "--project", root, "--check"]);
        assertEquals(again.exitCode, 0, `generate ${what} --check: ${again.stderr}${again.stdout}`);
      }
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  });
}
