/**
 * Releases that must not reach all requests, on the emulator: a function that does not load, an alarm while requests are
 * shared, and a rollback over a migration.
 */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { writeFiles } from "../support/temp_folder.ts";
import { renderHealth } from "./project.ts";
import { deployFirst, testOnEmulator } from "./suite.ts";

const HEALTH = "src/functions/api/health.get.ts";

testOnEmulator(
  "a release that fails leaves the one before, and a rollback fits the schema",
  async (suite) => {
    const { emulator, root, send, startTrellis, step, trellis } = suite;
    let api = "";
    const readHealth = async () => {
      const response = await emulator.request(`${api}/health`);
      return [response.status, await response.text()];
    };

    await step("a first deployment", async () => {
      api = await deployFirst(suite);
    });

    await step("a function that throws at load stops the release, and is named", async () => {
      await writeFiles(root, {
        [HEALTH]: `${renderHealth("second")}
if (process.env.AWS_LAMBDA_FUNCTION_NAME !== undefined) throw new TypeError("settings are missing");
`,
      });
      const { code, text } = await trellis("deploy --stage dev --yes");
      assertEquals(code, 1, text);
      // the emulator names no class of the error
      assertMatch(text, /failed release: app-dev-Health: .*settings are missing\n/);
      assertStringIncludes(text, "nothing was moved");
      assertEquals(await readHealth(), [200, '{"release":"first"}']);
    });

    await step("an alarm while requests are shared takes the release back", async () => {
      await writeFiles(root, { [HEALTH]: renderHealth("third") });
      const deploying = startTrellis("deploy --stage dev --yes");
      await deploying.stdin.close();
      const output = new Response(deploying.stdout).text();
      let notes = "";
      for await (const text of deploying.stderr.pipeThrough(new TextDecoderStream())) {
        notes += text;
        if (!/requests go to the new versions/.test(text)) continue;
        await send(["cloudwatch", "SetAlarmState", {
          AlarmName: "app-dev-release",
          StateValue: "ALARM",
          StateReason: "the suite",
        }]);
      }
      const { code } = await deploying.status;
      const text = await output;
      assertEquals(code, 1, `${text}\n${notes}`);
      assertStringIncludes(
        text,
        "the alarm app-dev-release was raised: all requests go to the previous",
      );
      assertEquals(await readHealth(), [200, '{"release":"first"}']);
      const [alias] = await send(["lambda", "GetAlias", {
        FunctionName: "app-dev-Health",
        Name: "live",
      }]);
      assertEquals(alias.RoutingConfig?.AdditionalVersionWeights ?? {}, {});
      await send(["cloudwatch", "SetAlarmState", {
        AlarmName: "app-dev-release",
        StateValue: "OK",
        StateReason: "the suite",
      }]);
    });

    await step("a release does not go on after a rollback that has taken its lock", async () => {
      await writeFiles(root, { [HEALTH]: renderHealth("undone") });
      const deploying = startTrellis("deploy --stage dev --yes");
      await deploying.stdin.close();
      const output = new Response(deploying.stdout).text();
      for await (const text of deploying.stderr.pipeThrough(new TextDecoderStream())) {
        if (!/requests go to the new versions/.test(text)) continue;
        const back = await trellis("deploy --stage dev --rollback --unlock");
        assertEquals(back.code, 0, back.text);
      }
      const { code } = await deploying.status;
      const text = await output;
      assertEquals(code, 1, text);
      assertStringIncludes(text, "failed release: the lock of app-dev was lost");
      assertEquals(await readHealth(), [200, '{"release":"first"}']);
      // the next step releases it
      await writeFiles(root, { [HEALTH]: renderHealth("third") });
    });

    await step(
      "a rollback over a migration that breaks the release before is refused",
      async () => {
        const schema = join(root, "src/schema.ts");
        const before = await Deno.readTextFile(schema);
        await writeFiles(root, {
          "migrations/0002_name.sql": "ALTER TABLE notes RENAME title TO name;\n",
          "src/schema.ts": before.replace('text("title")', 'text("name")'),
        });
        const deployed = await trellis("deploy --stage dev --yes --allow-breaking");
        assertEquals(deployed.code, 0, deployed.text);
        assertEquals(await readHealth(), [200, '{"release":"third"}']);
        const refused = await trellis("deploy --stage dev --rollback");
        assertEquals(refused.code, 1, refused.text);
        assertStringIncludes(refused.text, 'of NotesGet: column "title" does not exist');
        assertStringIncludes(
          refused.text,
          "Nothing was moved. --allow-breaking goes back nevertheless",
        );
        assertEquals(await readHealth(), [200, '{"release":"third"}']);
      },
    );
  },
  { isLong: true },
);
