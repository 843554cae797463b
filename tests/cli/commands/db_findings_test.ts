import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Command } from "../../../cli/terminal/command.ts";
import { createCheckAll, listChecks } from "../../../cli/commands/check_all.ts";
import { checkMigrations } from "../../../cli/commands/check_migrations.ts";
import { dbMarkApplied } from "../../../cli/commands/db_mark_applied.ts";
import { dbMigrate } from "../../../cli/commands/db_migrate.ts";
import { dbStatus } from "../../../cli/commands/db_status.ts";
import { dbTranslate } from "../../../cli/commands/db_translate.ts";
import type { PlanFinding } from "../../../database/migrate.ts";
import { startPostgres } from "../../support/postgres.ts";
import { withEnv } from "../../support/with_env.ts";
import { runAll, startStandIn } from "../database/clone_support.ts";
import { type CliResult, runInProcess } from "../fixtures/run.ts";
import { withTempFolder } from "../../support/temp_folder.ts";

type Files = Readonly<Record<string, string>>;

async function withProject(
  files: Files,
  test: (
    run: (command: Command, ...args: string[]) => Promise<CliResult>,
    root: string,
  ) => Promise<void>,
): Promise<void> {
  await withTempFolder(files, async (root) => {
    const run = (command: Command, ...args: string[]) =>
      runInProcess([...command.name.split(" "), ...args], { commands: [command], cwd: root });
    const unset = {
      DATABASE_URL: undefined,
      DATABASE_ENDPOINT: undefined,
      DATABASE_PROVIDER: undefined,
    };
    await withEnv(unset, () => test(run, root));
  });
}

const unsanitized = { sanitizeOps: false, sanitizeResources: false };
const journal = (...tags: string[]): string =>
  JSON.stringify({ entries: tags.map((tag) => ({ tag })) });

/** What is printed of findings: the lines of errors and warnings, and the indented lines after each. */
function printed({ stderr }: CliResult): string {
  return stderr.split("\n").filter((line) => /^(?:error|warning| {4})/.test(line)).join("\n");
}

Deno.test(
  "every command about migrations tells the same findings before anything runs",
  unsanitized,
  async () => {
    const files = {
      "migrations/meta/_journal.json": journal("0000_a", "0001_b"),
      "migrations/0000_a.sql":
        "CREATE TYPE mood AS ENUM ('a');\nCREATE TABLE plain (id int PRIMARY KEY, n numeric);\n",
      "migrations/0001_b.sql": "-- moods\nCREATE TABLE t (id int PRIMARY KEY, m mood);",
      "migrations/0001_lost.sql": "DROP TABLE plain;",
    };
    const postgres = await startPostgres();
    const url = await postgres.createDatabase("findings");
    const standIn = await startStandIn(url);
    const checkAll = createCheckAll(listChecks([]));
    try {
      await withProject(files, (run) =>
        withEnv(standIn.env, async () => {
          const target = standIn.options("");
          const commands: [command: Command, args: string[]][] = [
            [dbMigrate, target],
            [dbMigrate, ["--dry-run", ...target]],
            [dbMigrate, ["--check", ...target]],
            [dbStatus, target],
            [dbTranslate, ["migrations"]],
          ];
          const lists: PlanFinding[][] = [];
          const texts: string[] = [];
          for (const [command, args] of commands) {
            const text = await run(command, ...args);
            assertEquals(text.exitCode, 1, `${command.name} ${args.join(" ")}: ${text.stderr}`);
            texts.push(printed(text));
            lists.push(JSON.parse((await run(command, ...args, "--json")).stdout).findings);
          }
          const [list] = lists;
          assertEquals(
            list.map(({ severity, file, line, rule }) => `${severity} ${file} ${line} ${rule}`),
            [
              "warning 0001_lost.sql undefined migration-unlisted",
              "error 0000_a.sql 1 create-type",
              "warning 0000_a.sql 2 numeric-precision",
              "error 0001_b.sql 2 type-user-defined",
            ],
          );
          for (const other of lists) assertEquals(other, list);
          for (const other of texts) assertEquals(other, texts[0]);
          assertStringIncludes(
            texts[0],
            "error migrations/0001_b.sql:2:1: CREATE TABLE t: not supported: column m of type mood (type-user-defined)\n" +
              "    CREATE TABLE t (id int PRIMARY KEY, m mood)\n    Set the option `enums` to convert enums to text",
          );
          const all = JSON.parse((await run(checkAll, "--json", ...target)).stdout);
          const migrate = all.checks.find(({ name }: { name: string }) => name === "db migrate");
          assertEquals([all.exitCode, migrate.state, migrate.result.findings], [1, "found", list]);
          const shown = await run(checkAll, ...target);
          for (const line of texts[0].split("\n")) assertStringIncludes(shown.stdout, line);
          const made =
            "SELECT nspname FROM pg_namespace WHERE nspname = 'orm' UNION SELECT relname FROM pg_class " +
            "WHERE relname IN ('plain', 't')";
          assertEquals(
            await runAll({ provider: "serverless-pg", connectionString: url }, [made]),
            [],
          );
        }));
    } finally {
      await standIn.stop();
      await postgres.stop();
    }
  },
);

