import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type Command, type CommandResult, ExitCode } from "../../../cli/terminal/command.ts";
import { createCheckAll, listChecks } from "../../../cli/commands/check_all.ts";
import { dbApplyPermissions } from "../../../cli/commands/db_apply_permissions.ts";
import { checkPermissionsFresh } from "../../../cli/commands/check_permissions_fresh.ts";
import { generatePermissions } from "../../../cli/commands/generate_permissions.ts";
import { applyPermissions, type DatabaseConfig, runMigrations } from "../../../database/mod.ts";
import { getDirectConfig, startPostgres, type TestPostgres } from "../../support/postgres.ts";
import { withEnv } from "../../support/with_env.ts";
import { runAll } from "../database/clone_support.ts";
import { type CliResult, runInProcess } from "../fixtures/run.ts";
import { withTempFolder } from "../../support/temp_folder.ts";

const FILES: Readonly<Record<string, string>> = {
  "migrations/0001_notes.sql": "CREATE TABLE notes (id int PRIMARY KEY, title text);",
  "permissions/NotesGet.sql":
    `CREATE ROLE "fn_notes_get" WITH LOGIN;\nGRANT SELECT ON "notes" TO "fn_notes_get";\n`,
};

interface TestProject {
  readonly root: string;
  readonly postgres: TestPostgres;
  readonly database: DatabaseConfig;
  write(files: Readonly<Record<string, string>>): Promise<void>;
  run(command: Command, ...args: string[]): Promise<CliResult>;
}

/** A migrated database that grants what the project's files say. */
async function withProject(test: (project: TestProject) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir();
  const postgres = await startPostgres();
  const database = getDirectConfig(postgres.url);
  const project: TestProject = {
    root,
    postgres,
    database,
    async write(files): Promise<void> {
      for (const [path, text] of Object.entries(files)) {
        await Deno.mkdir(`${root}/${path.slice(0, path.lastIndexOf("/"))}`, { recursive: true });
        await Deno.writeTextFile(`${root}/${path}`, text);
      }
    },
    run: (command, ...args) =>
      runInProcess([...command.name.split(" "), ...args], { commands: [command], cwd: root }),
  };
  try {
    await project.write(FILES);
    await runMigrations({ migrationsFolder: `${root}/migrations`, database });
    await applyPermissions({ permissionsFolder: `${root}/permissions`, database });
    const env = {
      DATABASE_URL: postgres.url,
      DATABASE_ENDPOINT: undefined,
      DATABASE_PROVIDER: undefined,
    };
    await withEnv(env, () => test(project));
  } finally {
    await postgres.stop();
    await Deno.remove(root, { recursive: true });
  }
}

const unsanitized = { sanitizeOps: false, sanitizeResources: false };

/** A generator whose check has a given result. */
function fakeGenerator(
  name: string,
  exitCode: ExitCode | Error,
): Command & { options: Command["options"] } {
  return {
    name,
    summary: "",
    description: [],
    options: [{ name: "check", description: "" }],
    examples: [],
    exitCodes: {},
    run({ options, output, args }): Promise<CommandResult> {
      assertEquals([options.check, args], [true, []]);
      assert(!("url-env" in options), "only what the command knows");
      if (exitCode instanceof Error) return Promise.reject(exitCode);
      if (exitCode === ExitCode.Found) output.line(`stale ${name}.json`);
      return Promise.resolve({ exitCode });
    },
  };
}

Deno.test(
  "trellis check permissions-fresh tells what is missing and what is too much",
  unsanitized,
  async () => {
    await withProject(async ({ run, database, write }) => {
      const fresh = await run(checkPermissionsFresh);
      assertEquals(fresh.exitCode, 0, fresh.stderr + fresh.stdout);
      assertStringIncludes(fresh.stdout, "grants match the files");

      await runAll(database, [`GRANT DELETE ON notes TO fn_notes_get`]);
      const surplus = await run(checkPermissionsFresh);
      assertEquals(surplus.exitCode, 1);
      const revoke = `REVOKE DELETE ON TABLE "public"."notes" FROM "fn_notes_get";`;
      assertStringIncludes(
        surplus.stdout,
        `surplus DELETE on table public.notes to fn_notes_get: ${revoke}\n`,
      );
      assertEquals((await run(checkPermissionsFresh, "--allow-surplus")).exitCode, 0);
      // what is shown is what mends it
      await runAll(database, [revoke]);
      assertEquals((await run(checkPermissionsFresh)).exitCode, 0);

      await write({ "permissions/NotesPost.sql": `GRANT INSERT ON "notes" TO "fn_notes_get";` });
      const missing = await run(checkPermissionsFresh, "--json");
      assertEquals(missing.exitCode, 1);
      const { gaps, surpluses, database: label } = JSON.parse(missing.stdout);
      assertEquals([gaps.length, gaps[0].source, surpluses], [1, "NotesPost.sql:1", []]);
      assertMatch(label, /^postgres postgres:\/\/postgres@127/);

      const applied = await run(dbApplyPermissions);
      assertEquals(applied.exitCode, 0, applied.stderr);
      assertMatch(applied.stdout, /: [1-9]\d* applied, \d+ unchanged\n$/);
      assertEquals((await run(checkPermissionsFresh)).exitCode, 0);
      await write({
        "permissions/NotesPost.sql": `GRANT INSERT ON no_such_table TO "fn_notes_get";`,
      });
      const failed = await run(dbApplyPermissions, "--json");
      assertEquals(failed.exitCode, 1);
      assertStringIncludes(JSON.parse(failed.stdout).errors[0], "no_such_table");

      await write({
        "permissions/NotesPost.sql":
          'GRANT INSERT ON "${NO_SUCH_VARIABLE}_notes" TO "fn_notes_get";',
      });
      const unset = await run(checkPermissionsFresh);
      assertEquals(unset.exitCode, 3);
      assertStringIncludes(unset.stderr, "NO_SUCH_VARIABLE");
      assertStringIncludes(
        (await run(checkPermissionsFresh, "--permissions", "nope")).stderr,
        "The folder nope",
      );
    });
  },
);

