// deno-lint-ignore-file no-console
/**
 * A stage that Terraform and OpenTofu deploy in turns, on an emulator of AWS: the state goes from one to the other and back.
 * `TRELLIS_TOFU` is the path of OpenTofu, if it is not `tofu`.
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { hasProgram } from "../support/terraform_providers.ts";
import { renderHealth, STATES } from "./project.ts";
import { deployFirst, testOnEmulator } from "./suite.ts";

const TOFU = Deno.env.get("TRELLIS_TOFU") ?? "tofu";
const PROGRAMS = { OpenTofu: TOFU, Terraform: "terraform" } as const;

if (await hasProgram(TOFU)) {
  testOnEmulator("a stage goes from Terraform to OpenTofu and back", async (suite) => {
    const { emulator, root, step, trellis, send } = suite;
    let api = "";

    await step("a first deployment", async () => void (api = await deployFirst(suite)));

    for (const [product, program] of Object.entries(PROGRAMS)) {
      const deploy = async (line: string) => {
        const { code, text } = await trellis(`deploy --stage dev ${line} --terraform ${program}`);
        assertEquals(code, 0, text);
        assertStringIncludes(text, `app-dev with ${product} v`);
        return text;
      };

      await step(`${product} finds nothing to change`, async () => {
        assertStringIncludes(await deploy("--plan"), "done plan: no changes");
      });

      await step(`${product} deploys a change`, async () => {
        await Deno.writeTextFile(
          join(root, "src/functions/api/health.get.ts"),
          renderHealth(product),
        );
        assertStringIncludes(await deploy("--yes"), "done release: 1 function released");
        const health = await emulator.request(`${api}/health`);
        assertEquals(await health.json(), { release: product });
        assertStringIncludes(await deploy("--plan"), "done plan: no changes");
      });
    }

    await step("OpenTofu destroys all of it", async () => {
      const line = `destroy --stage dev --confirm dev --terraform ${TOFU}`;
      const { code, text } = await trellis(line);
      assertEquals(code, 0, text);
      const [state] = await send(["s3", "GetObject", { Bucket: STATES, Key: "app/dev.tfstate" }]);
      assertEquals(JSON.parse(state.text).resources, []);
    });
  }, { isLong: true, preloads: ["hurry.cjs"] });
} else {
  console.warn(
    "SKIPPED: tofu is missing. Not run: a stage that Terraform and OpenTofu deploy in turns.",
  );
}
