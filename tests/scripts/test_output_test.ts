import { assertEquals } from "@std/assert";
import { countTests, readTimes } from "../../scripts/test_output.ts";

const SUMMARY = "ok | 5 passed (3 steps) | 0 failed | 1 ignored (1s)\n";

Deno.test("countTests() reads the summary when each file has an isolate of its own", () => {
  const text = `running 5 tests from ./tests/a_test.ts
a ... ok (1ms)
b ...
  a step ... ok (1ms)
b ... ok (1ms)

${SUMMARY}`;
  assertEquals(countTests(text), { passed: 5, failed: 0, ignored: 1 });
});

Deno.test("countTests() counts the steps of files, but not those of their tests, when they share an isolate", () => {
  const text = `running 2 tests from ./tests/support/one_isolate.ts
tests/a_test.ts ...
  one ... ok (1ms)
  two ...
    a step ... ok (1ms)
  two ... ok (1ms)
  three ... FAILED (1ms)
  four ... ignored (0ms)
tests/a_test.ts ... FAILED (due to 1 failed step) (3ms)

FAILED | 0 passed (3 steps) | 1 failed (1 step) | 0 ignored (1 step) (1s)
`;
  assertEquals(countTests(text), { passed: 2, failed: 1, ignored: 1 });
});

Deno.test("countTests() counts a file as failed that could not be imported", () => {
  const text = `running 1 test from ./tests/support/one_isolate.ts
tests/a_test.ts ... FAILED (1ms)

FAILED | 0 passed | 1 failed (1s)
`;
  assertEquals(countTests(text), { passed: 0, failed: 1, ignored: 0 });
});

Deno.test("readTimes() adds up the tests of each file, and reads the files that share an isolate", () => {
  const text = `running 2 tests from ./tests/a_test.ts
a ... ok (1m2s)
b ...
  a step ... ok (1ms)
b ... FAILED (due to 1 failed step) (500ms)
running 1 test from ./tests/b_test.ts
c ... ok (800µs)
d ... ignored (0ms)
running 1 test from ./tests/support/one_isolate.ts
tests/c_test.ts ...
  one ... ok (1ms)
tests/c_test.ts ... ok (3ms)
`;
  assertEquals([...readTimes(text)], [
    ["tests/a_test.ts", 62_500],
    ["tests/b_test.ts", 0.8],
    ["tests/c_test.ts", 3],
  ]);
});
