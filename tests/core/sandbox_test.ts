import { assert, assertEquals } from "@std/assert";
import { parseLines } from "../support/capture_logs.ts";

const PROGRAM = new URL("./sandbox_program.ts", import.meta.url);
const SANDBOX = { AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x", AWS_LAMBDA_FUNCTION_NAME: "fn" };

interface Ran {
  // deno-lint-ignore no-explicit-any
  seen: Record<string, any>;
  // deno-lint-ignore no-explicit-any
  lines: Record<string, any>[];
}

async function run(
  env: Record<string, string>,
  command = Deno.execPath(),
  before: string[] = [],
): Promise<Ran> {
  const args = [...before, "run", "-A", "--no-lock", "--no-check", "--quiet", PROGRAM.pathname];
  const output = await new Deno.Command(command, {
    args,
    env,
    cwd: new URL("../..", import.meta.url),
  }).output();
  const decoder = new TextDecoder();
  const stderr = decoder.decode(output.stderr);
  const report = stderr.split("\n").find((line) => line.startsWith('{"before"'));
  assert(report !== undefined, stderr);
  return { seen: JSON.parse(report), lines: parseLines([decoder.decode(output.stdout)]) };
}

for (const [name, env] of [["in a sandbox", SANDBOX], ["anywhere", {}]] as const) {
  Deno.test(`invocations ${name} keep their own state, also when one was abandoned`, async () => {
    const { seen, lines } = await run(env);
    assertEquals([seen.before, seen.between], [["s1", "s2"], undefined]);
    assertEquals(seen.abandoned, "DEADLINE_EXCEEDED");
    assertEquals([seen.next, seen.after], [["next", "next"], undefined]);
    assertEquals([seen.late, seen.later], ["abandoned", "abandoned"]);
    const lateLine = lines.find((line) => line.message === "late work");
    assertEquals(lateLine?.correlation_id, "abandoned");
    assertEquals(lines.find((line) => line.message === "in time")?.correlation_id, "next");
    assertEquals(
      lines.filter((line) => line.message === "request failed").map((line) => line.error.code),
      [
        "DEADLINE_EXCEEDED",
      ],
    );
  });
}

/** True if strace is installed and may trace, which containers can forbid. */
function canTrace(): boolean {
  try {
    return new Deno.Command("strace", { args: ["-qq", "-o", "/dev/null", "true"] }).outputSync()
      .success;
  } catch {
    return false;
  }
}

Deno.test({
  name: "each invocation makes one write(2) to standard output",
  ignore: !canTrace(),
  async fn() {
    const trace = await Deno.makeTempFile({ prefix: "trellis-writes-" });
    try {
      await run(SANDBOX, "strace", [
        "-f",
        "-qq",
        "-o",
        trace,
        "-e",
        "trace=write,writev",
        Deno.execPath(),
      ]);
      const writes = (await Deno.readTextFile(trace)).split("\n").filter((line) =>
        /\bwritev?\(1,/.test(line)
      );
      // two simple ones, the abandoned one, its late line, the next one
      assertEquals(writes.length, 5, writes.join("\n"));
    } finally {
      await Deno.remove(trace);
    }
  },
});
