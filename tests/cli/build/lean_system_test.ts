import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { AUTH_MIGRATION_SQL } from "../../../auth/migration.ts";
import { RATE_LIMIT_MIGRATION_SQL } from "../../../database/rate_limits/migration.ts";
import { IDEMPOTENCY_MIGRATION_SQL } from "../../../idempotency/migration.ts";
import { JOBS_MIGRATION_SQL } from "../../../jobs/migration.ts";
import { DATA_API } from "../../support/fault_targets.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";
import { startRdsDataServer } from "../../support/rds_data_server.ts";
import { FEATURE_FILES, FEATURES } from "./lean_features.ts";
import { LEAN_FILES } from "./lean_project.ts";
import { denoProjectFiles, type TestProject, writeTestProject } from "./project.ts";

const TABLES = `${AUTH_MIGRATION_SQL}
${JOBS_MIGRATION_SQL}
${IDEMPOTENCY_MIGRATION_SQL}
${RATE_LIMIT_MIGRATION_SQL}
CREATE TYPE color AS ENUM ('red', 'blue');
CREATE TABLE labels (id uuid PRIMARY KEY, name text NOT NULL, since timestamptz(3));
CREATE TABLE notes (id int PRIMARY KEY, label_id uuid REFERENCES labels, title text NOT NULL,
  color color, meta jsonb, tags text[], at timestamptz(3), CONSTRAINT notes_title_key UNIQUE (title));
INSERT INTO labels VALUES ('11111111-2222-4333-8444-555555555555', 'home', NULL);
INSERT INTO notes VALUES (1, '11111111-2222-4333-8444-555555555555', 'first', 'blue', '{"b":1}', '{a}', '2024-02-29 12:34:56.789Z');
INSERT INTO users (id, name, email) VALUES ('7d3f0a52-0c0b-4b6e-8f3a-1e2d3c4b5a69', 'Ada', 'ada@example.com');
INSERT INTO sessions (id, user_id, token, expires_at) VALUES ('0b9f2c1e-6a54-4c53-9a57-0d6f2b3c4d5e',
  '7d3f0a52-0c0b-4b6e-8f3a-1e2d3c4b5a69', 'known-token', '2999-01-01');
`;

/** The operations of a function, and whether they load drizzle. */
const OPERATIONS: Readonly<Record<string, boolean>> = {
  list: false,
  find: false,
  missing: false,
  add: false,
  taken: false,
  wrong: false,
  none: false,
  twice: false,
  noted: false,
  text: true,
  textError: true,
  related: true,
  nested: true,
  rollback: true,
  drizzle: true,
  afterwards: true,
};
const LEAN = ["Features", "Me", "Operations", "Owner"];
const ORDINARY = ["Changed", "Column", "Guarded", "Registered", "Shared", "Sql", "Unused"];

const REASONS = [
  "Changed: no statements\n    drizzle is included, src/changed.ts:3: notes is used;",
  "Column: find_note\n    drizzle is included, src/functions/api/column.get.ts:6: table is used;",
  "Guarded: no statements\n    drizzle is included, src/guarded.ts:3: process is used, but it is not available",
  "Owner: no statements\n    drizzle on demand, ",
  "Registered: no statements\n    drizzle is included, src/registered.ts:5: integer is used (drizzle-orm/pg-core);",
  "Shared: no statements\n    drizzle is included, src/functions/api/shared.get.ts:5: schema is used;",
  "Sql: no statements\n    drizzle is included, src/functions/api/sql.get.ts:6: sql is used (@trellis/fn/database/orm)\n",
  "Unused: no statements\n    drizzle is included, src/queries.ts:53: eq is used (@trellis/fn/database/orm);",
  "Features: add_note\n    drizzle on demand, ",
  "Me: no statements\n    drizzle on demand, ",
  "Operations: add_label, add_note, add_twice, find_note, list_notes\n    drizzle on demand, ",
];

type Answers = Record<string, string>;

/** Runs operations in one process. Returns their results, or the whole answer if there is another one. */
async function run(
  project: TestProject,
  operations: readonly string[],
  env: Record<string, string>,
): Promise<Answers> {
  const event = { httpMethod: "POST", body: JSON.stringify({ operations }) };
  const { answer, logged } = await project.call("Operations", { event, env });
  // the sources run once, also if drizzle is loaded
  assertEquals(logged.split("the configuration is read").length, 2, logged);
  if (answer.statusCode !== 200) return { [operations.join()]: JSON.stringify(answer) };
  const results: unknown[] = JSON.parse(answer.body!);
  return Object.fromEntries(results.map((each, at) => [operations[at], JSON.stringify(each)]));
}

