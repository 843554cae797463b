// deno-lint-ignore-file no-console
// What an entry point costs to import in a fresh process of Node, from the built package, bundled and as it is installed:
//   node bench/cold_start.mjs <folder with the package, zod, drizzle-orm and esbuild in node_modules>
// Best of some interleaved starts, in milliseconds after Node itself has started; and the modules that betray a costly one.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const STARTS = 11;
const ENTRIES = [
  "errors",
  "env",
  "observability",
  "core",
  "validation",
  "auth/schema",
  "database/orm",
  ".",
];
/** Loading these costs 2 to 40 ms. */
const COSTLY = /internal\/deps\/undici|^NativeModule (?:http|https|crypto|tls)$/;

const folder = resolve(process.argv[2] ?? ".");
const { build } = createRequire(join(folder, "index.js"))("esbuild");
const out = mkdtempSync(join(folder, ".cold-"));

const MEASURE = `const start = performance.now();
await import(process.argv[2]);
const ms = performance.now() - start;
const costly = process.moduleLoadList.filter((name) => ${COSTLY}.test(name));
console.log(JSON.stringify({ ms, costly }));`;
const program = join(out, "measure.mjs");

try {
  writeFileSync(program, MEASURE);
  const cases = [];
  for (const entry of ENTRIES) {
    const specifier = entry === "." ? "@trellis/fn" : `@trellis/fn/${entry}`;
    const installed = join(out, `${entry.replace(/\W/g, "_")}.mjs`);
    const bundled = installed.replace(/mjs$/, "bundle.mjs");
    writeFileSync(installed, `export * from "${specifier}";`);
    await build({
      entryPoints: [installed],
      outfile: bundled,
      bundle: true,
      minify: true,
      format: "esm",
      platform: "node",
    });
    cases.push({
      entry,
      kb: statSync(bundled).size / 1024,
      files: { installed, bundled },
      best: {},
      costly: new Set(),
    });
  }
  for (let start = 0; start < STARTS; start++) {
    for (const { files, best, costly } of cases) {
      for (const [kind, file] of Object.entries(files)) {
        const text = execFileSync(process.execPath, [program, file], {
          encoding: "utf8",
          cwd: tmpdir(),
        });
        const seen = JSON.parse(text);
        best[kind] = Math.min(best[kind] ?? Infinity, seen.ms);
        for (const name of seen.costly) costly.add(name);
      }
    }
  }
  console.log(
    `Node ${process.version}\n\n| entry point | KB, all of it | bundled ms | installed ms | costly modules |\n| --- | ---: | ---: | ---: | --- |`,
  );
  for (const { entry, kb, best, costly } of cases) {
    const cells = [
      entry,
      kb.toFixed(0),
      best.bundled.toFixed(1),
      best.installed.toFixed(1),
      [...costly].join(", ") || "none",
    ];
    console.log(`| ${cells.join(" | ")} |`);
  }
} finally {
  rmSync(out, { recursive: true });
}
