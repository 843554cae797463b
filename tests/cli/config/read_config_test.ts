import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { join } from "node:path";
import { readConfig } from "../../../cli/config/read_config.ts";
import { ConfigurationError } from "../../../errors/mod.ts";
import { withTempFolder } from "../../support/temp_folder.ts";

function withConfig(
  files: Record<string, string>,
  check: (root: string) => Promise<void>,
): Promise<void> {
  return withTempFolder(files, async (root) => {
    await check(root);
    assertEquals([...Deno.readDirSync(root)].some(({ name }) => name === ".trellis"), false);
  });
}

Deno.test("readConfig() loads a configuration that computes its values", async () => {
  const files = {
    "package.json": `{ "name": "@acme/shop-api" }`,
    "trellis.config.ts": `
      import { readFileSync } from "node:fs";
      import { defineConfig } from "@trellis/fn/cli";
      import { dirs, place } from "./settings/dirs.ts";
      import stages from "./settings/stages.json" with { type: "json" };
      const { name } = JSON.parse(readFileSync(new URL("./package.json", import.meta.url), "utf8"));
      const titles = await Promise.all([name].map(async (each: string) => each.toUpperCase()));
      export default defineConfig({
        functionsDir: dirs.functions,
        openapi: { title: titles[0] },
        permissions: { dir: place },
        infra: { projectName: name.split("/").at(-1), region: process.env.NOT_SET_ANYWHERE, stages },
      });`,
    "settings/dirs.ts": `
      export const dirs = { functions: ["src", "fns"].join("/") } as const;
      export const place = import.meta.url.split("/").at(-1)!;`,
    "settings/stages.json": `{ "prod": { "region": "eu-west-1" } }`,
  };
  await withConfig(files, async (root) => {
    const config = await readConfig(root);
    assertEquals(config.functionsDir, "src/fns");
    assertEquals(config.openapi.title, "@ACME/SHOP-API");
    assertEquals(config.permissions.dir, "dirs.ts");
    assertEquals(config.infra.projectName, "shop-api");
    assertEquals(config.infra.region, undefined);
    assertEquals(config.infra.stages, { prod: { region: "eu-west-1" } });
    // a changed file is loaded again
    await Deno.writeTextFile(join(root, "trellis.config.ts"), `export default {};`);
    assertEquals((await readConfig(root)).functionsDir, "src/functions");
  });
});

Deno.test("readConfig() names file and line of what is wrong", async () => {
  const cases: readonly [files: Record<string, string>, message: RegExp][] = [
    [{ "trellis.config.ts": "\nexport default {;" }, /^trellis\.config\.ts:2:17: Expected/],
    [
      { "trellis.config.ts": "interface A {}\n\nconst a = {} as any;\nexport default a.b.c;" },
      /^trellis\.config\.ts:4:\d+: TypeError: .*undefined/,
    ],
    [
      {
        "trellis.config.ts":
          `import { a } from "./lib/a.ts";\nexport default { functionsDir: a() };`,
        "lib/a.ts": `type B = 1;\nexport const a = () => {\n  throw new Error("no folder");\n};`,
      },
      /^lib\/a\.ts:3:\d+: Error: no folder$/,
    ],
    [
      { "trellis.config.ts": `export { default } from "./none.ts";` },
      /^trellis\.config\.ts:1:\d+: Could not resolve "\.\/none\.ts"/,
    ],
    [
      { "trellis.config.mjs": "export default { build: { budgets: () => 1 } };" },
      /^trellis\.config\.mjs: build\.budgets must be .*, got a function$/,
    ],
    [
      { "trellis.config.ts": "export default { openapi: { title: 10n } };" },
      /^trellis\.config\.ts: openapi\.title must be .*, got a bigint$/,
    ],
    [
      { "trellis.config.ts": "export const config = {};" },
      /^trellis\.config\.ts does not export a configuration/,
    ],
  ];
  for (const [files, message] of cases) {
    await withConfig(files, async (root) => {
      const error = await assertRejects(() => readConfig(root), ConfigurationError);
      assertMatch(error.message, message);
    });
  }
});
