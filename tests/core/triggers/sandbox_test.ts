import { assert, assertEquals } from "@std/assert";
import { parseLines } from "../../support/capture_logs.ts";

const PROGRAM = new URL("./sandbox_program.ts", import.meta.url);
const SANDBOX = { AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x", AWS_LAMBDA_FUNCTION_NAME: "fn" };
const SEQUENTIAL = { ...SANDBOX, TRELLIS_SEQUENTIAL_INVOCATIONS: "true" };

const own = [["a", "a"], ["b", "b"], ["c", "c"]];
const EXPECTED: Record<string, { seen: unknown; batch: string; inRecords: string[] }> = {
  sequential: { seen: [own, null], batch: "batch-1", inRecords: ["a", "b", "c"] },
  overlapping: { seen: [own, null], batch: "batch-3", inRecords: ["a", "b", "c"] },
  abandoned: {
    seen: [
      { batchItemFailures: ["a", "b", "c"].map((itemIdentifier) => ({ itemIdentifier })) },
      null,
    ],
    batch: "abandoned",
    inRecords: [],
  },
};

// work that overlaps or was abandoned ends the effect of the sequential option, so each must also come first
const runs: [name: string, env: Record<string, string>, steps: string[], late?: string | null][] = [
  ["in a sandbox", SANDBOX, ["abandoned", "sequential", "overlapping"], "a"],
  // the option gives up the ids of abandoned work, yet it never gets those of another record
  ["in a sequential sandbox", SEQUENTIAL, ["abandoned", "sequential"], null],
  ["in a sequential sandbox until records overlap", SEQUENTIAL, [
    "sequential",
    "overlapping",
    "sequential",
  ]],
  ["anywhere", {}, ["abandoned", "sequential", "overlapping"], "a"],
];

for (const [name, env, steps, late] of runs) {
  Deno.test(`records ${name} keep their own state: ${steps.join(", ")}`, async () => {
    const args = ["run", "-A", "--no-lock", "--no-check", "--quiet", PROGRAM.pathname, ...steps];
    const cwd = new URL("../../..", import.meta.url);
    const output = await new Deno.Command(Deno.execPath(), { args, env, cwd }).output();
    const decoder = new TextDecoder();
    const report = decoder.decode(output.stderr).split("\n").find((line) =>
      line.startsWith('{"isSequential"')
    );
    assert(report !== undefined, decoder.decode(output.stderr));
    const { isSequential, late: lateId, ...seen } = JSON.parse(report);
    assertEquals([isSequential, lateId], [env === SEQUENTIAL, late]);
    assertEquals(seen, Object.fromEntries(steps.map((step) => [step, EXPECTED[step].seen])));
    const lines = parseLines([decoder.decode(output.stdout)]);
    const getIds = (message: string): unknown[] =>
      lines.filter((line) => line.message === message).map((line) => line.correlation_id);
    assertEquals(getIds("in the record"), steps.flatMap((step) => EXPECTED[step].inRecords));
    assertEquals(getIds("request completed"), steps.map((step) => EXPECTED[step].batch));
  });
}
