import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import postgres from "postgres";
import { AUTH_MIGRATION_SQL } from "../../../auth/migration.ts";
import { DATA_API } from "../../support/fault_targets.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";
import { startRdsDataServer } from "../../support/rds_data_server.ts";
import {
  CHANGED_ROWS,
  CREDENTIALS,
  LEAN_AUTH_FILES,
  LEAN_AUTH_TABLES,
} from "./lean_auth_project.ts";
import { denoProjectFiles, type TestProject, writeTestProject } from "./project.ts";

/** The functions that check keys and sessions, and those that keep drizzle. */
const LEAN = {
  keys: ["Key", "Updated"],
  tokens: [
    "Session",
    "Member",
    "Owner",
    "Role",
    "Fresh",
    "Optional",
    "Allowed",
    "Mixed",
    "Missing",
  ],
};
const ORDINARY = { keys: ["Touched"], tokens: ["Placed", "Shared"] };

const REASONS = [
  "src/placed_auth.ts:4: schema of auth: user.place: columns of type PgCustomColumn are decoded",
  "src/touched_keys.ts:4: schema of auth: apikey.touchedAt: it has $onUpdate",
  "drizzle is included, src/placed_auth.ts:4: session is used; src/placed_auth.ts:4: user is used",
  "drizzle is included, src/shared_auth.ts:5: config is used",
  "drizzle is included, src/touched_keys.ts:4: apikey is used",
];

type Answers = Record<string, unknown>;
type GetHeaders = (credential: string) => Record<string, string>;

/** Calls each function with every credential in turn; with the key that has a limit, three times. */
async function answerAll(project: TestProject, env: Record<string, string>): Promise<Answers> {
  const answers: Answers = {};
  const call = async (name: string, given: readonly string[], getHeaders: GetHeaders) => {
    const events = given.map((each) => ({ headers: getHeaders(each) }));
    const results = await project.callEach(name, events, { env });
    results.forEach(({ statusCode, body = "", thrown }, at) => {
      // an extended session has the time of the test
      const isTimed = ["due", "old"].includes(given[at]) || name === "Fresh";
      answers[`${name} ${at} ${given[at]}`] = [statusCode, isTimed ? "" : body, thrown];
    });
  };
  const keys = [...CREDENTIALS.keys, "limited", "limited"];
  for (const name of [...LEAN.keys, ...ORDINARY.keys]) {
    await call(name, keys, (key) => ({ "x-api-key": key }));
  }
  for (const name of [...LEAN.tokens, ...ORDINARY.tokens]) {
    await call(name, CREDENTIALS.tokens, (token) => ({ authorization: `Bearer ${token}` }));
  }
  return answers;
}

async function answerWith(
  project: TestProject,
  server: TestPostgres,
  name: string,
  isDataApi: boolean,
): Promise<Answers> {
  const url = await server.createDatabase(name);
  const connection = postgres(url, { max: 1, onnotice() {} });
  await connection.unsafe(AUTH_MIGRATION_SQL + LEAN_AUTH_TABLES);
  const dataApi = isDataApi ? startRdsDataServer(url) : undefined;
  const answers = await answerAll(project, {
    DATABASE_URL: isDataApi ? DATA_API : url,
    ...(dataApi && {
      AWS_ACCESS_KEY_ID: "local",
      AWS_SECRET_ACCESS_KEY: "local",
      AWS_ENDPOINT_URL_RDS_DATA: dataApi.url,
    }),
  });
  const [changed] = await connection.unsafe(CHANGED_ROWS);
  await connection.end();
  await dataApi?.stop();
  return { ...answers, changed };
}

Deno.test({
  name: "trellis build bundles checks of sessions and API keys with own tables without drizzle",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const project = await writeTestProject({ ...await denoProjectFiles(), ...LEAN_AUTH_FILES });
    const server = await startPostgres();
    const inDist = (path: string) => join(project.root, "dist", path);
    try {
      const { exitCode, stdout } = await project.build();
      assertEquals(exitCode, 0, stdout);
      for (const reason of REASONS) assertStringIncludes(stdout, reason);
      for (const [functions, isLean] of [[LEAN, true], [ORDINARY, false]] as const) {
        for (const name of Object.values(functions).flat()) {
          const map = await Deno.readTextFile(inDist(`${name}/index.mjs.map`));
          assertEquals(map.includes("drizzle-orm"), !isLean, `${name}\n${stdout}`);
        }
      }
      const dataApi = await answerWith(project, server, "compiled_data_api", true);
      // from here on, nothing may load drizzle, except for the value of $onUpdate
      for (const name of Object.values(LEAN).flat()) {
        if (name !== "Updated") await Deno.remove(inDist(`${name}/drizzle.cjs`));
      }
      const compiled = await answerWith(project, server, "compiled", false);
      const statuses = Object.values(compiled).map((each) => (each as unknown[])[0]);
      for (const status of [200, 401, 403, 429]) {
        assert(statuses.filter((each) => each === status).length > 3, JSON.stringify(compiled));
      }
      // the configuration of the function Missing has no table of members
      const failed = Object.keys(compiled).filter((_, at) => statuses[at] === 500);
      assertEquals(failed.filter((name) => !name.startsWith("Missing ")), []);

      await Deno.writeTextFile(join(project.root, "trellis.config.ts"), "export default {};\n");
      assertEquals((await project.build()).exitCode, 0);
      assertEquals(compiled, await answerWith(project, server, "ordinary", false));
      assertEquals(dataApi, await answerWith(project, server, "ordinary_data_api", true));
    } finally {
      await server.stop();
      await project.remove();
    }
  },
});
