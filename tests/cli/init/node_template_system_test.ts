import { assertEquals, assertStringIncludes } from "@std/assert";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DATABASE_NAMES, type DatabaseName } from "../../../cli/init/project_choices.ts";
import { NEXT_DRIZZLE } from "../../../scripts/drizzle_next.ts";
import { runOrThrow, runProgram } from "../../../scripts/program.ts";
import {
  chooseCombination,
  COMBINATIONS,
  packPackages,
  readTurn,
  tryCombination,
} from "../../../scripts/try_templates.ts";
import { IS_FULL } from "../../consumers/support/tools.ts";
import { CHECKOUT, writeTestProject } from "../build/project.ts";

const BUILT = Deno.env.get("TRELLIS_NPM_PACKAGE") ?? join(CHECKOUT, "npm");
const isBuilt = existsSync(join(BUILT, "cli/init/template.js"));
if (!isBuilt) {
  // deno-lint-ignore no-console
  console.warn(
    "npm/ holds no package of this version (deno task build:npm): the templates for Node are not tested",
  );
}

const PROVIDERS: Readonly<Record<DatabaseName, string>> = {
  postgres: "postgres",
  "aurora-dsql": "distsql",
  neon: "branching-pg",
  "rds-data": "serverless-pg",
};

const HEALTHY = [200, '{"status":"ok"}'];
/** The bundle of a function has no embedded database. */
const DOWN = [503, '{"status":"down","database":"down"}'];

Deno.test({
  name: "the template notes passes its own CI and is served with drizzle 1.0",
  // tests/database/drizzle_versions_system_test.ts runs each time
  ignore: !isBuilt || !IS_FULL,
  async fn() {
    await using project = await writeTestProject({});
    const packages = await packPackages(project.root, BUILT);
    const notes = { template: "notes", database: "postgres", drizzle: NEXT_DRIZZLE } as const;
    await tryCombination(notes, packages, project.root);
  },
});

for (const combination of IS_FULL ? COMBINATIONS : [chooseCombination(await readTurn())]) {
  const { template, database } = combination;
  Deno.test({
    name:
      `the template ${template} for ${database} passes its own CI, is served, builds and answers in Node`,
    ignore: !isBuilt,
    async fn() {
      const project = await writeTestProject({});
      try {
        const packages = await packPackages(project.root, BUILT);
        const { root } = await tryCombination(combination, packages, project.root);
        const run = async (...args: string[]) =>
          (await runOrThrow("npx", ["trellis", ...args], { cwd: root })).stdout;

        const typescript = await Deno.readTextFile(
          join(root, "node_modules/typescript/package.json"),
        );
        assertEquals(JSON.parse(typescript).version.split(".")[0], "7");
        await run("generate", "asyncapi");
        await run("generate", "client");

        const { functions } = JSON.parse(await run("build", "--json"));
        for (const { name, providers } of functions) {
          assertEquals(providers, template === "empty" ? [] : [PROVIDERS[database]], name);
        }
        const { answer } = await project.call("Health", { folder: join(root, "dist") });
        assertEquals([answer.statusCode, answer.body], template === "empty" ? HEALTHY : DOWN);

        await Deno.remove(join(root, "node_modules/esbuild"), { recursive: true });
        const without = await runProgram("npx", ["trellis", "build"], { cwd: root });
        assertEquals(without.code, 3);
        assertStringIncludes(
          without.stderr,
          'trellis build needs the package esbuild, which is not installed. Install it: npm install --save-dev "esbuild@',
        );
      } finally {
        await project.remove();
      }
    },
  });
}

Deno.test("chooseCombination() changes template and database with each turn, and gives all in a round", () => {
  const turns = Array.from({ length: COMBINATIONS.length }, (_, turn) => chooseCombination(turn));
  assertEquals(new Set(turns).size, COMBINATIONS.length);
  const repeated = turns.filter((each, turn) =>
    turn > 0 &&
    (each.template === turns[turn - 1].template || each.database === turns[turn - 1].database)
  );
  assertEquals(repeated, []);
  assertEquals(new Set(turns.map(({ database }) => database)).size, DATABASE_NAMES.length);
});
