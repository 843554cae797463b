import { assertEquals } from "@std/assert";
import { MISSING_PROGRAM, runProgram } from "../../../cli/programs/run_program.ts";

Deno.test("runProgram() passes arguments, variables and the folder when a program starts", async () => {
  const lines: string[] = [];
  const program = "console.log(JSON.stringify([Deno.args, Deno.cwd(), Deno.env.get('NAME')])); " +
    "console.error('bad'); Deno.exit(3)";
  const args = ["eval", program, "--", 'say "no"', "%PATH% & $HOME", ""];
  const cwd = await Deno.realPath(await Deno.makeTempDir());
  try {
    const result = await runProgram(Deno.execPath(), args, {
      cwd,
      env: { NAME: "Ann & Bo" },
      onLine: (line) => lines.push(line),
    });
    const [passed, ...others] = JSON.parse(lines[0]);
    assertEquals(passed.slice(-3), args.slice(-3));
    assertEquals(others, [cwd, "Ann & Bo"]);
    assertEquals([result.exitCode, result.stderr], [3, "bad\n"]);
    assertEquals(result.stdout, `${lines[0]}\n`);
  } finally {
    await Deno.remove(cwd);
  }
});

Deno.test("runProgram() returns MISSING_PROGRAM when there is no such program", async () => {
  const result = await runProgram("trellis-no-such-program", [], { cwd: Deno.cwd() });
  assertEquals(result, { exitCode: MISSING_PROGRAM, stdout: "", stderr: "" });
});
