// deno-lint-ignore-file no-console
/**
 * Deploys a project whose database only its migration function can reach: Terraform with stand-in
 * providers, the built function in Node, the AWS client, and a real PostgreSQL.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../../core/async/clock.ts";
import { closeDrizzleClient, executeRows, getDrizzleClient } from "../../../database/mod.ts";
import { sql } from "../../../database/orm.ts";
import { type LambdaServer, startLambdaServer } from "../../support/lambda_server.ts";
import { startPostgres } from "../../support/postgres.ts";
import {
  getSecretsEnvironment,
  type SecretsServer,
  startSecretsServer,
} from "../../support/secrets_server.ts";
import { hasOffline, TERRAFORM, withProviders } from "../../support/terraform_providers.ts";
import { withEnv } from "../../support/with_env.ts";
import { denoProjectFiles } from "../build/project.ts";
import { type CliResult, runInProcess } from "../fixtures/run.ts";

const MODULES = fileURLToPath(new URL("../../../modules", import.meta.url));
const NAME = "notes-dev-Migrations";
if (!hasOffline) {
  console.warn(
    "SKIPPED: terraform or its stand-in providers are missing. Not run: a migration function.",
  );
}

const FILES: Readonly<Record<string, string>> = {
  // Node has no AWS clients, which are part of Lambda's runtime
  "trellis.config.ts": `import { defineConfig } from "@trellis/fn/cli";
export default defineConfig({ build: { awsSdk: "bundle" }, infra: { projectName: "notes", region: "us-east-1", smoke: false, stages: { dev: {} } } });
`,
  "src/database.ts": `import { createQueryFactory, getDrizzleClient } from "@trellis/fn/database";
import { getRequiredEnv, loadSources } from "@trellis/fn/env";
await loadSources();
const config = { provider: "postgres", connectionString: getRequiredEnv("DATABASE_URL") } as const;
export const { defineQuery } = createQueryFactory(() => getDrizzleClient(config));
`,
  "src/functions/api/notes.get.ts": `import { defineApiHandler } from "@trellis/fn/validation";
import { buildValidatedResponse } from "@trellis/fn/core";
import { defineQuery } from "../../database.ts";
import { DatabaseOperation } from "@trellis/fn/database";
import { sql } from "@trellis/fn/database/orm";
const list = defineQuery(
  { tables: [{ table: "notes", operations: [DatabaseOperation.Select] }] },
  async function list(db) { return await db.execute(sql\`SELECT title FROM notes\`); },
);
export const handler = defineApiHandler({})(async function getNotes({ context }) {
  return buildValidatedResponse(context, 200, await list());
});
`,
  "src/functions/standalone/migrations.ts":
    `import { defineMigrationHandler } from "@trellis/fn/database/migrate";
import { getRequiredEnv, loadSources } from "@trellis/fn/env";
await loadSources();
export const handler = defineMigrationHandler({
  database: { provider: "postgres", connectionString: getRequiredEnv("MIGRATION_DATABASE_URL") },
});
`,
  "migrations/0001_notes.sql": `CREATE TABLE notes (id int PRIMARY KEY, title text NOT NULL);\n`,
  "migrations/0002_rows.sql": `-- trellis: no-transaction
INSERT INTO notes VALUES (1, 'a');
INSERT INTO notes VALUES (2, 'b');
INSERT INTO notes SELECT 3, 'c' FROM pg_sleep(1);
CREATE INDEX CONCURRENTLY notes_title ON notes (title);
INSERT INTO notes VALUES (4, 'd');
`,
};

/** The secret with the address of the function that serves the API. */
const LOGIN_SECRET = "notes-dev/DATABASE_URL/Notes";

const FAILING = "migrations/0003_more.sql";
const FAILING_SQL =
  "ALTER TABLE notes ADD COLUMN body text;\n\nINSERT INTO notes VALUES (1, 'private', 'x');\n";

