import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { type CompatSteps, createCompatSteps } from "../../../cli/deploy/compat_step.ts";
import { type OpenStage, StepError } from "../../../cli/deploy/deployment.ts";
import type { ReleaseManifest } from "../../../cli/releases/release_manifest.ts";
import { openReleaseRecord } from "../../../cli/releases/release_record.ts";
import { withTempFolder, writeFiles } from "../../support/temp_folder.ts";

const STAGE = { name: "dev", backend: {}, variables: {} };

/** A release that reads one column. */
function createRelease(column: string, migrations: readonly string[]): ReleaseManifest {
  const sql = `SELECT ${column} FROM notes`;
  const statements = [{ name: "find", place: "src/notes.ts:1", sql }];
  return {
    version: 1,
    migrations,
    functions: [{ name: "Notes", role: null, grants: [], statements, unchecked: [] }],
  };
}

function openSteps(
  root: string,
  options: Readonly<Record<string, boolean>>,
  warnings: string[],
): CompatSteps {
  return createCompatSteps({
    context: { root, options, output: { warn: (text: string) => warnings.push(text) } },
    config: { infra: {}, build: { dir: "dist" }, database: { migrationsDir: "migrations" } },
    folder: root,
    stage: STAGE,
  } as unknown as OpenStage);
}

Deno.test("createCompatSteps() refuses a rollback over a migration that breaks the release before", async () => {
  const root = await Deno.makeTempDir();
  const warnings: string[] = [];
  const record = openReleaseRecord(undefined, root, STAGE);
  async function deploy(release: ReleaseManifest, hasMoved = true): Promise<void> {
    await writeFiles(root, { "dist/release.json": JSON.stringify(release) });
    const steps = openSteps(root, { "allow-breaking": true }, warnings);
    await steps.check();
    await steps.begin();
    await steps.finish(hasMoved);
  }
  try {
    const first = createRelease("title", ["0001_base"]);
    const second = createRelease("name", ["0001_base", "0002_name"]);
    await writeFiles(root, {
      "migrations/0001_base.sql": "CREATE TABLE notes (id int PRIMARY KEY, title text);",
    });
    await deploy(first);
    await (await openSteps(root, {}, warnings).beginRollback(false))();
    assertEquals(warnings.length, 1);
    assertStringIncludes(warnings[0], "the release before fits the schema is not checked");
    await writeFiles(root, {
      "migrations/0002_name.sql": "ALTER TABLE notes RENAME title TO name;",
    });
    await deploy(second);
    assertEquals(await record.read(), { running: [second], previous: first });
    await deploy(second, false);
    const refused = await assertRejects(
      () => openSteps(root, {}, warnings).beginRollback(false),
      StepError,
    );
    assertStringIncludes(
      refused.message,
      "0002_name.sql:1: ALTER TABLE notes RENAME title TO name",
    );
    assertStringIncludes(refused.message, "breaks find (src/notes.ts:1) of Notes");
    assertEquals(await record.read(), { running: [second], previous: first });
    // the release before has the same statements
    await deploy(second);
    const finish = await openSteps(root, {}, warnings).beginRollback(false);
    await finish();
    assertEquals(await record.read(), { running: [second], previous: null });
    await record.write({ running: [second], previous: first });
    await openSteps(root, { "allow-breaking": true }, warnings).beginRollback(false);
    // killed before the aliases were moved: both may be running
    assertEquals(await record.read(), { running: [second, first], previous: first });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("createCompatSteps() refuses a deployment whose running release is not known, but plans it", async () => {
  const warnings: string[] = [];
  await withTempFolder({
    "dist/release.json": JSON.stringify(createRelease("title", [])),
    ".terraform/stages/dev.releases.json": "{",
  }, async (root) => {
    const check = (options: Record<string, boolean>) => openSteps(root, options, warnings).check();
    const { message } = await assertRejects(() => check({}), StepError);
    assertStringIncludes(message, "its record cannot be read (SyntaxError)");
    assertStringIncludes(message, "--allow-breaking deploys without the check");
    assertEquals(warnings, []);
    for (const option of ["plan", "allow-breaking"]) {
      assertEquals(await check({ [option]: true }), "not checked");
    }
    assertEquals(warnings.length, 2);
  });
});
