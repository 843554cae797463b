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

/**
 * Reads how long the tests of each file took, from what one process of the test runner has printed. A
 * file that shares an isolate includes the time of its imports.
 *
 * @param text What the process has printed, without colors.
 * @returns Milliseconds by file.
 */
export function readTimes(text: string): Map<string, number> {
  const times = new Map<string, number>();
  let file = "";
  for (const line of text.split("\n")) {
    const [, started] = /^running \d+ tests? from \.\/(\S+)$/.exec(line) ?? [];
    file = started ?? file;
    const [, name, duration] = /^(\S.*) \.\.\. (?:ok|FAILED).* ?\(([\dhmsµn]+)\)$/.exec(line) ?? [];
    if (name === undefined) continue;
    const key = file.endsWith("one_isolate.ts") ? name : file;
    times.set(key, (times.get(key) ?? 0) + readMs(duration));
  }
  return times;
}

const UNIT_MS = { h: 3_600_000, m: 60_000, s: 1000, ms: 1, µs: 0.001, ns: 0.000_001 } as const;

/** Reads a duration of the test runner: `580µs`, `12ms`, `1m20s`. */
function readMs(text: string): number {
  return [...text.matchAll(/(\d+)(ms|µs|ns|h|m|s)/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS],
    0,
  );
}