const listOperations = (loadsDrizzle: boolean): string[] =>
  Object.keys(OPERATIONS).filter((name) => OPERATIONS[name] === loadsDrizzle);

async function answerAll(project: TestProject, env: Record<string, string>): Promise<Answers> {
  const answers: Answers = {
    ...await run(project, listOperations(false), env),
    ...await run(project, ["answer"], env),
    ...await run(project, listOperations(true), env),
  };
  for (const name of [...ORDINARY, "Features", "Me", "Owner", "Ping"]) {
    const event = { headers: { authorization: "Bearer known-token" } };
    answers[name] = JSON.stringify((await project.call(name, { event, env })).answer);
  }
  return answers;
}

async function createDatabase(server: TestPostgres, name: string): Promise<string> {
  const url = await server.createDatabase(name);
  const { default: postgres } = await import("postgres");
  const connection = postgres(url, { max: 1, onnotice() {} });
  await connection.unsafe(TABLES);
  await connection.end();
  return url;
}

/** Answers with PostgreSQL and with the Data API, which has its own texts of statements. */
async function answerOnServers(
  project: TestProject,
  server: TestPostgres,
  kind: string,
): Promise<Answers> {
  const direct = await answerAll(project, { DATABASE_URL: await createDatabase(server, kind) });
  const dataApi = startRdsDataServer(await createDatabase(server, `${kind}_data_api`));
  try {
    const env = {
      DATABASE_URL: DATA_API,
      AWS_ACCESS_KEY_ID: "local",
      AWS_SECRET_ACCESS_KEY: "local",
      AWS_ENDPOINT_URL_RDS_DATA: dataApi.url,
    };
    const operations = ["add", "list", "find", "taken", "related", "rollback"];
    const { answer } = await project.call("Features", { env });
    return {
      ...direct,
      dataApi: JSON.stringify(await run(project, operations, env)),
      dataApiFeatures: JSON.stringify(answer),
    };
  } finally {
    await dataApi.stop();
  }
}

Deno.test({
  name: "trellis build bundles functions without drizzle, and they give the same answers",
  // the client of AWS keeps sockets open
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const project = await writeTestProject({
      ...await denoProjectFiles(),
      ...LEAN_FILES,
      ...FEATURE_FILES,
    });
    const server = await startPostgres();
    const inDist = (path: string) => join(project.root, "dist", path);
    try {
      const { exitCode, stdout } = await project.build();
      assertEquals(exitCode, 0, stdout);
      for (const reason of REASONS) assertStringIncludes(stdout, reason);
      for (const name of [...LEAN, ...ORDINARY, "Ping"]) {
        const files = Array.from(Deno.readDirSync(inDist(name)), (each) => each.name);
        assertEquals(files.includes("drizzle.cjs"), LEAN.includes(name), name);
        const map = await Deno.readTextFile(inDist(`${name}/index.mjs.map`));
        assertEquals(map.includes("drizzle-orm"), ORDINARY.includes(name), name);
      }
      const { sources } = JSON.parse(
        await Deno.readTextFile(inDist("Operations/drizzle.cjs.map")),
      );
      const own = sources.filter((path: string) => !path.includes("drizzle-orm"));
      // the sources and modules with state must not be in both files
      const twice = /(?:core|observability|src)\/|transaction_state|http_errors|database_errors/;
      assertEquals(own.filter((path: string) => twice.test(path)), []);

      const compiled = await answerOnServers(project, server, "compiled");
      assertStringIncludes(compiled.nested, '[7,{"title":"seventh"},409,[');
      assertStringIncludes(compiled.dataApi, "home");
      const alone = { DATABASE_URL: await createDatabase(server, "alone") };
      await Deno.rename(inDist("Operations/drizzle.cjs"), inDist("drizzle.cjs"));
      for (const loadsDrizzle of [false, true]) {
        const results = await run(project, listOperations(loadsDrizzle), alone);
        for (const [name, result] of Object.entries(results)) {
          assertEquals(result !== compiled[name], loadsDrizzle, `${name}: ${result}`);
        }
      }
      await Deno.remove(inDist("Features/drizzle.cjs"));
      const features = { DATABASE_URL: await createDatabase(server, "features") };
      const { answer, logged } = await project.call("Features", { env: features });
      assertEquals(JSON.parse(answer.body!), FEATURES, logged);
      await Deno.writeTextFile(join(project.root, "trellis.config.ts"), "export default {};\n");
      assertEquals((await project.build()).exitCode, 0);
      assertEquals(await exists(inDist("Me/drizzle.cjs")), false);
      assertEquals(compiled, await answerOnServers(project, server, "ordinary"));
    } finally {
      await server.stop();
      await project.remove();
    }
  },
});

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}
