import { assertEquals, assertMatch } from "@std/assert";
import { findFaults } from "../../scripts/check_upload.ts";

const LISTING = `Checking for slow types in the public API...
Simulating publish of @trellis/fn@0.1.0 with files:
   file:///project/mod.ts (12B)
   file:///project/cli/dev/page/main.js (3.2KB)
   file:///project/modules/core/main.tf (1KB)
`;

Deno.test("findFaults() finds nothing when an upload holds sources, pages and modules alone", () => {
  const { files, faults } = findFaults({ isDone: true, output: LISTING }, "file:///project/");
  assertEquals(faults, []);
  assertEquals(files, ["cli/dev/page/main.js", "mod.ts", "modules/core/main.tf"]);
});

for (
  const file of [
    ".git",
    "core/queue_test.js",
    "tests/core/queue_test.ts",
    "core/tests/queue_test.ts",
    "modules/core/tests/main.tftest.hcl",
    "modules/core/examples/basic/main.tf",
    "deno.lock",
    "cli/secrets.json",
  ]
) {
  Deno.test(`findFaults() names ${file} when it would be uploaded`, () => {
    const output = `${LISTING}   file:///project/${file} (1KB)\n`;
    const { faults } = findFaults({ isDone: true, output }, "file:///project/");
    assertEquals(faults.map((fault) => fault.split(":")[0]), [file]);
  });
}

Deno.test("findFaults() names the place when an import cannot be analyzed", () => {
  const warning =
    "warning[unanalyzable-dynamic-import]: unable to analyze dynamic import\n   --> /project/a.ts:3:5\n";
  const { faults } = findFaults({ isDone: true, output: warning + LISTING }, "file:///project/");
  assertEquals(faults, ["/project/a.ts:3:5: unanalyzable-dynamic-import"]);
});

Deno.test("findFaults() shows the output when the dry run failed", () => {
  const { faults } = findFaults({ isDone: false, output: "error: slow types" }, "file:///project/");
  assertMatch(faults.join("\n"), /lists no files\n.*failed:\nerror: slow types/);
});
