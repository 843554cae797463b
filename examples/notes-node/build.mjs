// Bundles each function into dist/, ready to be zipped: Lambda's handler is `index.handler`.
import { build } from "esbuild";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";

const folder = "src/functions/api";
const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith(".ts"));
await rm("dist", { recursive: true, force: true });

for (const file of files) {
  const name = file.replace(/\.ts$/, "").replaceAll(/\W+/g, "-");
  await build({
    entryPoints: { index: join(folder, file) },
    outdir: join("dist", name),
    bundle: true,
    minify: true,
    sourcemap: true,
    platform: "node",
    target: "node20",
    format: "esm",
    outExtension: { ".js": ".mjs" },
    // dynamic imports, such as better-auth, become separate files that most functions never load
    splitting: true,
    // drivers of providers that this application does not use
    external: ["@electric-sql/pglite", "@aws-sdk/*"],
    // CommonJS packages need `require`
    banner: {
      js:
        'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
    logLevel: "warning",
  });
  console.log(`dist/${name}`);
}