Deno.test(
  "trellis.config.ts has the choices of the translation for db migrate and db status",
  unsanitized,
  async () => {
    const files = {
      "trellis.config.ts": 'export default { database: { translation: { enums: "check" } } };',
      "migrations/0000_a.sql":
        "CREATE TYPE mood AS ENUM ('a');\nCREATE TABLE t (id int PRIMARY KEY, m mood);\n",
    };
    const postgres = await startPostgres();
    const standIn = await startStandIn(await postgres.createDatabase("choices"));
    try {
      await withProject(files, (run) =>
        withEnv(standIn.env, async () => {
          const status = await run(dbStatus, ...standIn.options(""));
          assertEquals([status.exitCode, printed(status)], [0, ""], status.stderr);
          const migrated = await run(dbMigrate, ...standIn.options(""));
          assertEquals(migrated.exitCode, 0, migrated.stderr);
          assertStringIncludes(migrated.stdout, "1 applied");
        }));
    } finally {
      await standIn.stop();
      await postgres.stop();
    }
  },
);

Deno.test(
  "every command that reads the folder names what the journal does not list",
  unsanitized,
  async () => {
    const files = {
      "migrations/meta/_journal.json": journal("0000_a", "0000_b"),
      "migrations/0000_a.sql": "CREATE TABLE a (id int PRIMARY KEY);",
      "migrations/0000_b.sql": "CREATE TABLE b (id int PRIMARY KEY);",
      "migrations/0001_lost.sql": "DROP TABLE a;",
    };
    await using postgres = await startPostgres();
    const checkAll = createCheckAll(listChecks([]));
    const warning =
      "warning migrations/0001_lost.sql is not listed in meta/_journal.json, so it is never run " +
      "(migration-unlisted)";
    await withProject(files, async (run, root) => {
      // without a database
      const folder = await run(checkMigrations);
      assertEquals(folder.exitCode, 1);
      assertStringIncludes(folder.stderr, warning);
      assertStringIncludes(folder.stdout, "migrations: 2 migrations, 1 not listed");
      const all = await run(checkAll, "--no-database");
      assertEquals(all.exitCode, 1);
      assertMatch(all.stdout, /^check migrations +found$/m);
      assertStringIncludes(all.stdout, warning);

      await withEnv({ DATABASE_URL: postgres.url }, async () => {
        const cases: [command: Command, args: string[], exitCode: number][] = [
          [dbMigrate, ["--dry-run"], 0],
          [dbMigrate, ["--check"], 1],
          [dbMigrate, [], 0],
          [dbMigrate, ["--check"], 1],
          [dbStatus, [], 0],
          [dbStatus, ["--check"], 1],
          [dbMarkApplied, ["0000_a"], 0],
          [dbTranslate, ["migrations"], 0],
          [dbTranslate, ["migrations", "--to", "postgres"], 0],
          [dbTranslate, ["migrations", "--check"], 1],
        ];
        for (const [command, args, exitCode] of cases) {
          const result = await run(command, ...args);
          assertEquals(
            result.exitCode,
            exitCode,
            `${command.name} ${args.join(" ")}: ${result.stderr}`,
          );
          assertStringIncludes(result.stderr, warning, `${command.name} ${args.join(" ")}`);
        }
        const config = { provider: "serverless-pg", connectionString: postgres.url } as const;
        const tables = await runAll(config, [
          "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1",
        ]);
        assertEquals(tables.map(({ tablename }) => tablename), ["a", "b"]);

        const { exitCode, stdout } = await run(checkAll, "--json");
        const states = JSON.parse(stdout).checks.map(({ name, state }: Record<string, string>) =>
          `${name} ${state}`
        );
        assertEquals([exitCode, states.slice(0, 2)], [1, [
          "check migrations found",
          "db migrate found",
        ]]);
        await Deno.remove(`${root}/migrations/0001_lost.sql`);
        for (const command of [checkMigrations, dbMigrate, dbStatus, checkAll]) {
          const args = command === dbMigrate || command === dbStatus ? ["--check"] : [];
          const result = await run(command, ...args);
          assertEquals([result.exitCode, printed(result)], [0, ""], result.stdout);
        }
        // a file that the journal lists must be there
        await Deno.remove(`${root}/migrations/0000_b.sql`);
        for (const command of [checkMigrations, dbMigrate, dbStatus]) {
          const result = await run(command);
          assertEquals(result.exitCode, 3);
          assert(
            result.stderr.includes(
              "0000_b.sql is listed in meta/_journal.json but does not exist",
            ),
            result.stderr,
          );
        }
      });
    });
  },
);
