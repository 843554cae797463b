/** Bundles a function with `trellis build`, as a deployment would. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const CLI = fileURLToPath(new URL("../node_modules/@trellis/fn/cli/main.js", import.meta.url));

/** The bundle of `code`, which exports `handler`, in a project of its own with these settings. */
export function trellisBuild(name, code, settings) {
  const project = fileURLToPath(new URL(`../.out/${name}/`, import.meta.url));
  mkdirSync(`${project}src/functions/standalone`, { recursive: true });
  writeFileSync(`${project}package.json`, '{ "type": "module" }');
  writeFileSync(`${project}trellis.config.ts`, `export default { build: ${JSON.stringify(settings)} };`);
  writeFileSync(`${project}src/functions/standalone/probe.ts`, code);
  execFileSync(process.execPath, [CLI, "build", "--project", project], { stdio: ["ignore", "ignore", "inherit"] });
  const outfile = `${project}dist/Probe/index.mjs`;
  const bytes = readFileSync(outfile);
  return { outfile, kb: bytes.length / 1024, gzipKb: gzipSync(bytes, { level: 9 }).length / 1024 };
}
