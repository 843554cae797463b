// deno-lint-ignore-file no-console
/**
 * Runs the tests, and every example in docs and doc comments, in several processes at once. Ends
 * with the failures, and with one summary in the words of the test runner.
 *
 *   deno run -A scripts/run_tests.ts
 *   deno run -A scripts/run_tests.ts --system      tests that start other programs as a user does: *_system_test.ts
 *   deno run -A scripts/run_tests.ts --all         both
 *   deno run -A scripts/run_tests.ts --times       also prints the files that took longest
 */
import { fileURLToPath } from "node:url";
import { tmpdir } from "node:os";
import { stripVTControlCharacters } from "node:util";
import { planBatches, type TestBatch, type TestScope } from "./test_batches.ts";
import { countTests, readTimes, type TestCount } from "./test_output.ts";
import { createRunFolder, removeAbandoned } from "./test_folders.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Tests wait for servers and timers too, so two processes more than there are cores keep them busy. */
const PROCESSES = navigator.hardwareConcurrency + 2;

/** `deno task check` checks the types; embedded databases start from a snapshot. */
const TEST_OPTIONS = [
  "-A",
  "--quiet",
  "--no-check",
  "--preload=./tests/support/embedded_snapshot.ts",
];
/** Tests that are killed leave folders behind, of this run and of earlier ones. */
for (const folder of [tmpdir(), "/dev/shm"]) await removeAbandoned(folder);
const RUN_FOLDER = await createRunFolder(tmpdir());
const ENVIRONMENT = {
  ...Deno.env.toObject(),
  TMPDIR: RUN_FOLDER,
  TRELLIS_TEST_CACHE: tmpdir(),
  // lets the processes share what is built from the sources, such as the npm package
  TRELLIS_TEST_RUN: crypto.randomUUID(),
  // most tests take less time than it takes to optimize the code of the embedded database
  DENO_V8_FLAGS: "--liftoff-only",
  // esbuild and Terraform run briefly: collecting their garbage less often saves a fifth of their time
  GOGC: "400",
};
/**
 * They run little of the measured folders that other tests do not run, and measuring takes a third
 * more CPU time.
 */
const UNMEASURED =
  /_system_test\.ts$|^tests\/(?:bench|client|cli\/(?!build|commands)|database\/session|doc_examples_test|examples|faults|jobs|load|mail|realtime|scripts|testing|uploads|workflows)\b/;

interface Command {
  readonly name: string;
  readonly args: readonly string[];
  readonly isMeasured: boolean;
}

interface Outcome {
  readonly success: boolean;
  readonly text: string;
}

const startedAt = performance.now();
const queue = planBatches(`${ROOT}tests`, readScope()).map(toCommand);
const outcomes: Outcome[] = [];
await Promise.all(Array.from({ length: PROCESSES }, work));
// a process that is about to end may still write to it: the next run removes what is left
await Deno.remove(RUN_FOLDER, { recursive: true }).catch(() => {});

if (Deno.args.includes("--times")) printTimes();
const count = (what: TestCount) =>
  outcomes.reduce((sum, { text }) => sum + countTests(text)[what], 0);
const failures = outcomes.filter(({ success }) => !success);
for (const { text } of failures) console.log(text.slice(Math.max(0, text.search(/^ ?ERRORS ?$/m))));
console.log(
  `${failures.length === 0 ? "ok" : "FAILED"} | ${count("passed")} passed | ${
    count("failed")
  } failed | ${count("ignored")} ignored (${Math.round((performance.now() - startedAt) / 1000)}s)`,
);
Deno.exit(failures.length === 0 ? 0 : 1);

/** Prints the files that took longest. Times include the wait for other processes. */
function printTimes(): void {
  const times = outcomes.flatMap(({ text }) => [...readTimes(text)]).toSorted(([, a], [, b]) =>
    b - a
  );
  const lines = times.slice(0, 50).map(([file, ms]) =>
    `${(ms / 1000).toFixed(1).padStart(7)} s  ${file}`
  );
  console.log(`${lines.join("\n")}\n`);
}

function readScope(): TestScope {
  if (Deno.args.includes("--all")) return "all";
  return Deno.args.includes("--system") ? "system" : "others";
}

function toCommand({ files, sharesIsolate }: TestBatch): Command {
  const paths = sharesIsolate ? ["tests/support/one_isolate.ts", "--", ...files] : files;
  return {
    name: files.join(" "),
    args: ["test", ...TEST_OPTIONS, ...paths],
    isMeasured: !files.every((file) => UNMEASURED.test(file)),
  };
}

/** Runs commands until the queue is empty; prints what each one printed when it ends. */
async function work(): Promise<void> {
  for (let command = queue.shift(); command !== undefined; command = queue.shift()) {
    const { name, args, isMeasured } = command;
    const began = performance.now();
    const env: Record<string, string> = { ...ENVIRONMENT };
    if (!isMeasured) delete env.DENO_COVERAGE_DIR;
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [...args],
      cwd: ROOT,
      clearEnv: true,
      env,
      stdin: "null",
    }).output();
    const decoder = new TextDecoder();
    const text = stripVTControlCharacters(decoder.decode(stdout) + decoder.decode(stderr));
    console.log(`${text}${name}: ${Math.round((performance.now() - began) / 1000)} s\n`);
    outcomes.push({ success, text });
  }
}
