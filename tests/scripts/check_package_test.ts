import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { findFaults, hashPackage } from "../../scripts/check_package.ts";
import { withTempFolder } from "../support/temp_folder.ts";

const { version, exports } = JSON.parse(
  Deno.readTextFileSync(new URL("../../deno.json", import.meta.url)),
);

function goodFiles(): Record<string, string> {
  const files: Record<string, string> = {
    "LICENSE": "MIT",
    "README.md": "",
    "CHANGELOG.md": `# Changelog\n\n## ${version}\n`,
    "cli/main.js": "#!/usr/bin/env node\n",
    "modules/function/main.tf": "",
  };
  const targets: Record<string, Record<string, string>> = {};
  for (const [entry, source] of Object.entries<string>(exports)) {
    const path = source.replace(".ts", "");
    targets[entry] = { types: `${path}.d.ts`, import: `${path}.js`, default: `${path}.js` };
    files[`${path.slice(2)}.js`] = "/** Not jsr:@x, not Deno.env. */\nexport {};";
    files[`${path.slice(2)}.d.ts`] = "export {};";
  }
  files["package.json"] = JSON.stringify({
    version,
    exports: targets,
    bin: { trellis: "cli/main.js" },
  });
  return files;
}

Deno.test("findFaults() finds nothing in a package that is in order", async () => {
  await withTempFolder(goodFiles(), async (folder) => assertEquals(await findFaults(folder), []));
});

Deno.test("findFaults() names each file that must not be shipped as it is", async () => {
  const good = goodFiles();
  const manifest = JSON.parse(good["package.json"]);
  const cases: [files: Record<string, string>, fault: string][] = [
    [{ "core/retry_test.ts": "" }, "core/retry_test.ts: does not belong"],
    [{ "deno.lock": "" }, "deno.lock: does not belong"],
    [
      { "modules/function/tests/a.tftest.hcl": "" },
      "modules/function/tests/a.tftest.hcl: does not belong",
    ],
    [{ "core/a.js": 'import "file:///x.js";' }, "names a place on this machine"],
    [{ "core/a.js": "Deno.env.get('A');" }, "uses Deno's own API"],
    [{ "core/a.js": "//# sourceMappingURL=a.js.map" }, "names a source map"],
    [{ "core/a.d.ts": 'export * from "npm:zod@4";' }, "only Deno supports"],
    [{ "core/a.js": "{ using file = open(); }" }, "`using`"],
    [{ "cli/main.js": "#!/usr/bin/env deno\n" }, "does not start Node"],
    [{ "CHANGELOG.md": "# Changelog\n" }, `says nothing of ${version}`],
    [{ "package.json": JSON.stringify({ ...manifest, version: "0.0.1" }) }, "version 0.0.1"],
    [
      { "package.json": JSON.stringify({ ...manifest, scripts: { postinstall: "x" } }) },
      "has scripts",
    ],
    [
      { "package.json": JSON.stringify({ ...manifest, dependencies: { zod: "^4.0.0" } }) },
      "has dependencies, which everybody would install",
    ],
    [
      { "package.json": JSON.stringify({ ...manifest, exports: {} }) },
      "the entry point ./auth is missing",
    ],
    [
      { "package.json": JSON.stringify({ ...manifest, bin: { trellis: "cli/gone.js" } }) },
      "names cli/gone.js",
    ],
  ];
  for (const [files, fault] of cases) {
    await withTempFolder({ ...good, ...files }, async (folder) => {
      const faults = await findFaults(folder);
      assert(faults.some((line) => line.includes(fault)), `${fault}: ${JSON.stringify(faults)}`);
    });
  }
});

Deno.test("hashPackage() changes with a name and with a byte", async () => {
  const hashes: string[] = [];
  const packages: Record<string, string>[] = [{ a: "1", b: "2" }, { a: "1", b: "2" }, {
    a: "1",
    c: "2",
  }, {
    a: "1",
    b: "3",
  }];
  for (const files of packages) {
    await withTempFolder(files, async (folder) => void hashes.push(await hashPackage(folder)));
  }
  assertEquals(hashes[0], hashes[1]);
  assertNotEquals(hashes[0], hashes[2]);
  assertNotEquals(hashes[0], hashes[3]);
});
