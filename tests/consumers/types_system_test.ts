import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { DATABASE_PACKAGES, makeConsumer } from "./support/package.ts";
import { pickPackages } from "./support/pick_packages.ts";
import { runProgram } from "../../scripts/program.ts";
import { readTurn } from "../../scripts/try_templates.ts";
import { findTool, IS_FULL, type Tool } from "./support/tools.ts";

const installed = await pickPackages(DATABASE_PACKAGES);

type Combination = readonly [Tool, "nodenext" | "bundler"];

/** TypeScript 5.9 and 7 take turns: the number of commits chooses one. */
const BY_TURN: readonly Combination[] = [["typescript59", "nodenext"], ["typescript7", "bundler"]];
/** All combinations, with `TRELLIS_FULL_TESTS=1`. */
const ALL: readonly Combination[] = [
  ...BY_TURN,
  ["typescript59", "bundler"],
  ["typescript6", "nodenext"],
  ["typescript6", "bundler"],
  ["typescript7", "nodenext"],
];
const MATRIX = IS_FULL ? ALL : [BY_TURN[await readTurn() % BY_TURN.length]];

/** What the strictest projects set. */
const STRICT = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  noImplicitOverride: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  erasableSyntaxOnly: true,
  target: "es2022",
  lib: ["es2023"],
  types: ["node"],
  noEmit: true,
};

for (const [tool, moduleResolution] of MATRIX) {
  const module = moduleResolution === "bundler" ? "esnext" : "nodenext";
  Deno.test(`the declarations are right for ${tool} with moduleResolution ${moduleResolution}`, async () => {
    const compiler = await findTool(tool);
    const types = await findTool("types");
    if (compiler === undefined || types === undefined) return;
    const folder = await makeConsumer(installed, {
      "inference.ts": undefined,
      "isolated.ts": undefined,
      "light.ts": undefined,
    });
    try {
      const base = { ...STRICT, module, moduleResolution, typeRoots: [join(types, "..")] };
      const projects = {
        // the declarations of drizzle-orm and better-auth contain errors
        inference: { compilerOptions: { ...base, skipLibCheck: true }, files: ["inference.ts"] },
        isolated: {
          compilerOptions: {
            ...base,
            skipLibCheck: true,
            declaration: true,
            isolatedDeclarations: true,
          },
          files: ["isolated.ts"],
        },
        light: { compilerOptions: { ...base, skipLibCheck: false }, files: ["light.ts"] },
      };
      const files = Object.entries(projects).map(([name, project]) => {
        const file = join(folder, `tsconfig.${name}.json`);
        Deno.writeTextFileSync(file, JSON.stringify(project));
        return file;
      });
      // one process reads the declarations of packages once
      const { code, stdout, stderr } = await runProgram(
        "node",
        [join(compiler, "bin", "tsc"), "--build", ...files],
        { cwd: folder },
      );
      assertEquals([code, stdout, stderr], [0, "", ""]);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}
