/**
 * Deployments that are killed (SIGKILL) in each of their steps, on the emulator. After each kill the release that runs
 * answers, migrations are whole or not begun, and every function can sign in. The next deployment goes on.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import postgres from "postgres";
import { writeFiles } from "../support/temp_folder.ts";
import { renderHealth, STATES } from "./project.ts";
import { deployFirst, type Suite, testOnEmulator } from "./suite.ts";

/** The steps that can be killed, and milliseconds from the end of the step before to the last kill in it. */
const STEPS = {
  check: 2000,
  build: 1500,
  compat: 2000,
  plan: 4000,
  roles: 6000,
  secrets: 300,
  migrations: 1000,
  grants: 1500,
  apply: 8000,
  release: 1500,
  smoke: 300,
} as const;

/** Rounds in which the moments of kills move from the beginning of a step to its end. */
const ROUNDS = 4;
/** Kills at least: on a fast machine some deployments end before their moment, and more rounds follow. */
const KILLS = 40;

testOnEmulator(
  "a killed deployment leaves a whole release, and the next one goes on",
  async (suite) => {
    const { root, step, trellis } = suite;
    let api = "";
    const killed: string[] = [];
    await step("a first deployment", async () => {
      api = await deployFirst(suite);
    });
    const isEnough = () => killed.length >= KILLS;
    for (let round = 1; round <= ROUNDS || !isEnough() && round <= 3 * ROUNDS; round++) {
      await step(`round ${round}: something changes in each step`, () => change(suite, round));
      for (const [index, [name, longestMs]] of Object.entries(STEPS).entries()) {
        const before = Object.keys(STEPS)[index - 1];
        const ms = Math.round(longestMs * ((round - 1) % ROUNDS) / (ROUNDS - 1));
        await step(`round ${round}: killed in ${name} after ${ms} ms`, async () => {
          if (await deployUntil(suite, before, ms)) killed.push(name);
          await assertWhole(suite, api, round);
        });
      }
      await step(`round ${round}: the next deployment goes on to its end`, async () => {
        const { code, text } = await trellis("deploy --stage dev --yes --unlock");
        assertEquals(code, 0, text);
        await assertWhole(suite, api, round);
        const health = await suite.emulator.request(`${api}/health`);
        assertEquals(await health.json(), { release: `r${round}` });
        const added = await suite.emulator.request(`${api}/added-${round}`);
        assertEquals([added.status, await added.text()], [200, `{"release":"r${round}"}`]);
        const plan = await trellis("deploy --stage dev --plan");
        assertStringIncludes(plan.text, "done plan: no changes");
        const { Contents } = (await suite.send(["s3", "ListObjectsV2", { Bucket: STATES }]))[0];
        assertEquals(
          Contents.map(({ Key }: { Key: string }) => Key),
          ["app/dev.tfstate", "app/dev.tfstate.releases.json"],
        );
      });
    }
    await step("every step was killed", () => {
      assertEquals([...new Set(killed)], Object.keys(STEPS));
      assert(isEnough(), `${killed.length} kills`);
      return Promise.resolve();
    });
    await step(
      "the locks of a killed Terraform are explained, and removed with --unlock",
      async () => {
        await Deno.writeTextFile(
          join(root, "src/functions/api/health.get.ts"),
          renderHealth("last"),
        );
        await suite.send(["s3", "PutObject", {
          Bucket: STATES,
          Key: "app/dev.tfstate.tflock",
          Body: JSON.stringify({
            ID: crypto.randomUUID(),
            Who: "ana@laptop",
            Created: "2026-01-01T00:00:00Z",
          }),
        }]);
        const refused = await trellis("deploy --stage dev --yes");
        assertEquals(refused.code, 1);
        assertStringIncludes(
          refused.text,
          "failed plan: The state is locked by ana@laptop since 2026-01-01",
        );
        const { code, text } = await trellis("deploy --stage dev --yes --unlock");
        assertEquals(code, 0, text);
      },
    );
    await step("of two deployments that find an expired lock at once, one goes on", async () => {
      for (let time = 1; time <= 3; time++) {
        await Deno.writeTextFile(
          join(root, "src/functions/api/health.get.ts"),
          renderHealth(`taken over ${time}`),
        );
        const killed = { id: "killed", owner: "ana@laptop", startedAt: "2026-01-01T00:00:00Z" };
        await suite.send(["s3", "PutObject", {
          Bucket: STATES,
          Key: "app/dev.tfstate.deploy.lock",
          Body: JSON.stringify(killed),
          Metadata: { "written-at": "2026-01-01T00:00:00.000Z" },
        }]);
        const both = await Promise.all([1, 2].map(() => trellis("deploy --stage dev --yes")));
        const [done, refused] = both.sort((a, b) => a.code - b.code);
        assertEquals([done.code, refused.code], [0, 3], `${done.text}\n${refused.text}`);
        assertStringIncludes(refused.text, "is deploying app-dev (since ");
        assert(!refused.text.includes(killed.owner), refused.text);
        const health = await suite.emulator.request(`${api}/health`);
        assertEquals(await health.json(), { release: `taken over ${time}` });
      }
    });
  },
  { isLong: true, preloads: ["hurry.cjs"] },
);

