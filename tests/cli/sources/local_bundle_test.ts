import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { stop } from "esbuild";
import { join } from "node:path";
import { BuildError } from "../../../cli/sources/build_error.ts";
import { bundleFunction } from "../../../cli/sources/local_bundle.ts";
import type { Inputs } from "../../../cli/sources/file_stamps.ts";
import { createTestProject, SERVED, type TestProject } from "../dev/fixtures/project.ts";

async function withProject(
  files: Record<string, string>,
  test: (project: TestProject) => Promise<void>,
): Promise<void> {
  const project = await createTestProject(files);
  try {
    await test(project);
  } finally {
    await project.clean();
    await stop();
  }
}

async function bundle({ root }: TestProject, inputs: Inputs = new Map()): Promise<string> {
  const file = join(root, "src/main.ts");
  return (await bundleFunction(
    { name: "Main", file, root, outfile: join(root, "out/main.mjs") },
    inputs,
  )).code;
}

Deno.test(
  "bundleFunction() bundles the project's own sources through every kind of alias",
  SERVED,
  async () => {
    const files = {
      "package.json": '{ "imports": { "#own/*": "./src/own/*.ts" } }',
      "tsconfig.json": '{ "compilerOptions": { "paths": { "@lib/*": ["./src/lib/*"] } } }',
      "deno.json": '{ "imports": { "~/": "./src/map/", "zod": "npm:zod@4.6.7" } }',
      "src/main.ts":
        `import { a } from "#own/a"; import { b } from "@lib/b"; import { c } from "~/c.ts"; import d from "./d.json";
import { e } from "./e.js"; import * as z from "zod"; import { readFile } from "node:fs/promises";
import { getDb } from "@trellis/fn/database"; import { notFound } from "jsr:@trellis/fn@0.1.0/errors";
export const all = [a, b, c, d, e, z, readFile, getDb, notFound];`,
      "src/own/a.ts": "export const a = 'of a';",
      "src/lib/b.ts": "export const b = 'of b';",
      "src/map/c.ts": "export const c = 'of c';",
      "src/d.json": '{ "d": "of d" }',
      "src/e.ts": "export enum e { E = 'of e' }",
    };
    await withProject(files, async (project) => {
      const inputs: Inputs = new Map();
      const code = await bundle(project, inputs);
      for (const letter of "abcde") assertMatch(code, new RegExp(`"of ${letter}"`));
      const imports = Array.from(
        code.matchAll(/^import .* from "([^"]+)";$/gm),
        ([, specifier]) => specifier,
      );
      const own = (path: string) => new URL(`../../../${path}`, import.meta.url).href;
      assertEquals(
        imports.sort(),
        [
          own("database/mod.ts"),
          own("errors/mod.ts"),
          "node:fs/promises",
          "npm:zod@4.6.7",
        ].sort(),
      );
      assertEquals([...inputs.keys()].map((path) => path.slice(project.root.length + 1)).sort(), [
        "src/d.json",
        "src/e.ts",
        "src/lib/b.ts",
        "src/main.ts",
        "src/map/c.ts",
        "src/own/a.ts",
      ]);
    });
  },
);

Deno.test(
  "bundleFunction() keeps the names of functions and the lines of sources",
  SERVED,
  async () => {
    const files = {
      "src/main.ts": "\n\nexport function fail(): never {\n  throw new Error('here');\n}",
    };
    await withProject(files, async (project) => {
      const file = join(project.root, "main.mjs");
      await Deno.writeTextFile(file, (await bundle(project)).replaceAll("../src", "src"));
      const { fail } = await import(`file://${file}`);
      assertEquals(fail.name, "fail");
    });
  },
);

Deno.test("bundleFunction() names file, line and column of what is wrong", SERVED, async () => {
  const cases: [text: string, message: string][] = [
    ["const a = 1;\n  const b = ;", 'src/main.ts:2:13: Unexpected ";"'],
    ['import "./gone.ts";', 'src/main.ts:1:8: Could not resolve "./gone.ts"'],
    [
      'import { gone } from "./other.ts"; gone();',
      'src/main.ts:1:10: No matching export in "src/other.ts" for import "gone"',
    ],
    ['import "@trellis/fn/gone";', "src/main.ts:1:8: Unknown entry point @trellis/fn/gone"],
  ];
  await withProject({ "src/other.ts": "export const other = 1;" }, async (project) => {
    for (const [text, message] of cases) {
      await project.write("src/main.ts", text);
      const inputs: Inputs = new Map();
      const error = await assertRejects(() => bundle(project, inputs), BuildError);
      assertStringIncludes(error.message, message);
      // so that the next edit is seen
      assertEquals(inputs.has(join(project.root, "src/main.ts")), true);
    }
  });
});
