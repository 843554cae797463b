// deno-lint-ignore-file no-console
/**
 * Runs the tests, and every example in docs and doc comments, in several processes at once. Ends
 * with the failures, and with one summary in the words of the test runner.
 *
 *   deno run -A scripts/run_tests.ts
 *   deno run -A scripts/run_tests.ts --release     what a release contains: the npm package, the modules, a new project
 *   deno run -A scripts/run_tests.ts --all         both
 *   deno run -A scripts/run_tests.ts --no-check    when `deno task check` has just passed
 */
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { planBatches, type TestScope } from "./test_batches.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SOURCES =
  "mod.ts errors env observability core validation database idempotency jobs mail uploads realtime router streaming triggers auth client testing cli";
const EXAMPLES = [
  "--doc",
  "README.md",
  "docs",
  ...SOURCES.split(" "),
];
/** Tests wait for servers and timers too, so one process more than there are cores keeps them busy. */
const PROCESSES = navigator.hardwareConcurrency + 1;

/** Types are checked once for all; embedded databases start from a snapshot. */
const TEST_OPTIONS = [
  "-A",
  "--quiet",
  "--no-check",
  "--preload=./tests/support/embedded_snapshot.ts",
];
const ENVIRONMENT = {
  ...Deno.env.toObject(),
  // lets the processes share what is built from the sources, such as the npm package
  TRELLIS_TEST_RUN: crypto.randomUUID(),
  // most tests take less time than it takes to optimize the code of the embedded database
  DENO_V8_FLAGS: "--liftoff-only",
  // esbuild and Terraform run briefly: collecting their garbage less often saves a fifth of their time
  GOGC: "400",
};
/** They run nothing of the measured folders that other tests do not run. */
const UNMEASURED =
  /^tests\/(?:bench|client|cli\/(?!commands)|consumers|examples|faults|jobs|load|mail|realtime|scripts|terraform_test\.ts|uploads)\b/;

interface Outcome {
  readonly success: boolean;
  readonly text: string;
}

const startedAt = performance.now();
const batches = planBatches(`${ROOT}tests`, EXAMPLES, readScope());
const queue = batches.map((paths) => ["test", ...TEST_OPTIONS, ...paths]);
if (!Deno.args.includes("--no-check")) queue.unshift(["task", "check"]);
const outcomes: Outcome[] = [];
await Promise.all(Array.from({ length: PROCESSES }, work));

const count = (what: string) =>
  outcomes.reduce((sum, { text }) => {
    const summary = text.match(/^(?:ok|FAILED) \| .*$/gm)?.at(-1) ?? "";
    return sum + Number(new RegExp(`(\\d+) ${what}`).exec(summary)?.[1] ?? 0);
  }, 0);
const failures = outcomes.filter(({ success }) => !success);
for (const { text } of failures) console.log(text.slice(Math.max(0, text.search(/^ ?ERRORS ?$/m))));
console.log(
  `${failures.length === 0 ? "ok" : "FAILED"} | ${count("passed")} passed | ${
    count("failed")
  } failed | ${count("ignored")} ignored (${Math.round((performance.now() - startedAt) / 1000)}s)`,
);
Deno.exit(failures.length === 0 ? 0 : 1);

function readScope(): TestScope {
  if (Deno.args.includes("--all")) return "all";
  return Deno.args.includes("--release") ? "release" : "sources";
}

/** Runs commands until the queue is empty; prints what each one printed when it ends. */
async function work(): Promise<void> {
  for (let args = queue.shift(); args !== undefined; args = queue.shift()) {
    const began = performance.now();
    const paths = args.filter((each) => !TEST_OPTIONS.includes(each) && each !== "test");
    const env: Record<string, string> = { ...ENVIRONMENT };
    if (paths.includes("--doc") || paths.every((path) => UNMEASURED.test(path))) {
      delete env.DENO_COVERAGE_DIR;
    }
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args,
      cwd: ROOT,
      clearEnv: true,
      env,
      stdin: "null",
    }).output();
    const decoder = new TextDecoder();
    const text = stripVTControlCharacters(decoder.decode(stdout) + decoder.decode(stderr));
    console.log(`${text}${paths.join(" ")}: ${Math.round((performance.now() - began) / 1000)} s\n`);
    outcomes.push({ success, text });
  }
}
