import { assert, assertEquals } from "@std/assert";
import { parseLines } from "../../support/capture_logs.ts";

const PROGRAM = new URL("./sandbox_program.ts", import.meta.url);
const SANDBOX = { AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x", AWS_LAMBDA_FUNCTION_NAME: "fn" };

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

const steps = ["abandoned", "sequential", "overlapping"];

for (const [name, env] of [["in a sandbox", SANDBOX], ["anywhere", {}]] as const) {
  Deno.test(`records ${name} keep their own state: ${steps.join(", ")}`, async () => {
    const args = ["run", "-A", "--no-lock", "--no-check", "--quiet", PROGRAM.pathname, ...steps];
    const cwd = new URL("../../..", import.meta.url);
    const output = await new Deno.Command(Deno.execPath(), { args, env, cwd }).output();
    const decoder = new TextDecoder();
    const report = decoder.decode(output.stderr).split("\n").find((line) =>
      line.startsWith('{"abandoned"')
    );
    assert(report !== undefined, decoder.decode(output.stderr));
    const { late, ...seen } = JSON.parse(report);
    assertEquals(late, "a");
    assertEquals(seen, Object.fromEntries(steps.map((step) => [step, EXPECTED[step].seen])));
    const lines = parseLines([decoder.decode(output.stdout)]);
    const getIds = (message: string): unknown[] =>
      lines.filter((line) => line.message === message).map((line) => line.correlation_id);
    assertEquals(getIds("in the record"), steps.flatMap((step) => EXPECTED[step].inRecords));
    assertEquals(getIds("request completed"), steps.map((step) => EXPECTED[step].batch));
  });
}
