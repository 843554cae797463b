// deno-lint-ignore-file no-console
// The package is written as ES modules: require() of them works from Node 20.19 on, and says nothing.
const assert = require("node:assert/strict");
const { exports: entries } = require("@trellis/fn/package.json");

for (const entry of Object.keys(entries)) {
  // ./database/types has types only
  if (entry === "./package.json" || entry === "./database/types") continue;
  assert.ok(
    Object.keys(require(`@trellis/fn${entry.slice(1)}`)).length > 0,
    `${entry} exports nothing`,
  );
}
const { NotFoundError, isAppError } = require("@trellis/fn/errors");
assert.ok(isAppError(new NotFoundError("gone"), "NOT_FOUND"));
import("@trellis/fn/errors").then((errors) => {
  assert.equal(errors.NotFoundError, NotFoundError, "import and require give two copies");
  console.log(
    JSON.stringify({
      runtime: `node ${process.versions.node}`,
      entries: Object.keys(entries).length - 1,
    }),
  );
});
