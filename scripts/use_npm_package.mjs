// Uses the built npm package from Node as a stranger would: packed, installed in an empty folder, imported, called.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const built = fileURLToPath(new URL("../npm", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "trellis-npm-"));
const npm = (...args) =>
  execFileSync("npm", args, { cwd: folder, stdio: ["ignore", "pipe", "inherit"], encoding: "utf8" });
const entries = Object.keys(JSON.parse(readFileSync(join(built, "package.json"), "utf8")).exports);

try {
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  const [{ filename }] = JSON.parse(npm("pack", built, "--json", "--silent"));
  npm("install", "--silent", "--no-audit", "--no-fund", `./${filename}`);
  writeFileSync(
    join(folder, "use.mjs"),
    `
import assert from "node:assert/strict";
import * as z from "zod";
for (const entry of ${JSON.stringify(entries)}) {
  const names = Object.keys(await import("@trellis/fn" + entry.slice(1)));
  assert.ok(names.length > 0, entry + " exports nothing");
}
const { defineApiHandler, buildValidatedResponse } = await import("@trellis/fn");
const { createRestApiEvent, createLambdaContext } = await import("@trellis/fn/testing");
const handler = defineApiHandler({ schema: z.object({ n: z.number() }), logging: { level: "SILENT" }, metrics: false })(
  ({ body, context }) => buildValidatedResponse(context, 200, { twice: body.n * 2 }));
const good = await handler(createRestApiEvent({ method: "POST", body: { n: 21 } }), createLambdaContext());
assert.equal(good.body, '{"twice":42}');
const bad = await handler(createRestApiEvent({ method: "POST", body: { n: "x" } }), createLambdaContext());
assert.equal(bad.statusCode, 400);
assert.deepEqual(Object.keys(JSON.parse(bad.body).errors), ["n"]);
console.log("node " + process.version + ": ${entries.length} entry points load, a handler answers");
`,
  );
  process.stdout.write(execFileSync(process.execPath, ["use.mjs"], { cwd: folder, encoding: "utf8" }));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
