import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { planBatches } from "../../scripts/test_batches.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const EXAMPLES = ["--doc", "docs"];

/** Every test file at or below a path of the checkout. */
function listTests(path: string): string[] {
  if (Deno.statSync(join(ROOT, path)).isFile) return path.endsWith("_test.ts") ? [path] : [];
  return [...Deno.readDirSync(join(ROOT, path))].flatMap(({ name }) => listTests(join(path, name)));
}

Deno.test("planBatches() gives each test file to one process, and the examples to another", () => {
  const batches = planBatches(join(ROOT, "tests"), EXAMPLES, "all");
  assertEquals(batches.filter((batch) => batch === EXAMPLES).length, 1);
  const planned = batches.filter((batch) => batch !== EXAMPLES).flat().flatMap(listTests);
  assertEquals(planned.toSorted(), listTests("tests").toSorted());
});

Deno.test("planBatches() starts no process without a test", () => {
  for (const batch of planBatches(join(ROOT, "tests"), EXAMPLES, "all")) {
    if (batch !== EXAMPLES) assert(batch.flatMap(listTests).length > 0, String(batch));
  }
});

Deno.test("planBatches() divides all tests into those of a release and those of the sources", () => {
  const list = (scope: "release" | "sources" | "all") =>
    planBatches(join(ROOT, "tests"), EXAMPLES, scope).filter((batch) => batch !== EXAMPLES).flat()
      .flatMap(listTests).toSorted();
  assertEquals([...list("release"), ...list("sources")].toSorted(), list("all"));
  assert(list("release").includes("tests/terraform_test.ts"));
});