interface Scene {
  readonly root: string;
  readonly lambda: LambdaServer;
  readonly databaseUrl: string;
  readonly secrets: SecretsServer;
  /** Whether the function of the API existed, at each invocation. */
  readonly isServing: boolean[];
  trellis(line: string): Promise<CliResult>;
  /** The state of Terraform, as text and with the addresses of the resources. */
  readState(): Promise<{ text: string; addresses: string[] }>;
  serve(folder: string): Promise<void>;
}

async function withScene(use: (scene: Scene) => Promise<void>): Promise<void> {
  const work = await Deno.realPath(await Deno.makeTempDir({ prefix: "trellis-migrations-" }));
  const root = join(work, "notes");
  const postgres = await startPostgres();
  const secrets = startSecretsServer();
  const isServing: boolean[] = [];
  const { sleep } = systemClock;
  systemClock.sleep = () => sleep(20);

  async function readState(): Promise<{ text: string; addresses: string[] }> {
    const text = await Deno.readTextFile(join(root, "infra/states/dev.tfstate"))
      .catch(() => `{"resources":[]}`);
    const { resources } = JSON.parse(text) as {
      resources: { module?: string; mode: string; type: string }[];
    };
    const managed = resources.filter(({ mode }) => mode === "managed");
    return { text, addresses: managed.map(({ module, type }) => `${module ?? ""} ${type}`) };
  }
  const lambda = startLambdaServer(async (name) => {
    const { text, addresses } = await readState();
    const { resources } = JSON.parse(text);
    isServing.push(addresses.includes("module.fn_notes aws_lambda_function"));
    const found = resources.find((each: { module?: string; type: string }) =>
      each.module === "module.fn_migrations" && each.type === "aws_lambda_function"
    )?.instances[0].attributes;
    if (found?.function_name !== name) return undefined;
    const env = { ...found.environment[0].variables, ...getSecretsEnvironment(secrets) };
    return { file: join(root, "dist/Migrations/index.mjs"), env };
  });
  try {
    for (const [path, text] of Object.entries({ ...await denoProjectFiles(), ...FILES })) {
      await Deno.mkdir(join(root, path, ".."), { recursive: true });
      await Deno.writeTextFile(join(root, path), text);
    }
    await withProviders(work, async ({ env, serve }) => {
      const variables = {
        ...env,
        ...getSecretsEnvironment(secrets),
        AWS_ENDPOINT_URL_LAMBDA: lambda.url,
        DATABASE_URL: undefined,
      };
      const trellis = (line: string) => runInProcess([...line.split(" "), "--project", root]);
      const databaseUrl = await postgres.createDatabase("notes");
      for (const name of ["DATABASE_URL", "MIGRATION_DATABASE_URL"]) {
        secrets.secrets.set(`notes-dev/${name}`, databaseUrl);
      }
      secrets.secrets.set(LOGIN_SECRET, undefined);
      await withEnv(
        variables,
        () => use({ root, lambda, databaseUrl, secrets, isServing, trellis, readState, serve }),
      );
    });
  } finally {
    systemClock.sleep = sleep;
    await Promise.all([lambda.stop(), secrets.stop()]);
    await postgres.stop();
    await Deno.remove(work, { recursive: true });
  }
}

function assertDone({ exitCode, stdout, stderr }: CliResult): void {
  assertEquals(exitCode, 0, `${stdout}\n${stderr}`);
}

async function readTitles(connectionString: string): Promise<unknown[]> {
  const config = { provider: "postgres", connectionString } as const;
  const db = await getDrizzleClient(config);
  try {
    return (await executeRows(db, sql`SELECT title FROM notes ORDER BY id`)).map((row) =>
      row.title
    );
  } finally {
    await closeDrizzleClient(config);
  }
}

