import { assertEquals, assertThrows } from "@std/assert";
import {
  createManifest,
  type ExportTarget,
  type PackageConfig,
} from "../../scripts/npm_manifest.ts";

const config: PackageConfig = JSON.parse(
  Deno.readTextFileSync(new URL("../../deno.json", import.meta.url)),
);
const exports: Record<string, ExportTarget> = Object.fromEntries(
  Object.entries(config.exports).map(([entry, source]) => {
    const path = source.replace(/\.ts$/, "");
    return [entry, { types: `${path}.d.ts`, import: `${path}.js`, default: `${path}.js` }];
  }),
);

Deno.test("createManifest() gives each package that the library imports one kind of dependency", () => {
  const manifest = createManifest(config, exports) as Record<string, Record<string, unknown>>;
  const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = manifest;
  assertEquals([dependencies, optionalDependencies], [undefined, undefined]);
  const required = Object.keys(peerDependencies).filter((name) =>
    peerDependenciesMeta[name] === undefined
  );
  assertEquals(required, ["zod"]);
  // npm downloads the documents of a peer with a range, and of all its peers
  assertEquals(Object.keys(peerDependencies), ["postgres", "zod"]);
  for (const name of ["better-auth", "drizzle-orm", "postgres", "esbuild"]) {
    assertEquals(peerDependenciesMeta[name], { optional: true });
  }
});

Deno.test("createManifest() puts the declarations before the code, where compilers look first", () => {
  const manifest = createManifest(config, exports) as unknown as {
    exports: Record<string, object>;
    bin: object;
  };
  assertEquals(Object.keys(manifest.exports["./auth/schema"]), ["types", "import", "default"]);
  assertEquals(manifest.bin, { trellis: "cli/main.js" });
  assertEquals(
    createManifest(config, {
      ...exports,
      "./cli": { types: "", import: "", default: "./esm/cli/mod.js" },
    }).bin,
    { trellis: "esm/cli/main.js" },
  );
});

Deno.test("createManifest() refuses a peer without a range", () => {
  for (const specifier of ["npm:zod@4.6.7", "npm:zod", undefined]) {
    const imports = { ...config.imports, zod: specifier as string };
    assertThrows(() => createManifest({ ...config, imports }, exports), Error, "no range of zod");
  }
});
