import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { DATABASE_PACKAGES, makeConsumer, ROOT } from "./support/package.ts";
import { pickPackages } from "./support/pick_packages.ts";
import { runOrThrow } from "../../scripts/program.ts";
import { findTool, NODES } from "./support/tools.ts";

const { imports } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
/** Packages that an entry point imports statically. */
const IMPORTED = ["hono", "openapi-fetch"].map((name) =>
  imports[name].slice("npm:".length).replace("@^", "@")
);
const installed = await pickPackages([...DATABASE_PACKAGES, ...IMPORTED]);
const consumer = await makeConsumer(installed, {
  "use_every_entry.mjs": undefined,
  "use_require.cjs": undefined,
});
globalThis.addEventListener("unload", () => Deno.removeSync(consumer, { recursive: true }));

for (const tool of NODES) {
  Deno.test(`every entry point can be used on ${tool}, by import and by require`, async () => {
    const found = await findTool(tool);
    if (found === undefined) return;
    const node = join(found, "bin", "node");
    const version = tool.slice("node".length);
    const imported = await runOrThrow(node, ["use_every_entry.mjs"], {
      cwd: consumer,
      env: { EXPECT_MISSING: "1" },
    });
    assertEquals(JSON.parse(imported.stdout).runtime.split(".")[0], `node ${version}`);
    assertEquals(imported.stderr, "");
    const required = await runOrThrow(node, ["use_require.cjs"], { cwd: consumer });
    assertEquals(JSON.parse(required.stdout).runtime.split(".")[0], `node ${version}`);
    assertEquals(required.stderr, "");
  });
}

Deno.test("every entry point can be used on Bun", async () => {
  const found = await findTool("bun");
  if (found === undefined) return;
  const { stdout } = await runOrThrow(join(found, "bin", "bun"), ["use_every_entry.mjs"], {
    cwd: consumer,
    env: { EXPECT_MISSING: "1" },
  });
  assertEquals(JSON.parse(stdout).runtime.split(" ")[0], "bun");
});

Deno.test("every entry point can be used on Deno, from the npm package", async () => {
  // the package.json beside it makes Deno take the node_modules folder that npm filled
  const { stdout } = await runOrThrow(
    Deno.execPath(),
    ["run", "-A", "--no-lock", "use_every_entry.mjs"],
    { cwd: consumer },
  );
  assertEquals(JSON.parse(stdout).runtime.split(" ")[0], "deno");
});
