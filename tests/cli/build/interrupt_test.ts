import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { CHECKOUT, writeTestProject } from "./project.ts";

/** Ends itself with a signal in the middle of the build, as Ctrl-C would. */
const PROGRAM = (checkout: string) => `
import process from "node:process";
import { build } from ${JSON.stringify(`file://${checkout}cli/commands/build.ts`)};
import { runCli } from ${JSON.stringify(`file://${checkout}cli/run_cli.ts`)};
process.once("SIGINT", () => process.exit(130));
const watch = setInterval(() => {
  try {
    if ([...Deno.readDirSync(process.argv[2] + "/dist")].some(({ name }) => name.startsWith(".building-"))) {
      clearInterval(watch);
      Deno.kill(Deno.pid, "SIGINT");
    }
  } catch { /* not there yet */ }
}, 1);
process.exitCode = await runCli(["build", "--project", process.argv[2]], { commands: [build] });
clearInterval(watch);
`;

Deno.test("build leaves nothing half-written when it is interrupted", async () => {
  const functions = Array.from({ length: 60 }, (_, n) => [
    `src/functions/standalone/thing-${n}.ts`,
    `export const handler = async () => ${n};`,
  ]);
  await using project = await writeTestProject({
    "package.json": `{ "type": "module" }`,
    "program.ts": PROGRAM(CHECKOUT),
    ...Object.fromEntries(functions),
  });
  const { root } = project;
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--no-check",
      "--config",
      join(CHECKOUT, "deno.json"),
      join(root, "program.ts"),
      root,
    ],
  }).output();
  // a fast machine may be done before the signal comes
  assert(code === 130 || code === 0, new TextDecoder().decode(stderr));
  const left = await Array.fromAsync(Deno.readDir(join(root, "dist")));
  assertEquals(left.length, code === 0 ? 60 : 0, left.map(({ name }) => name).join());
  assertEquals((await project.build()).exitCode, 0);
  for await (const { name } of Deno.readDir(join(root, "dist"))) {
    assertMatch(
      await Deno.readTextFile(join(root, "dist", name, "index.mjs")),
      /^\/\/ Built by[^]*\/\/# sourceMappingURL/,
    );
  }
});
