import postgres from "postgres";
import type { Clock } from "../../core/async/clock.ts";
import type { DatabaseConfig } from "../../database/config/config.ts";
import {
  type MigrateConfig,
  type MigrateResult,
  runMigrations,
} from "../../database/migrations/run.ts";
import type { DistSqlServer } from "../../distsql/server/server.ts";
import { startPostgres } from "./postgres.ts";
import { withTempFolder } from "./temp_folder.ts";
import { withDistSqlServer } from "./distsql_server.ts";

/** The provider's stand-in over a real PostgreSQL, and a plain database beside it. */
export interface DistSqlLab {
  /** The stand-in. */
  readonly server: DistSqlServer;
  /** How to connect to the stand-in. */
  readonly config: DatabaseConfig;
  /** The database behind the stand-in, without its rules. */
  readonly backing: postgres.Sql;
  /** A database of PostgreSQL to compare with. */
  readonly native: postgres.Sql;
  /** Runs files as migrations on the stand-in: their texts, in order. */
  migrate(files: readonly string[], options?: Partial<MigrateConfig>): Promise<MigrateResult>;
  /** Empties both databases. */
  clear(): Promise<void>;
}

/** Background jobs of the stand-in end at once. */
const impatient: Clock = {
  now: () => Date.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, 2))),
};

/** Empties the schema public, and forgets the migrations. */
async function clearDatabase(sql: postgres.Sql): Promise<void> {
  const found = await sql`SELECT relname, relkind FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v', 'S') ORDER BY relkind`;
  const words: Record<string, string> = { S: "SEQUENCE", r: "TABLE", v: "VIEW" };
  for (const { relname, relkind } of found.toReversed()) {
    await sql.unsafe(`DROP ${words[relkind]} IF EXISTS "${relname.replaceAll('"', '""')}" CASCADE`);
  }
  const enums = await sql`SELECT oid::regtype::text AS name FROM pg_type
    WHERE typnamespace = 'public'::regnamespace AND typtype = 'e'`;
  for (const { name } of enums) await sql.unsafe(`DROP TYPE ${name} CASCADE`);
  await sql.unsafe("DROP SCHEMA IF EXISTS orm CASCADE");
}

function migrate(
  database: DatabaseConfig,
  files: readonly string[],
  options: Partial<MigrateConfig>,
): Promise<MigrateResult> {
  const named = files.map((text, at) => [`${String(at + 1).padStart(4, "0")}_m.sql`, text]);
  return withTempFolder(Object.fromEntries(named), (migrationsFolder) =>
    runMigrations({
      migrationsFolder,
      database,
      clock: impatient,
      useLock: false,
      ...options,
    }));
}

/** Hands a stand-in to a test. */
export async function withDistSqlLab(test: (lab: DistSqlLab) => Promise<void>): Promise<void> {
  const databases = await startPostgres();
  const options = { max: 1, onnotice: () => {}, prepare: false };
  const native = postgres(await databases.createDatabase("native"), options);
  const backing = postgres(databases.url, options);
  try {
    await withDistSqlServer({ backend: { url: databases.url } }, (config, server) =>
      test({
        server,
        config,
        backing,
        native,
        migrate: (files, more = {}) => migrate(config, files, more),
        async clear(): Promise<void> {
          await clearDatabase(native);
          await clearDatabase(backing);
        },
      }));
  } finally {
    await native.end();
    await backing.end();
    await databases.stop();
  }
}
