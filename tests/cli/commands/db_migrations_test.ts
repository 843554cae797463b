import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { dbMarkApplied } from "../../../cli/commands/db_mark_applied.ts";
import { dbMigrate, logProgress } from "../../../cli/commands/db_migrate.ts";
import { dbReset, dbSeed } from "../../../cli/commands/db_seed.ts";
import { dbStatus } from "../../../cli/commands/db_status.ts";
import type { Output } from "../../../cli/terminal/output.ts";
import { type CliResult, runInProcess } from "../fixtures/run.ts";
import { startPostgres } from "../../support/postgres.ts";
import { withEnv } from "../../support/with_env.ts";
import { runAll, startStandIn } from "../database/clone_support.ts";

/** A project with migrations, and how its commands are run. */
interface TestProject {
  readonly root: string;
  write(files: Readonly<Record<string, string>>): Promise<void>;
  run(line: string, ...args: string[]): Promise<CliResult>;
}

const FILES = {
  "0001_notes.sql": "CREATE TABLE notes (id int PRIMARY KEY);",
  "0002_title.sql":
    "ALTER TABLE notes ADD COLUMN title text DEFAULT 'none' NOT NULL;\nCREATE INDEX notes_title ON notes (title);",
};

async function withProject(
  test: (project: TestProject) => Promise<void>,
  settings = "",
): Promise<void> {
  const root = await Deno.makeTempDir();
  await Deno.mkdir(`${root}/migrations`);
  if (settings !== "") {
    await Deno.writeTextFile(
      `${root}/trellis.config.ts`,
      `export default { database: { ${settings} } };`,
    );
  }
  const project: TestProject = {
    root,
    async write(files): Promise<void> {
      for (const [name, text] of Object.entries(files)) {
        await Deno.writeTextFile(`${root}/migrations/${name}`, text);
      }
    },
    run: (line, ...args) =>
      runInProcess([...line.split(" "), ...args], {
        commands: [dbMigrate, dbStatus, dbMarkApplied, dbSeed, dbReset],
        cwd: root,
      }),
  };
  try {
    await project.write(FILES);
    await withEnv(
      { DATABASE_URL: undefined, DATABASE_ENDPOINT: undefined, DATABASE_PROVIDER: undefined },
      () => test(project),
    );
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

Deno.test("logProgress() shows statements and the rows of backfills as progress", () => {
  const shown: string[] = [];
  const output = {
    progress: (label: string, done: number, total: number) =>
      void shown.push(`${label} ${done}/${total}`),
    note: (text: string) => void shown.push(text),
  } as unknown as Output;
  logProgress(output, "0002_fill: statement 1 of 2: UPDATE NOTES SET");
  logProgress(output, "notes: 3000 of about 40000 rows");
  logProgress(output, "warning: shown elsewhere");
  logProgress(output, "notes: waiting: 1 session waits for locks of the table");
  assertEquals(shown, [
    "0002_fill UPDATE NOTES SET 1/2",
    "notes rows 3000/40000",
    "notes: waiting: 1 session waits for locks of the table",
  ]);
});

const unsanitized = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "trellis db migrate, status and mark-applied follow a database from empty to drifted",
  unsanitized,
  async () => {
    const postgres = await startPostgres();
    await withProject(async ({ run, write }) => {
      Deno.env.set("APP_DB", postgres.url);
      const label = `postgres postgres://postgres@127.0.0.1:${postgres.port}/postgres`;
      const empty = await run("db status");
      assertEquals(empty.exitCode, 0, empty.stderr);
      assertMatch(empty.stdout, /^0001_notes +pending$/m);
      assertStringIncludes(empty.stdout, `${label}: 2 pending`);
      assertEquals((await run("db status", "--check")).exitCode, 1);

      const checked = await run("db migrate", "--check");
      assertEquals(checked.exitCode, 1, checked.stderr);
      assertStringIncludes(checked.stdout, "pending 0002_title: 2 statements in one transaction");
      assertStringIncludes(checked.stdout, "2 pending, nothing was run");
      const dry = await run("db migrate", "--dry-run");
      assertEquals(dry.exitCode, 0);
      assertStringIncludes(dry.stdout, "    CREATE TABLE notes (id int PRIMARY KEY);\n");

      const migrated = await run("db migrate");
      assertEquals(migrated.exitCode, 0, migrated.stderr);
      assertStringIncludes(migrated.stdout, `${label}: 2 applied`);
      assertEquals((await run("db migrate", "--check")).exitCode, 0);
      assertStringIncludes((await run("db migrate")).stdout, "up to date");

      await write({ "0003_more.sql": "CREATE TABLE more (id int);" });
      const marked = await run("db mark-applied", "0003_more.sql", "--json");
      assertEquals(marked.exitCode, 0, marked.stderr);
      assertEquals(JSON.parse(marked.stdout).alreadyApplied, false);
      assertStringIncludes(
        (await run("db mark-applied", "0003_more")).stdout,
        "was already applied",
      );
      assertMatch((await run("db status")).stdout, /^0003_more +marked +\d{4}-/m);
      assertEquals((await run("db status", "--check")).exitCode, 0);

      await write({ "0004_tags.sql": "SELECT 1", "0005_rest.sql": "SELECT 2" });
      const both = await run("db mark-applied", "0005_rest", "--earlier", "--json");
      const { tag, earlier } = JSON.parse(both.stdout);
      assertEquals([tag, earlier], ["0005_rest", ["0004_tags"]], both.stderr);
      assertMatch((await run("db status")).stdout, /^0004_tags +marked/m);

      await write({
        "0001_notes.sql": "CREATE TABLE notes (id bigint PRIMARY KEY);",
        "0006_new.sql": "SELECT 1",
      });
      for (const line of ["db migrate", "db migrate --check", "db migrate --dry-run"]) {
        const drifted = await run(line);
        assertEquals(drifted.exitCode, 1, line);
        assertStringIncludes(
          drifted.stdout,
          "drifted 0001_notes.sql has changed since it was applied",
        );
        assertStringIncludes(
          drifted.stdout,
          "nothing was run. Restore the file from version control",
        );
      }
      const status = JSON.parse((await run("db status", "--json")).stdout);
      assertEquals(status.exitCode, 1);
      assertEquals(
        status.migrations.map(({ tag, state }: Record<string, string>) => `${tag} ${state}`),
        [
          "0001_notes drifted",
          "0002_title applied",
          "0003_more marked",
          "0004_tags marked",
          "0005_rest marked",
          "0006_new pending",
        ],
      );
    }, 'urlEnv: "APP_DB"').finally(() => postgres.stop());
  },
);

Deno.test(
  "trellis db migrate makes the folder that trellis.config.ts names",
  unsanitized,
  async () => {
    await withProject(async ({ run, root }) => {
      const { exitCode, stdout, stderr } = await run("db migrate");
      assertEquals(exitCode, 0, stderr);
      assertStringIncludes(stdout, "embedded-pg data/pg: 2 applied");
      assert((await Deno.stat(`${root}/data/pg`)).isDirectory);
    }, 'folder: "data/pg"');
  },
);

Deno.test(
  "trellis db migrate names the statement that failed, and status what is unfinished",
  unsanitized,
  async () => {
    await using postgres = await startPostgres();
    await withProject(async ({ root, run, write }) => {
      const env = { DATABASE_URL: postgres.url.replace("postgres@", "postgres:s3cr3t@") };
      await withEnv(env, async () => {
        await write({
          "0003_steps.sql":
            "-- trellis: no-transaction\nCREATE TABLE a (id int);\nCREATE TABLE notes (id int);\n",
        });
        const failed = await run("db migrate");
        assertEquals(failed.exitCode, 3);
        assertStringIncludes(
          failed.stderr,
          '0003_steps.sql:3 failed at statement 2 (SQLSTATE 42P07: relation "notes" already exists). What ran before it stays',
        );
        const status = await run("db status");
        assertEquals(status.exitCode, 1, status.stderr);
        assertMatch(
          status.stdout,
          /^0003_steps +unfinished +1 statement done, the last one at \d{4}-/m,
        );
        assertStringIncludes(status.stdout, "postgres postgres://postgres@127.0.0.1");
        for (const { stdout, stderr } of [failed, status]) {
          assertEquals((stdout + stderr).includes("s3cr3t"), false);
        }
        // under another name, its first statement would run again
        const [steps, other] = ["3", "4"].map((n) => `${root}/migrations/000${n}_steps.sql`);
        await Deno.rename(steps, other);
        const renamed = await run("db migrate");
        assertEquals(renamed.exitCode, 3);
        assertStringIncludes(
          renamed.stderr,
          "0003_steps has begun in this database, and the folder does not contain it: restore its file",
        );
        assertMatch(
          (await run("db status")).stdout,
          /^0003_steps +unfinished +1 statement done; its file is not in the folder$/m,
        );
        await Deno.rename(other, steps);
        // mended by hand, and gone on with
        await runAll({ provider: "serverless-pg", connectionString: postgres.url }, [
          "DROP TABLE notes",
        ]);
        const again = await run("db migrate", "--json");
        assertEquals(again.exitCode, 0, again.stderr);
        assertEquals(JSON.parse(again.stdout).applied.map(({ tag }: { tag: string }) => tag), [
          "0003_steps",
        ]);
        assertEquals((await run("db status", "--check")).exitCode, 0);
      });
    });
  },
);

Deno.test(
  "trellis db migrate and status work on the distributed provider",
  unsanitized,
  async () => {
    const postgres = await startPostgres();
    const standIn = await startStandIn(await postgres.createDatabase("distsql"));
    try {
      await withProject(async ({ run }) => {
        await withEnv(standIn.env, async () => {
          const dry = await run("db migrate", "--dry-run", ...standIn.options(""));
          assertEquals(dry.exitCode, 0, dry.stderr);
          assertStringIncludes(dry.stdout, "CREATE INDEX ASYNC notes_title ON notes (title);");
          const migrated = await run("db migrate", ...standIn.options(""));
          assertEquals(migrated.exitCode, 0, migrated.stderr);
          assertStringIncludes(migrated.stdout, "distsql admin@localhost:");
          assertEquals((await run("db status", "--check", ...standIn.options(""))).exitCode, 0);
        });
      });
    } finally {
      await standIn.stop();
      await postgres.stop();
    }
  },
);

Deno.test("trellis db commands report what keeps them from running", async () => {
  await withProject(async ({ run, root }) => {
    const cases: [args: string[], exitCode: number, message: string][] = [
      [["db", "migrate"], 3, "No database is configured: set DATABASE_URL"],
      [
        ["db", "status", "--migrations", "nope", "--folder", "x"],
        3,
        "The folder nope does not exist",
      ],
      [
        ["db", "mark-applied"],
        2,
        "Missing argument <tag>: trellis db mark-applied <tag> [options]",
      ],
      [
        ["db", "mark-applied", "0009_x", "--folder", "pg"],
        3,
        'The folder has no file "0009_x.sql"',
      ],
      [
        ["db", "migrate", "--lock-timeout", "soon", "--folder", "x"],
        2,
        '--lock-timeout must be a number of seconds above 0, got "soon"',
      ],
      [
        ["db", "migrate", "--backfill-max-wait", "0", "--folder", "x"],
        2,
        '--backfill-max-wait must be a number of seconds above 0, got "0"',
      ],
    ];
    for (const [args, exitCode, message] of cases) {
      const result = await run(args.slice(0, 2).join(" "), ...args.slice(2));
      assertEquals(result.exitCode, exitCode, result.stderr);
      assertStringIncludes(result.stderr, message);
    }
    const port = 9; // discard: nobody listens
    await withEnv({ NOWHERE: `postgres://app:s3cr3t@127.0.0.1:${port}/x` }, async () => {
      const { exitCode, stderr } = await run("db status", "--url-env", "NOWHERE");
      assertEquals(exitCode, 3);
      assertStringIncludes(stderr, "error postgres postgres://app@127.0.0.1:9/x: ");
      assertEquals(stderr.includes("s3cr3t"), false);
      assertEquals(stderr.includes("    at "), false, stderr);
    });
    assertEquals([...Deno.readDirSync(root)].some(({ name }) => name === "x"), false);
  });
});

Deno.test(
  "trellis db seed and db reset fill a local database, and reset refuses others",
  unsanitized,
  async () => {
    const settings = 'folder: "data/pg" }, dev: { seed: "seed.sql"';
    await withProject(async ({ run, root }) => {
      await Deno.writeTextFile(
        `${root}/seed.sql`,
        "INSERT INTO nothing VALUES (1);",
      );
      assertEquals((await run("db reset")).exitCode, 2);
      const reset = await run("db reset --yes");
      assertEquals(reset.exitCode, 3);
      assertStringIncludes(reset.stderr, "The seed seed.sql failed");
      await Deno.writeTextFile(`${root}/seed.sql`, "INSERT INTO notes (id) SELECT 7;");
      const again = await run("db reset --yes");
      assertEquals(again.exitCode, 0, again.stderr);
      assertStringIncludes(again.stdout, "embedded-pg data/pg: 2 migrations applied, seeded");
      const twice = await run("db seed");
      assertEquals(twice.exitCode, 3);
      assertStringIncludes(twice.stderr, "duplicate key");
      Deno.env.set("ELSEWHERE", "postgres://app@db.example.com/notes");
      const remote = await run("db reset --yes --url-env ELSEWHERE");
      assertStringIncludes(remote.stderr, "is not local: db reset drops everything");
    }, settings);
  },
);
