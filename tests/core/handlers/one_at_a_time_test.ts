import { assert, assertEquals } from "@std/assert";
import { parseLines } from "../../support/capture_logs.ts";

const PROGRAM = new URL("./one_at_a_time_program.ts", import.meta.url);
const SANDBOX = { AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x", AWS_LAMBDA_FUNCTION_NAME: "fn" };

const own = [["a", "a"], ["b", "b"], ["c", "c"]];
const EXPECTED: Record<string, { seen: unknown; batch: string; inRecords: string[] }> = {
  sequential: { seen: [own, null], batch: "batch-1", inRecords: ["a", "b", "c"] },
  overlapping: { seen: [own, null], batch: "batch-3", inRecords: ["a", "b", "c"] },
  abandoned: {
    seen: [{ batchItemFailures: ["a", "b", "c"].map((itemIdentifier) => ({ itemIdentifier })) }, null],
    batch: "abandoned",
    inRecords: [],
  },
};

// what overlaps and what was abandoned ends the time of the one slot, so each must also come first
const runs: [name: string, env: Record<string, string>, steps: string[], late?: string | null][] = [
  // in the slot abandoned work has lost its record, in AsyncLocalStorage it keeps it: never another one's
  ["one at a time", SANDBOX, ["abandoned", "sequential"], null],
  ["one at a time, until records overlap", SANDBOX, ["sequential", "overlapping", "sequential"]],
  ["beside others", {}, ["abandoned", "sequential", "overlapping"], "a"],
];

for (const [name, env, steps, late] of runs) {
  Deno.test(`records keep their own state where invocations run ${name}: ${steps.join(", ")}`, async () => {
    const args = ["run", "-A", "--no-lock", "--no-check", "--quiet", PROGRAM.pathname, ...steps];
    const cwd = new URL("../../..", import.meta.url);
    const output = await new Deno.Command(Deno.execPath(), { args, env, cwd }).output();
    const decoder = new TextDecoder();
    const report = decoder.decode(output.stderr).split("\n").find((line) => line.startsWith('{"oneAtATime"'));
    assert(report !== undefined, decoder.decode(output.stderr));
    const { oneAtATime, late: lateId, ...seen } = JSON.parse(report);
    assertEquals([oneAtATime, lateId], [env === SANDBOX, late]);
    assertEquals(seen, Object.fromEntries(steps.map((step) => [step, EXPECTED[step].seen])));
    const lines = parseLines([decoder.decode(output.stdout)]);
    const idsOf = (message: string): unknown[] =>
      lines.filter((line) => line.message === message).map((line) => line.correlation_id);
    assertEquals(idsOf("in the record"), steps.flatMap((step) => EXPECTED[step].inRecords));
    assertEquals(idsOf("request completed"), steps.map((step) => EXPECTED[step].batch));
  });
}
