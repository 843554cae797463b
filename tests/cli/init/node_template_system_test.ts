import { assertEquals, assertStringIncludes } from "@std/assert";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createProjectFiles } from "../../../cli/init/template.ts";
import { CHECKOUT, writeTestProject } from "../build/project.ts";

const BUILT = join(CHECKOUT, "npm");
const isBuilt = existsSync(join(BUILT, "cli/init/template.js"));
if (!isBuilt) {
  // deno-lint-ignore no-console
  console.warn(
    "npm/ holds no package of this version (deno task build:npm): the template for Node is not tested",
  );
}

Deno.test({
  name: "the template for Node passes its own CI, builds and answers in Node",
  ignore: !isBuilt,
  async fn() {
    const files = Object.fromEntries(createProjectFiles("my-api", "node"));
    const project = await writeTestProject(files);
    const { root } = project;

    async function run(command: string, ...args: string[]): Promise<string> {
      const output = await new Deno.Command(command, { args, cwd: root, env: { NO_COLOR: "1" } })
        .output();
      const [stdout, stderr] = [output.stdout, output.stderr].map((bytes) =>
        new TextDecoder().decode(bytes)
      );
      assertEquals(output.code, 0, `${command} ${args.join(" ")}\n${stdout}\n${stderr}`);
      return stdout;
    }

    try {
      const packed = JSON.parse(await run("npm", "pack", BUILT, "--json", "--silent"));
      const manifest = JSON.parse(files["package.json"]);
      manifest.dependencies["@trellis/fn"] = `file:./${packed[0].filename}`;
      await Deno.writeTextFile(join(root, "package.json"), JSON.stringify(manifest));
      await run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefer-offline");
      await run("npm", "run", "generate");
      // types, tests, generated files, and the bundles with their budgets
      assertStringIncludes(await run("npm", "run", "ci"), "# pass 3\n");

      const typescript = await Deno.readTextFile(
        join(root, "node_modules/typescript/package.json"),
      );
      assertEquals(JSON.parse(typescript).version.split(".")[0], "7");
      for (const what of ["asyncapi", "client", "auth-schema"]) {
        await run("npx", "trellis", "generate", what);
      }

      const { functions } = JSON.parse(await run("npx", "trellis", "build", "--json"));
      assertEquals(functions.length, 5);
      for (const { name, providers } of functions) {
        assertEquals(providers, name === "Health" ? [] : ["distsql"], name);
      }
      const { answer } = await project.call("Health");
      assertEquals([answer.statusCode, answer.body], [200, '{"status":"ok"}']);

      await Deno.remove(join(root, "node_modules/esbuild"), { recursive: true });
      const without = await new Deno.Command("npx", { args: ["trellis", "build"], cwd: root })
        .output();
      assertEquals(without.code, 3);
      assertStringIncludes(
        new TextDecoder().decode(without.stderr),
        'trellis build needs the package esbuild, which is not installed. Install it: npm install --save-dev "esbuild@',
      );
    } finally {
      await project.remove();
    }
  },
});
