import { assertEquals, assertMatch } from "@std/assert";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { resolveDrizzleFile } from "../../../cli/sources/drizzle_imports.ts";

const entry = fileURLToPath(import.meta.resolve("drizzle-orm"));
/** The version's folder in Deno's cache has the place of a folder in `node_modules`. */
const installed = pathToFileURL("/project/node_modules/drizzle-orm/").href;

Deno.test("resolveDrizzleFile() resolves the imports between the modules of drizzle-orm", () => {
  const folder = join(entry, "..");
  const { type } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  assertEquals(type, "module");
  const text = readFileSync(entry, "utf8");
  const imports = [...text.matchAll(/from "(\.[^"]+)"/g)].map(([, specifier]) => specifier);
  assertMatch(imports.join(), /column\.js/);
  for (const specifier of imports) {
    const url = resolveDrizzleFile(specifier, `${installed}index.js`)!;
    assertEquals(existsSync(join(folder, url.slice(installed.length))), true, specifier);
  }
  const nested = resolveDrizzleFile("../column.js", `${installed}pg-core/index.js`);
  assertEquals(nested, `${installed}column.js`);
});

Deno.test("resolveDrizzleFile() leaves other imports to Node", () => {
  const cases: [specifier: string, parentURL?: string][] = [
    ["./column.js"],
    ["postgres", `${installed}index.js`],
    ["./column.cjs", `${installed}index.js`],
    ["./column.js", `${installed}index.cjs`],
    ["../zod/index.js", `${installed}index.js`],
    ["./column.js", "file:///project/node_modules/zod/index.js"],
    ["./column.js", "file:///project/src/schema.js"],
  ];
  for (const [specifier, parentURL] of cases) {
    assertEquals(resolveDrizzleFile(specifier, parentURL), undefined, `${specifier} ${parentURL}`);
  }
});
