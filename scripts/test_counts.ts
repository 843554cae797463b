/** Name of a count in the summary of the test runner. */
export type TestCount = "passed" | "failed" | "ignored";

/**
 * Counts the tests in what one process of the test runner has printed. Where files share an isolate
 * (`tests/support/one_isolate.ts`) each file is one test of the runner, and each of its tests a step.
 *
 * @param text What the process has printed, without colors.
 * @returns The number of tests by outcome.
 */
export function countTests(text: string): Record<TestCount, number> {
  const steps = text.split("\n").filter((line) => line.startsWith("  ") && line[2] !== " ");
  const isShared = /^running \d+ tests? from \S+one_isolate\.ts$/m.test(text);
  return isShared ? countSteps(text, steps) : countSummary(text);
}

function countSummary(text: string): Record<TestCount, number> {
  const summary = text.match(/^(?:ok|FAILED) \| .*$/gm)?.at(-1) ?? "";
  const read = (what: TestCount) => Number(new RegExp(`(\\d+) ${what}`).exec(summary)?.[1] ?? 0);
  return { passed: read("passed"), failed: read("failed"), ignored: read("ignored") };
}

function countSteps(text: string, steps: readonly string[]): Record<TestCount, number> {
  const count = (outcome: string) =>
    steps.filter((line) => line.includes(` ... ${outcome}`)).length;
  const failed = count("FAILED");
  return {
    passed: count("ok ("),
    // a file that could not be imported has no steps
    failed: failed === 0 ? countSummary(text).failed : failed,
    ignored: count("ignored"),
  };
}
