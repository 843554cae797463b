import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { makeConsumer, ROOT } from "./support/package.ts";
import { pickPackages } from "./support/pick_packages.ts";
import { runOrThrow, runProgram } from "../../scripts/program.ts";
import { findTool, NODES, type Tool } from "./support/tools.ts";

const { imports } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
// what `./auth` imports; the drivers are not installed
const installed = await pickPackages(
  ["better-auth", "drizzle-orm"].map((name) =>
    imports[name].slice("npm:".length).replace("@^", "@")
  ),
);
const folder = await makeConsumer(installed, {
  "web_standards.ts": undefined,
  "bare_context.mjs": undefined,
});
globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));

const LIGHT = [
  "",
  "/auth",
  "/auth/jwt",
  "/auth/schema",
  "/core",
  "/database/orm",
  "/env",
  "/errors",
  "/observability",
  "/validation",
];

async function bundle(entry: string, name: string, options: readonly string[]): Promise<boolean> {
  const esbuild = await findTool("esbuild");
  if (esbuild === undefined) return false;
  await runOrThrow(join(esbuild, "bin", "esbuild"), [
    entry,
    "--bundle",
    "--platform=neutral",
    "--log-level=warning",
    `--outfile=${name}`,
    ...options,
  ], { cwd: folder });
  return true;
}

const isBundled = await bundle("web_standards.ts", "web.mjs", ["--format=esm"]) &&
  await bundle("web_standards.ts", "web.js", ["--format=iife", "--global-name=bundle"]);
await Deno.writeTextFile(
  join(folder, "run.mjs"),
  `import { exercise } from "./web.mjs"; console.log(JSON.stringify(await exercise())); process.exit();`,
);

await Deno.writeTextFile(
  join(folder, "without_builtins.mjs"),
  `process.getBuiltinModule = undefined; await import("./run.mjs");`,
);

interface Exercised {
  results: Record<string, { statusCode?: number; thrown?: string }>;
  lines: [level: string, message: string, hasError: boolean][];
  spans: string[];
  mixed: { foreignAnswers: number; foreignLines: number; lines: number };
  found?: string[];
}

async function exercise(tool: Tool, args: readonly string[]): Promise<Exercised> {
  const node = await findTool(tool);
  assert(node !== undefined, `${tool} cannot be installed here`);
  const { stdout } = await runOrThrow(join(node, "bin", "node"), args, { cwd: folder });
  return JSON.parse(stdout);
}

for (const entry of LIGHT) {
  Deno.test(`@trellis/fn${entry} bundles for a platform without Node's modules`, async () => {
    const name = `entry${entry.replaceAll("/", "_")}`;
    await Deno.writeTextFile(
      join(folder, `${name}.in.mjs`),
      `export * from "@trellis/fn${entry}";\n`,
    );
    await bundle(`${name}.in.mjs`, `${name}.mjs`, ["--format=esm"]);
  });
}

for (const tool of NODES) {
  if (!isBundled) break;
  Deno.test(`handlers, validation, errors and webhooks do the same with web standards alone, on ${tool}`, async () => {
    const usual = await exercise(tool, ["run.mjs"]);
    const { found, ...bare } = await exercise(tool, ["bare_context.mjs", "web.js"]);
    assertEquals(found, Array(4).fill("undefined"));
    assertEquals(bare, usual);
    assertEquals(bare.mixed, { foreignAnswers: 0, foreignLines: 0, lines: 150 });
    const getStatus = (name: string): unknown =>
      usual.results[name].statusCode ?? usual.results[name].thrown;
    assertEquals(
      Object.fromEntries(
        Object.keys(usual.results).map((name) => [name, getStatus(name)]).filter(([, it]) => it),
      ),
      {
        valid: 201,
        base64: 201,
        "base64 that is none": 400,
        form: 201,
        "invalid body": 400,
        "invalid query": 400,
        "no JSON": 400,
        empty: 400,
        "wrong media type": 415,
        "too large": 413,
        "too deep": 400,
        "not found": 404,
        broken: 500,
        "past the deadline": 504,
        topic: "UnexpectedError",
        "error response": 400,
        "GitHub's webhook, forged": "UnauthorizedError",
      },
    );
  });

  Deno.test(`handlers do the same without process.getBuiltinModule, on ${tool}`, async () => {
    const { mixed, ...rest } = await exercise(tool, ["without_builtins.mjs"]);
    assertEquals(mixed, { foreignAnswers: 0, foreignLines: 0, lines: 150 });
    assertEquals({ mixed, ...rest }, await exercise(tool, ["run.mjs"]));
  });

  Deno.test(`handlers do the same with frozen intrinsics, on ${tool}`, async () => {
    assertEquals(
      await exercise(tool, ["--frozen-intrinsics", "run.mjs"]),
      await exercise(tool, ["run.mjs"]),
    );
  });

  for (
    const [where, redirect] of [["a full disk", "> /dev/full"], [
      "a pipe that nobody reads",
      "| true",
    ]] as const
  ) {
    Deno.test(`log lines that meet ${where} end neither a handler nor the process, on ${tool}`, async () => {
      const node = await findTool(tool);
      await Deno.writeTextFile(
        join(folder, "full.mjs"),
        `import { logInfo } from "@trellis/fn/observability";
         import { withObservability } from "@trellis/fn/core";
         await new Promise((resolve) => setTimeout(resolve, 100));
         const handler = withObservability(() => (logInfo("inside"), "done"));
         for (let i = 0; i < 3; i++) {
           logInfo("outside", { text: "x".repeat(100_000) });
           if (await handler({}, undefined) !== "done") process.exit(1);
           setTimeout(() => logInfo("in a timer"), 1);
           await new Promise((resolve) => setTimeout(resolve, 20));
         }
         process.stderr.write("reached the end\\n");
         process.exit(7);`,
      );
      const command = `"${
        join(node!, "bin", "node")
      }" full.mjs ${redirect}; echo "code \${PIPESTATUS[0]}" >&2`;
      const { stderr } = await runProgram("bash", ["-c", command], { cwd: folder });
      assertStringIncludes(stderr, "reached the end\n");
      assertStringIncludes(stderr, "code 7");
      assertEquals(
        stderr.split("log output failed").length - 1,
        where === "a full disk" ? 1 : 0,
        stderr,
      );
    });
  }
}
