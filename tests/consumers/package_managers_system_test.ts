/** A plain and a session handler answer with each package manager, and a project is generated from archives. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { createProjectFiles } from "../../cli/init/template.ts";
import { writeProject } from "../../cli/init/write_project.ts";
import { CACHE, DATABASE_PACKAGES, packPackage, PROGRAMS } from "./support/package.ts";
import { runOrThrow } from "../../scripts/program.ts";
import { findTool, IS_FULL } from "./support/tools.ts";

/** How packages are added to a project. */
const MANAGERS: Readonly<Record<string, readonly string[]>> = {
  npm: ["npm", "install", "--no-audit", "--no-fund"],
  pnpm: ["npx", "--yes", "pnpm@10", "add"],
  "yarn 1": ["npx", "--yes", "yarn@1", "add", "--no-progress"],
  "yarn 4": ["npx", "--yes", "@yarnpkg/cli-dist@4", "add"],
  bun: ["bun", "add"],
};

for (const [name, [command, ...args]] of Object.entries(MANAGERS)) {
  Deno.test({
    name: `a plain and a session handler answer after an installation by ${name}`,
    ignore: !IS_FULL,
    async fn() {
      const tarball = await packPackage();
      const bun = await findTool("bun");
      const node = await findTool("node24");
      if (bun === undefined || node === undefined) return;
      const cwd = await Deno.makeTempDir({ dir: CACHE, prefix: "manager-" });
      try {
        await Deno.writeTextFile(
          join(cwd, "package.json"),
          '{ "private": true, "type": "module" }',
        );
        // yarn 4 looks for a project above, and keeps packages in archives without this
        await Deno.writeTextFile(join(cwd, "yarn.lock"), "");
        await Deno.writeTextFile(join(cwd, ".yarnrc.yml"), "nodeLinker: node-modules\n");
        await Deno.copyFile(join(PROGRAMS, "handlers.mjs"), join(cwd, "handlers.mjs"));
        // yarn 1 refuses to install better-auth's kysely where the oldest Node is in the path
        const env = {
          PATH: `${join(node, "bin")}:${join(bun, "bin")}:${Deno.env.get("PATH")}`,
          METRICS_DISABLED: "true",
        };
        const packages = [...DATABASE_PACKAGES, "@electric-sql/pglite@0.5.17"];
        await runOrThrow(command, [...args, `@trellis/fn@file:${tarball}`, ...packages], {
          cwd,
          env,
        });
        const { stdout } = await runOrThrow(join(node, "bin", "node"), ["handlers.mjs"], {
          cwd,
          env,
        });
        assertEquals(stdout, '{"twice":42}\n401\n');
      } finally {
        await Deno.remove(cwd, { recursive: true });
      }
    },
  });
}

Deno.test({
  name: "a project in Yarn's archives is generated, with modules that Terraform can read",
  ignore: !IS_FULL,
  async fn() {
    const tarball = await packPackage();
    const cwd = await Deno.makeTempDir({ dir: CACHE, prefix: "pnp-" });
    const yarn = (...args: string[]) =>
      runOrThrow("npx", ["--yes", "@yarnpkg/cli-dist@4", ...args], { cwd });
    try {
      const files = createProjectFiles("my-api", "node", { template: "api", manager: "yarn" });
      writeProject(cwd, files);
      const manifest = JSON.parse(files.get("package.json")!);
      manifest.dependencies["@trellis/fn"] = `file:${tarball}`;
      await Deno.writeTextFile(join(cwd, "package.json"), JSON.stringify(manifest));
      await Deno.writeTextFile(join(cwd, "yarn.lock"), "");
      await Deno.writeTextFile(join(cwd, ".yarnrc.yml"), "nodeLinker: pnp\n");
      await yarn("install");
      await yarn("run", "generate");
      await yarn("run", "trellis", "check", "all", "--no-database");
      const api = await Deno.readTextFile(join(cwd, "infra/api.tf"));
      assertStringIncludes(api, 'source = "./modules/rest-api"');
      await Deno.stat(join(cwd, "infra/modules/rest-api/main.tf"));
    } finally {
      await Deno.remove(cwd, { recursive: true });
    }
  },
});
