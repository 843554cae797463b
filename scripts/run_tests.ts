// deno-lint-ignore-file no-console
/**
 * Runs every test, and every example in docs and doc comments, in two concurrent processes: one for
 * tests that mostly wait for child processes, and one for all others. Ends with one summary in the
 * format of the test runner.
 *
 *   deno run -A scripts/run_tests.ts
 */
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SOURCES = "mod.ts errors env observability core validation database auth testing cli".split(
  " ",
);
/** They start compilers, Terraform, browsers, servers and installations. */
const PROGRAMS = [
  "bench",
  "cli",
  "consumers",
  "examples",
  "faults",
  "load",
  "scripts",
  "terraform_test.ts",
];

const tests = [...Deno.readDirSync(`${ROOT}tests`)].map(({ name }) => name)
  .filter((name) =>
    name !== "support" && name !== "fixtures" && name !== "std_assert" && name !== "mutation"
  ).sort();
const rest = tests.filter((name) => !PROGRAMS.includes(name));
const inTests = (names: readonly string[]) => names.map((name) => `tests/${name}`);

const startedAt = performance.now();
const results = await Promise.all([
  run(["--doc", ...inTests(rest), "README.md", "docs", ...SOURCES]),
  run(inTests(PROGRAMS)),
]);
for (const { text } of results.slice(1)) console.log(text);
const sum = (what: string) =>
  results.reduce((total, { text }) => {
    // removes the colours of a terminal
    const summary = stripVTControlCharacters(text).match(/^(?:ok|FAILED) \| .*$/gm)?.at(-1) ?? "";
    return total + Number(new RegExp(`(\\d+) ${what}`).exec(summary)?.[1] ?? 0);
  }, 0);
const isGood = results.every(({ success }) => success);
console.log(
  `${isGood ? "ok" : "FAILED"} | ${sum("passed")} passed | ${sum("failed")} failed | ${
    sum("ignored")
  } ignored (${Math.round((performance.now() - startedAt) / 1000)}s)`,
);
Deno.exit(isGood ? 0 : 1);

/** Runs tests. The output of the first process is shown at once, that of the second afterwards. */
async function run(args: readonly string[]): Promise<{ success: boolean; text: string }> {
  const isShown = args[0] === "--doc";
  const child = new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "--quiet", ...args],
    cwd: ROOT,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let text = "";
  const read = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> => {
    for await (const part of stream.pipeThrough(new TextDecoderStream())) {
      text += part;
      if (isShown) await Deno.stdout.write(new TextEncoder().encode(part));
    }
  };
  const [{ success }] = await Promise.all([child.status, read(child.stdout), read(child.stderr)]);
  return { success, text };
}
