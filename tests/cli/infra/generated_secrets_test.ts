import { assertEquals, assertStringIncludes } from "@std/assert";
import { withProject } from "../fixtures/analyse.ts";
import { define, infra } from "../fixtures/infra_project.ts";

const READS = ["API_HASH", "AUTH_SECRET", "BROKER_URL", "GITHUB_SECRET", "PAGE_SIZE"];

/** A project with one route that reads secrets. */
function project(environment: string): Record<string, string> {
  return {
    "deno.json": `{ "name": "shop" }`,
    "src/functions/api/a.get.ts": define(
      "defineApiHandler",
      "{}",
      READS.map((name) => `getRequiredEnv("${name}");`).join("\n"),
      `import { getRequiredEnv, loadSources } from "@trellis/fn/env";\nawait loadSources();`,
    ),
    "trellis.config.ts":
      `import { defineConfig } from "@trellis/fn/cli";\nexport default defineConfig({ infra: { environment: ${environment} } });`,
  };
}

Deno.test("generate infra tells secrets that can be random from those that are known elsewhere", async () => {
  const environment =
    `{ API_HASH: { secret: true, generate: true }, PAGE_SIZE: { parameter: true } }`;
  await withProject(project(environment), async (root) => {
    const { stdout, exitCode } = await infra(root, "--json");
    assertEquals(exitCode, 0, stdout);
    const secrets: { name: string; isGenerated: boolean }[] = JSON.parse(stdout).secrets;
    assertEquals(
      Object.fromEntries(secrets.map(({ name, isGenerated }) => [name, isGenerated])),
      {
        API_HASH: true,
        AUTH_SECRET: true,
        BROKER_URL: false,
        GITHUB_SECRET: false,
        PAGE_SIZE: false,
      },
    );
  });
});

Deno.test("generate infra refuses to generate a secret that exists", async () => {
  const arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shared/hash-AbCdEf";
  const environment =
    `{ API_HASH: { secret: "${arn}", generate: true }, PAGE_SIZE: { parameter: true } }`;
  await withProject(project(environment), async (root) => {
    const { stdout, exitCode } = await infra(root);
    assertEquals(exitCode, 1);
    assertStringIncludes(stdout, "infra.environment.API_HASH.generate needs secret: true");
  });
});

Deno.test("generate infra reads from the code which secrets can be random", async () => {
  const files = {
    "deno.json": `{ "name": "shop" }`,
    "src/functions/api/a.get.ts": define(
      "defineApiHandler",
      "{}",
      "await Promise.all([hook, partner].map((each) => each.get()));",
      `import { secret } from "@trellis/fn/env";
const hook = secret("HOOK_KEY", { generate: true });
const partner = secret("PARTNER_KEY", {});`,
    ),
  };
  await withProject(files, async (root) => {
    const { stdout, exitCode } = await infra(root, "--json");
    assertEquals(exitCode, 0, stdout);
    const secrets: { name: string; isGenerated: boolean }[] = JSON.parse(stdout).secrets;
    assertEquals(secrets.map(({ name, isGenerated }) => [name, isGenerated]), [
      ["HOOK_KEY", true],
      ["PARTNER_KEY", false],
    ]);
  });
});
