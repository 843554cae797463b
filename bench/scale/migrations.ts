import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseConfig } from "../../database/config/config.ts";
import { readMigrationFiles } from "../../database/migrations/folder.ts";
import { runMigrations } from "../../database/migrations/run.ts";
import { planSteps } from "../../database/migrations/steps.ts";
import { startPostgres, type TestPostgres } from "../../tests/support/postgres.ts";
import type { Series, Subject, Workload } from "./subject.ts";

/** A folder of small files. */
export function writeMigrations(files: number): string {
  const folder = mkdtempSync(join(tmpdir(), "trellis-scale-"));
  for (let n = 0; n < files; n++) {
    const sql =
      `CREATE TABLE t${n} (id int PRIMARY KEY, name text);\n--> statement-breakpoint\nCREATE INDEX t${n}_name ON t${n} (name);\n`;
    writeFileSync(join(folder, `${String(n).padStart(5, "0")}_file.sql`), sql);
  }
  return folder;
}

function inFolder(name: string, work: (folder: string) => (() => unknown) | Workload): Series {
  return {
    name,
    prepare(size): Workload {
      const folder = writeMigrations(size);
      const made = work(folder);
      const workload = typeof made === "function" ? { run: made } : made;
      return { ...workload, close: () => rmSync(folder, { recursive: true }) };
    },
  };
}

let server: Promise<TestPostgres> | undefined;
let databases = 0;

/** Ends the server that the figures used. */
export async function stopServer(): Promise<void> {
  await (await server)?.stop();
  server = undefined;
}

async function freshDatabase(): Promise<DatabaseConfig> {
  const { createDatabase } = await (server ??= startPostgres());
  return {
    provider: "serverless-pg",
    connectionString: await createDatabase(`scale${++databases}`),
    instrument: false,
  };
}

function plan(provider: DatabaseConfig["provider"]): (folder: string) => () => unknown {
  return function planFolder(folder): () => unknown {
    const files = readMigrationFiles(folder);
    const pending = new Set(files.map(({ tag }) => tag));
    return () => planSteps(files, pending, provider, {});
  };
}

/** Migrations against the number of their files. */
export const migrations: Subject = {
  id: "scale_migrations",
  title: "Migrations against the number of files",
  unit: "files",
  sizes: [10, 50, 200, 500, 1000, 2000],
  series: [
    inFolder(
      "readMigrationFiles",
      (migrationsFolder) => () => readMigrationFiles(migrationsFolder),
    ),
    inFolder("plan for PostgreSQL", plan("serverless-pg")),
    inFolder("plan for distsql", plan("distsql")),
    inFolder("runMigrations on PostgreSQL", (migrationsFolder) => {
      let database: DatabaseConfig;
      return {
        waits: true,
        before: async () => database = await freshDatabase(),
        run: () => runMigrations({ migrationsFolder, database }),
      };
    }),
    inFolder("the same with nothing to do", (migrationsFolder) => {
      let database: DatabaseConfig | undefined;
      return {
        waits: true,
        async before(): Promise<void> {
          if (database !== undefined) return;
          database = await freshDatabase();
          await runMigrations({ migrationsFolder, database });
        },
        run: () => runMigrations({ migrationsFolder, database: database! }),
      };
    }),
  ],
};
