import { assert, assertEquals, assertFalse, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { createTestDatabase } from "../../testing/mod.ts";
import { runInProcess } from "../cli/fixtures/run.ts";
import { withTempFolder } from "../support/temp_folder.ts";
import { withEnv } from "../support/with_env.ts";

/** Marks each place of a secret; each place adds its own ending, so that a leak shows its source. */
const MARKER = "MARKER4711";
const URL_WITH_PASSWORD = `postgres://app:${MARKER}-password@127.0.0.1:1/notes?sslmode=disable`;

const ENV = {
  DATABASE_URL: URL_WITH_PASSWORD,
  TARGET_DATABASE_URL: `postgres://app:${MARKER}-target@127.0.0.1:1/notes`,
  API_BEARER_TOKEN: `${MARKER}-bearer`,
  AUTH_SECRET: `${MARKER}-auth-secret-of-32-characters`,
  AWS_SECRET_ACCESS_KEY: `${MARKER}-aws`,
  AWS_SESSION_TOKEN: `${MARKER}-session`,
  AWS_ACCOUNT_ID: "123456789012",
  RESOURCE_PREFIX: "notes",
};

const PROJECT: Readonly<Record<string, string>> = {
  "deno.json": '{ "name": "@acme/shop" }',
  ".env":
    `API_BEARER_TOKEN=${MARKER}-file\nDATABASE_URL=postgres://u:${MARKER}-file-url@127.0.0.1:1/x\n`,
  "src/db.ts": `import { createQueryFactory, getDrizzleClient } from "@trellis/fn/database";
import { defineEnv, getRequiredEnv } from "@trellis/fn/env";
const env = defineEnv({ DATABASE_URL: { secret: true }, STRIPE_KEY: { secret: true, default: "${MARKER}-default" } });
export const secret = () => getRequiredEnv("AUTH_SECRET");
const { defineQuery } = createQueryFactory(() => getDrizzleClient({ provider: "branching-pg", connectionString: env.DATABASE_URL }));
export const readNotes = defineQuery({ tables: [{ table: "notes", operations: ["SELECT"] }] }, async function readNotes(db) {});\n`,
  "src/functions/api/notes.get.ts": `import { defineApiHandler } from "@trellis/fn";
import { readNotes, secret } from "../../db.ts";
const key = process.env.AWS_SECRET_ACCESS_KEY;
export const handler = defineApiHandler({ auth: "bearer" })(async () => { secret(); await readNotes(); return { statusCode: 200, body: "" }; });\n`,
  "migrations/0001_notes.sql":
    `CREATE TABLE notes (id int PRIMARY KEY);\n-- ${MARKER}-comment\nINSERT INTO notes VALUES ('${MARKER}-value');`,
  "permissions/by_hand.sql": "COMMENT ON SCHEMA public IS '${AUTH_SECRET}';",
};

function withProject(test: (root: string) => Promise<void>): Promise<void> {
  return withTempFolder(PROJECT, (root) => withEnv(ENV, () => test(root)));
}

function filesUnder(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap((entry) =>
    entry.isDirectory ? filesUnder(`${folder}/${entry.name}`) : [`${folder}/${entry.name}`]
  );
}

function assertKeeps(text: string, what: string): void {
  const at = text.indexOf(MARKER);
  assertFalse(at >= 0, `${what}: …${text.slice(Math.max(0, at - 150), at + 60)}…`);
}

const modules = fileURLToPath(new URL("../../modules", import.meta.url));

Deno.test("generated files and the output of generators contain no secret of the environment or .env", async () => {
  await withProject(async (root) => {
    const before = new Set(filesUnder(root));
    for (const noun of [["permissions"], ["infra", "--modules-path", modules], ["openapi"]]) {
      for (const flags of [[], ["--json"], ["--check"], ["--check", "--json"]]) {
        const args = ["generate", ...noun, "--project", root, ...flags];
        const { exitCode, stdout, stderr } = await runInProcess(args);
        assert(exitCode <= 1, `${args.join(" ")}: ${stderr}`);
        assertKeeps(stdout + stderr, args.join(" "));
        if (flags.includes("--json")) JSON.parse(stdout);
      }
    }
    const made = filesUnder(root).filter((file) => !before.has(file));
    assert(made.length >= 4, made.join());
    for (const file of made) assertKeeps(await Deno.readTextFile(file), file);
  });
});

/** A command that cannot connect tries for some seconds: one of them stands for all, the others end before they try. */
const DATABASE_COMMANDS = [
  ["db", "status", "--json"],
  ["db", "clone", "--from-url-env", URL_WITH_PASSWORD],
  ["db", "status", "--url-env", URL_WITH_PASSWORD],
  ["db", "status", "--url-env", URL_WITH_PASSWORD, "--json"],
  ["db", "status", "--folder", URL_WITH_PASSWORD.replace("postgres", "http")],
  ["check", "permissions-fresh"],
];

Deno.test("commands print no connection string if a database cannot be reached", async () => {
  await withProject(async (root) => {
    for (const command of DATABASE_COMMANDS) {
      const args = [...command, "--project", root];
      const { exitCode, stdout, stderr } = await runInProcess(args);
      assert(exitCode >= 1, `${args.join(" ")}: ${exitCode} ${stdout}`);
      assertKeeps(stdout + stderr, args.join(" "));
      if (command.includes("--json")) JSON.parse(stdout);
    }
  });
});

Deno.test("commands print no value of a migration that fails", async () => {
  await withProject(async (root) => {
    const database = await createTestDatabase();
    const env = {
      DATABASE_PROVIDER: "embedded-pg",
      DATABASE_URL: database.config.connectionString,
    };
    const args = ["db", "migrate", "--project", root, "--json"];
    const { exitCode, stdout, stderr } = await withEnv(env, () => runInProcess(args));
    await database.close();
    assertEquals(exitCode, 3, stdout + stderr);
    assertStringIncludes(JSON.parse(stdout).error, "22P02");
    assertKeeps(stdout + stderr, args.join(" "));
  });
});