/** Changes what each step has to do: a migration, a function with its role, secret and login, and code. */
async function change({ root, trellis }: Suite, round: number): Promise<void> {
  const number = String(round + 1).padStart(4, "0");
  await writeFiles(root, {
    [`migrations/${number}_round.sql`]:
      `CREATE TABLE round_${round} (id uuid PRIMARY KEY);\nALTER TABLE notes ADD COLUMN round_${round} text;\n`,
    "src/functions/api/health.get.ts": renderHealth(`r${round}`),
    [`src/functions/api/added-${round}.get.ts`]: renderHealth(`r${round}`),
  });
  for (const what of ["permissions", "infra", "openapi"]) {
    const { code, text } = await trellis(`generate ${what}`);
    assertEquals(code, 0, text);
  }
}

/** Deploys, and kills the command some time after the end of a step. Returns false if it has ended before. */
async function deployUntil(
  { startTrellis }: Suite,
  step: string | undefined,
  ms: number,
): Promise<boolean> {
  const child = startTrellis("deploy --stage dev --yes --unlock");
  await child.stdin.close();
  const errors = new Response(child.stderr).text();
  let text = "";
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  for (let isDone = step === undefined; !isDone;) {
    const { value, done } = await reader.read();
    text += value ?? "";
    isDone = done || text.includes(`done ${step}:`);
    assert(!text.includes("failed "), `${text}\n${await Promise.race([errors, text])}`);
  }
  reader.cancel().catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, ms));
  try {
    child.kill("SIGKILL");
  } catch {
    // it has ended
  }
  const { signal } = await child.status;
  return signal === "SIGKILL";
}

/** Checks that the stage is whole: a release answers, migrations are whole, and functions sign in. */
async function assertWhole(
  { emulator, send, databaseUrl }: Suite,
  api: string,
  round: number,
): Promise<void> {
  for (const path of ["/health", "/notes"]) {
    const response = await emulator.request(`${api}${path}`);
    const text = await response.text();
    assertEquals(response.status, 200, `${path}: ${text}`);
  }
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  const { SecretList } = (await send(["secrets-manager", "ListSecrets", { MaxResults: 100 }]))[0];
  try {
    const [{ tables, columns, recorded }] = await sql`
      SELECT count(*) FILTER (WHERE to_regclass('round_' || n) IS NOT NULL)::int AS tables,
        count(*) FILTER (WHERE EXISTS (
          SELECT FROM pg_attribute WHERE attrelid = 'notes'::regclass AND attname = 'round_' || n
        ))::int AS columns,
        (SELECT count(*)::int FROM orm.__orm_migrations WHERE tag LIKE '%_round') AS recorded
      FROM generate_series(1, ${round}) AS n`;
    assertEquals([columns, recorded], [tables, tables]);
    assert(tables >= round - 1);
  } finally {
    await sql.end();
  }
  const names = SecretList.map(({ Name }: { Name: string }) => Name)
    .filter((name: string) => name.startsWith("app-dev/DATABASE_URL/"));
  for (const name of names) {
    const found = await send(["secrets-manager", "GetSecretValue", { SecretId: name }])
      .catch(() => undefined);
    if (found === undefined) continue; // no value was put yet
    const login = postgres(found[0].SecretString, { max: 1 });
    try {
      await login`SELECT count(*) FROM notes`;
    } finally {
      await login.end();
    }
  }
}