Deno.test(
  "trellis check all runs every check, names skipped ones, and ends with the worst",
  unsanitized,
  async () => {
    await withProject(async ({ run, root, write }) => {
      const states = ({ stdout }: CliResult) =>
        JSON.parse(stdout).checks.map(({ name, state }: Record<string, string>) =>
          `${name}: ${state}`
        );
      const check = (infra: ExitCode | Error, openapi: ExitCode | Error) =>
        createCheckAll(
          listChecks([
            fakeGenerator("generate infra", infra),
            fakeGenerator("generate openapi", openapi),
          ]),
        );

      const skipped = await run(check(ExitCode.Found, ExitCode.Found));
      assertEquals(skipped.exitCode, 0, skipped.stdout);
      assertMatch(
        skipped.stdout,
        /^generate infra +skipped +infra does not exist: trellis generate infra creates it$/m,
      );
      assertMatch(skipped.stdout, /^generate openapi +skipped +openapi.json does not exist/m);
      assertMatch(skipped.stdout, /^db migrate +ok$/m);
      assertMatch(skipped.stdout, /^check permissions-fresh +ok$/m);

      await write({ "infra/a.tf": "", "openapi.json/x": "" });
      const found = await run(check(ExitCode.Done, ExitCode.Found), "--json");
      assertEquals(found.exitCode, 1);
      assertEquals(states(found), [
        "generate infra: ok",
        "generate openapi: found",
        "check migrations: ok",
        "db migrate: ok",
        "check permissions-fresh: ok",
      ]);
      assertEquals(JSON.parse(found.stdout).checks[1].detail, ["stale generate openapi.json"]);
      assertEquals(JSON.parse(found.stdout).checks[1].result, {
        command: "generate openapi",
        exitCode: 1,
      });

      const failed = await run(check(new Error("no parser"), ExitCode.Found));
      assertEquals(failed.exitCode, 3, failed.stdout);
      assertStringIncludes(failed.stdout, "generate infra\n  error no parser\n");
      assertStringIncludes(failed.stdout, "generate openapi\n  stale generate openapi.json\n");

      await write({ "migrations/0002_more.sql": "CREATE TABLE more (id int);" });
      const pending = await run(check(ExitCode.Done, ExitCode.Done));
      assertEquals(pending.exitCode, 1, pending.stdout);
      assertStringIncludes(pending.stdout, "  pending 0002_more: 1 statement in one transaction\n");

      const without = await run(check(ExitCode.Done, ExitCode.Done), "--no-database");
      assertEquals(without.exitCode, 0);
      assertMatch(without.stdout, /^db migrate +skipped +--no-database$/m);
      await withEnv({ DATABASE_URL: undefined }, async () => {
        const unnamed = await run(check(ExitCode.Done, ExitCode.Done));
        assertEquals(unnamed.exitCode, 0);
        assertMatch(
          unnamed.stdout,
          /^db migrate +skipped +no database is configured: set DATABASE_URL/m,
        );
      });
      // a database that does not answer is no reason to say that all is well
      await withEnv({ DATABASE_URL: "postgres://app:s3cr3t@127.0.0.1:9/x" }, async () => {
        const silent = await run(check(ExitCode.Done, ExitCode.Found));
        assertEquals(silent.exitCode, 3);
        assertMatch(silent.stdout, /^db migrate +failed$/m);
        assertEquals((silent.stdout + silent.stderr).includes("s3cr3t"), false);
      });
      assertEquals([...Deno.readDirSync(`${root}/infra`)].map(({ name }) => name), ["a.tf"]);
    });
  },
);

Deno.test("trellis check all runs the check of the real generator of permissions", async () => {
  await withTempFolder({}, async (root) => {
    await Deno.mkdir(`${root}/src/functions/api`, { recursive: true });
    await Deno.writeTextFile(
      `${root}/src/functions/api/health.get.ts`,
      "export const handler = () => ({});\n",
    );
    await withEnv({
      DATABASE_URL: undefined,
      DATABASE_ENDPOINT: undefined,
      DATABASE_PROVIDER: undefined,
    }, async () => {
      const all = createCheckAll(listChecks([generatePermissions]));
      const options = { commands: [all], cwd: root };
      const stale = await runInProcess(["check", "all"], options);
      assertEquals(stale.exitCode, 1, stale.stderr);
      assertStringIncludes(stale.stdout, "  missing infra/database_roles.tf\n");
      assertEquals([...Deno.readDirSync(root)].map(({ name }) => name), ["src"]);
      await runInProcess(["generate", "permissions"], {
        commands: [generatePermissions],
        cwd: root,
      });
      const fresh = await runInProcess(["check", "all"], options);
      assertEquals(fresh.exitCode, 0, fresh.stdout);
    });
  });
});