Deno.test({
  name: "trellis deploy migrates through a function in the network, and goes on after its timeout",
  ignore: !hasOffline,
  fn: async (test) => {
    await withScene(async (scene) => {
      const { root, lambda, trellis, readState, databaseUrl, isServing } = scene;
      const listActions = () => lambda.events.map((event) => (event as { action: string }).action);
      const deploy = `deploy --stage dev --yes --terraform ${TERRAFORM} --modules-path ${MODULES}`;
      await test.step("generate infra writes it without a trigger, with one run at a time", async () => {
        assertDone(await trellis("generate permissions"));
        assertDone(await trellis(`generate infra --modules-path ${MODULES}`));
        await scene.serve(join(root, "infra"));
        const text = await Deno.readTextFile(join(root, "infra/fn_migrations.tf"));
        assertMatch(text, /timeout += 900\n/);
        assertMatch(text, /reserved_concurrent_executions += 1\n/);
        assertMatch(text, /maximum_retry_attempts += 0\n/);
        assertStringIncludes(text, "vpc_config");
        assert(!text.includes("resource ") && !/(?:api_gateway|trigger|schedule|rule)/.test(text));
        assertStringIncludes(text, "MIGRATION_DATABASE_URL_SOURCE");
        assert(!text.includes(" DATABASE_URL"));
        const other = await Deno.readTextFile(join(root, "infra/fn_notes.tf"));
        assert(!other.includes("MIGRATION"));
      });
      await test.step("deploy goes on after a timeout, and stops at a failing statement before new code", async () => {
        await Deno.writeTextFile(join(root, FAILING), FAILING_SQL);
        lambda.killAt = "0002_rows: statement 3 of 5";
        const stopped = await trellis(deploy);
        assertEquals(stopped.exitCode, 1, stopped.stdout);
        const { stdout, stderr } = stopped;
        assertStringIncludes(stderr, "pending 0001_notes: 1 statement in one transaction");
        assertStringIncludes(stderr, "pending 0002_rows: 5 statements");
        // the server may end the third statement, which takes a second, after the function is killed
        assertMatch(
          stderr,
          /0002_rows: [23] of 5 statements done, and 1 more pending after 1 invocation: .*timed out/,
        );
        assertMatch(
          stdout,
          /failed migrations: 0003_more\.sql:3 failed at statement 2 \(SQLSTATE 23505/,
        );
        assertStringIncludes(
          stdout,
          "Not run: grants, apply, release, smoke.\nThen run again: trellis deploy",
        );
        assertEquals(listActions(), ["status", "migrate", "status", "migrate"]);
        assertEquals(await readTitles(databaseUrl), ["a", "b", "c", "d"]);
        const { addresses } = await readState();
        assert(addresses.includes("module.fn_migrations aws_lambda_function"));
        assert(!addresses.includes("module.fn_notes aws_lambda_function"));
        const plans = [...Deno.readDirSync(join(root, "infra/.terraform/stages"))].map(({ name }) =>
          name
        );
        assertEquals(
          plans.filter((name) => name.endsWith(".tfplan") || name.endsWith(".lock")),
          [],
        );
        const other = await Deno.readTextFile(join(root, "dist/Notes/index.mjs"));
        assert(!other.includes("CREATE TABLE notes"), "only the migration function has the files");
        const logged = `${stdout}${stderr}${lambda.logged.join()}`;
        assert(!logged.includes("private") && !logged.includes(databaseUrl));
      });
      await test.step("deploy migrates and grants before the new code, after the file was changed", async () => {
        lambda.events.length = 0;
        await Deno.writeTextFile(join(root, FAILING), FAILING_SQL.replace("(1,", "(5,"));
        const done = await trellis(deploy);
        assertEquals(done.exitCode, 0, `${done.stdout}\n${done.stderr}`);
        assertStringIncludes(done.stdout, `done migrations: ${NAME}: 1 applied`);
        assertMatch(done.stdout, /done grants: [1-9]\d* applied/);
        assertStringIncludes(done.stdout, "; 1 login (1 new, 0 unchanged): not tried, because");
        assertEquals(listActions(), ["status", "migrate", "status", "grants", "grants"]);
        assertEquals(await readTitles(scene.secrets.secrets.get(LOGIN_SECRET)!), [
          ..."abcd",
          "private",
        ]);
        const { addresses, text } = await readState();
        assert(addresses.includes("module.fn_notes aws_lambda_function"));
        assert(!text.includes(databaseUrl), "the state has no value of a secret");
        assertEquals(isServing, Array.from({ length: 9 }, () => false));
      });
    });
  },
});
