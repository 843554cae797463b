import { assertEquals, assertMatch } from "@std/assert";
import { runSteps, type StepOptions } from "../../../cli/deploy/run_steps.ts";
import { createOutput } from "../../../cli/terminal/output.ts";

/** Runs three steps, of which the second one fails. Returns what they printed. */
async function runThree(
  json: boolean,
  options?: StepOptions,
): Promise<{ stdout: string; stderr: string }> {
  const printed = { stdout: "", stderr: "" };
  const output = createOutput({
    json,
    stdout: { write: (text) => printed.stdout += text },
    stderr: { write: (text) => printed.stderr += text },
  });
  const report = await runSteps(
    [
      { name: "build", run: () => Promise.resolve("2 functions") },
      { name: "plan", run: () => Promise.reject(new Error("the state is locked")) },
      { name: "apply", run: () => Promise.resolve(undefined) },
    ],
    output,
    options,
  );
  assertEquals(report.failed, "plan");
  assertEquals(report.steps.map(({ name, result }) => [name, result]), [
    ["build", "2 functions"],
    ["plan", "failed"],
  ]);
  return printed;
}

Deno.test("runSteps() prints a line for each step, and the ones that were not run", async () => {
  const { stdout } = await runThree(false);
  assertMatch(
    stdout,
    /^done build: 2 functions.*\nfailed plan: the state is locked\nNot run: apply\.\n$/,
  );
});

Deno.test("runSteps() prints another line after a failure if steps run beside each other", async () => {
  const { stdout } = await runThree(false, { afterFailure: "The stage is unchanged." });
  assertMatch(stdout, /\nfailed plan: the state is locked\nThe stage is unchanged\.\n$/);
});

Deno.test("runSteps() writes an event before and after each step with --json", async () => {
  const { stdout, stderr } = await runThree(true);
  const events = stderr.trim().split("\n").map((line) => JSON.parse(line));
  assertEquals(stdout, "");
  assertEquals(events.map(({ durationMs, ...rest }) => [typeof durationMs, rest]), [
    ["undefined", { event: "step started", step: "build" }],
    ["number", { event: "step ended", step: "build", status: "done", result: "2 functions" }],
    ["undefined", { event: "step started", step: "plan" }],
    [
      "number",
      { event: "step ended", step: "plan", status: "failed", result: "the state is locked" },
    ],
  ]);
});
