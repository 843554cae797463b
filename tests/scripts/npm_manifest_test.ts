import { assertEquals, assertThrows } from "@std/assert";
import { createManifest, type ExportTarget, type PackageConfig } from "../../scripts/npm_manifest.ts";

const config: PackageConfig = JSON.parse(Deno.readTextFileSync(new URL("../../deno.json", import.meta.url)));
const exports: Record<string, ExportTarget> = Object.fromEntries(
  Object.entries(config.exports).map(([entry, source]) => {
    const path = source.replace(/\.ts$/, "");
    return [entry, { types: `${path}.d.ts`, import: `${path}.js`, default: `${path}.js` }];
  }),
);

Deno.test("createManifest() gives each package that the library imports one kind of dependency", () => {
  const manifest = createManifest(config, exports) as Record<string, Record<string, unknown>>;
  const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = manifest;
  assertEquals(Object.keys(dependencies), ["better-auth", "postgres"]);
  assertEquals(Object.keys(optionalDependencies), ["typescript"]);
  const required = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name] === undefined);
  assertEquals(required, ["drizzle-orm", "zod"]);
  assertEquals(
    Object.keys(peerDependenciesMeta).filter((name) => peerDependencies[name] === undefined),
    [],
  );
  const all = [dependencies, optionalDependencies, peerDependencies].flatMap((each) => Object.keys(each));
  assertEquals(new Set(all).size, all.length);
});

Deno.test("createManifest() puts the declarations before the code, where compilers look first", () => {
  const manifest = createManifest(config, exports) as unknown as { exports: Record<string, object>; bin: object };
  assertEquals(Object.keys(manifest.exports["./auth/schema"]), ["types", "import", "default"]);
  assertEquals(manifest.bin, { trellis: "cli/main.js" });
  assertEquals(
    createManifest(config, { ...exports, "./cli": { types: "", import: "", default: "./esm/cli/mod.js" } }).bin,
    { trellis: "esm/cli/main.js" },
  );
});

Deno.test("createManifest() refuses a dependency without an exact version", () => {
  for (const specifier of ["npm:postgres@^3", "npm:postgres", undefined]) {
    const imports = { ...config.imports, postgres: specifier as string };
    assertThrows(() => createManifest({ ...config, imports }, exports), Error, "no exact version of postgres");
  }
});
