import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SUITES } from "../../scripts/drizzle_next.ts";
import { planBatches, type TestScope } from "../../scripts/test_batches.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** Every test file at or below a path of the checkout. */
function listTests(path: string): string[] {
  if (Deno.statSync(join(ROOT, path)).isFile) return path.endsWith("_test.ts") ? [path] : [];
  return [...Deno.readDirSync(join(ROOT, path))].flatMap(({ name }) => listTests(join(path, name)));
}

Deno.test("planBatches() gives each test file to one process", () => {
  const planned = planBatches(join(ROOT, "tests"), "all").flatMap(({ files }) => files);
  assertEquals(planned.toSorted(), listTests("tests").toSorted());
});

Deno.test("planBatches() starts no process without a test", () => {
  for (const { files } of planBatches(join(ROOT, "tests"), "all")) {
    assert(files.length > 0);
  }
});

Deno.test("planBatches() divides all tests by name into those of the system and the others", () => {
  const list = (scope: TestScope) =>
    planBatches(join(ROOT, "tests"), scope).flatMap(({ files }) => files).toSorted();
  assertEquals([...list("system"), ...list("others")].toSorted(), list("all"));
  const systemTests = list("all").filter((file) => file.endsWith("_system_test.ts"));
  assert(systemTests.includes("tests/terraform_system_test.ts"));
  assertEquals(list("system"), systemTests);
});

Deno.test("planBatches() lets system tests share no isolate", () => {
  const batches = planBatches(join(ROOT, "tests"), "all");
  const shared = batches.filter(({ sharesIsolate }) => sharesIsolate).flatMap(({ files }) => files);
  assert(shared.length > 100, String(shared.length));
  assertEquals(shared.filter((file) => file.endsWith("_system_test.ts")), []);
});

Deno.test("the run with the next drizzle names tests that exist", () => {
  assert(SUITES.every((path) => listTests(path).length > 0));
});
