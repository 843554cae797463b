// deno-lint-ignore-file no-console
/**
 * Writes the fixtures of this release to `tests/fixtures/releases/<version>/`, which later releases
 * are tested with: migrated databases with a user and a session, and all generated files of
 * `examples/notes`. Run it once per release, before the tag. Fixtures of earlier releases are never
 * changed.
 *
 *   deno run -A scripts/release_fixtures.ts [--force]
 *
 * The databases are SQL files, because a compressed embedded database has 4.6 MB.
 */
import { createAuth } from "../auth/accounts/instance.ts";
import { closeDrizzleClient, getDrizzleClient } from "../database/providers/client.ts";
import type { DatabaseConfig } from "../database/config/config.ts";
import { runMigrations } from "../database/migrations/run.ts";
import { sql } from "../database/orm.ts";
import { setLogOutput } from "../observability/output.ts";
import { withDistSqlServer } from "../tests/support/distsql_server.ts";
import { startPostgres, type TestPostgres } from "../tests/support/postgres.ts";
import { dumpDatabase } from "./dump_database.ts";

/** Expiry time of the session, after every test run. */
const FAR_END = "2099-01-01T00:00:00Z";
const ROOT = new URL("../", import.meta.url);
const EXAMPLE = new URL("examples/notes/", ROOT);

const { version } = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
const folder = new URL(`tests/fixtures/releases/${version}/`, ROOT);
const login = { email: "ada@example.com", password: "correct horse battery staple", name: "Ada" };
const auth = {
  secret: crypto.randomUUID() + crypto.randomUUID(),
  baseURL: "http://localhost:3000",
};

if (
  !Deno.args.includes("--force") && await Deno.stat(folder).catch(() => undefined) !== undefined
) {
  console.error(
    `${folder.pathname} exists: fixtures are written once per release (--force overwrites them)`,
  );
  Deno.exit(1);
}
setLogOutput(() => {});
await Deno.remove(folder, { recursive: true }).catch(() => {});
await Deno.mkdir(new URL("databases/", folder), { recursive: true });
for (const name of ["migrations", "permissions", "infra"]) await copyFolder(name);
await Deno.copyFile(new URL("openapi.json", EXAMPLE), new URL("openapi.json", folder));
const postgres = await startPostgres();
try {
  const tokens = {
    "embedded-pg": await writeEmbedded(),
    "serverless-pg": await writeServerless(postgres),
    "distsql": await writeDistSql(postgres),
  };
  const facts = { version, auth, login, tokens };
  await Deno.writeTextFile(new URL("release.json", folder), `${JSON.stringify(facts, null, 2)}\n`);
} finally {
  await postgres.stop();
}
console.log(`wrote ${folder.pathname}`);
// the AWS client keeps a socket open
Deno.exit(0);

async function copyFolder(name: string): Promise<void> {
  await Deno.mkdir(new URL(`${name}/`, folder));
  for await (const { name: file, isFile } of Deno.readDir(new URL(`${name}/`, EXAMPLE))) {
    if (isFile) {
      await Deno.copyFile(new URL(`${name}/${file}`, EXAMPLE), new URL(`${name}/${file}`, folder));
    }
  }
}

/** Migrates a database, signs up a user and returns the session token. */
async function fill(database: DatabaseConfig): Promise<string> {
  await runMigrations({ migrationsFolder: new URL("migrations", folder).pathname, database });
  const db = await getDrizzleClient(database);
  const { token } = await createAuth(db, auth).api.signUpEmail({ body: login });
  if (token === null) throw new Error("the sign-up returned no session");
  await db.execute(sql`UPDATE sessions SET expires_at = ${FAR_END}`);
  return token;
}

async function write(name: string, database: DatabaseConfig): Promise<void> {
  const text = await dumpDatabase(await getDrizzleClient(database), ["public", "orm"]);
  await Deno.writeTextFile(new URL(`databases/${name}.sql`, folder), text);
  await closeDrizzleClient(database);
}

async function writeEmbedded(): Promise<string> {
  const database: DatabaseConfig = { provider: "embedded-pg", instrument: false };
  const token = await fill(database);
  await write("embedded-pg", database);
  return token;
}

async function writeServerless(postgres: TestPostgres): Promise<string> {
  const connectionString = await postgres.createDatabase("serverless");
  const database: DatabaseConfig = {
    provider: "serverless-pg",
    connectionString,
    instrument: false,
  };
  const token = await fill(database);
  await write("serverless-pg", database);
  return token;
}

async function writeDistSql(postgres: TestPostgres): Promise<string> {
  const url = await postgres.createDatabase("distsql");
  let token!: string;
  await withDistSqlServer({ backend: { url } }, async (config) => {
    token = await fill(config);
  });
  await write("distsql", { provider: "serverless-pg", connectionString: url, instrument: false });
  return token;
}
