import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { createModulePaths } from "../../../cli/sources/module_paths.ts";
import { withProject } from "../fixtures/analyse.ts";

/** The package.json of an installed package with dependencies. */
function manifest(name: string, dependencies: Record<string, string> = {}): string {
  return JSON.stringify({ name, version: "1.0.0", dependencies });
}

const INSTALLED = {
  "node_modules/@trellis/fn/package.json": manifest("@trellis/fn"),
  "node_modules/plain/package.json": manifest("plain", { "also-plain": "1" }),
  "node_modules/also-plain/package.json": manifest("also-plain"),
  "node_modules/direct/package.json": manifest("direct", { "@trellis/fn": "1" }),
  "node_modules/aliased/package.json": manifest("aliased", { fn: "npm:@jsr/trellis__fn@1" }),
  "node_modules/@team/outer/package.json": manifest("@team/outer", { inner: "1" }),
  "node_modules/@team/outer/node_modules/inner/package.json": manifest("inner", {
    "@trellis/fn": "1",
  }),
};

Deno.test("usesTrellis() follows the dependencies of installed packages", async () => {
  const cases = {
    "node_modules/plain/index.js": false,
    "node_modules/direct/lib/a.js": true,
    "node_modules/aliased/index.js": true,
    "node_modules/@team/outer/index.js": true,
    "node_modules/@team/outer/node_modules/inner/index.js": true,
    "src/functions/api/notes.ts": true,
  };
  const found = await withProject(INSTALLED, (root) => {
    const { usesTrellis } = createModulePaths(root);
    return Object.keys(cases).map((path) => [path, usesTrellis(join(root, path))]);
  });
  assertEquals(Object.fromEntries(found), cases);
});
