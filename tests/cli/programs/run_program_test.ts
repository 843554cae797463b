import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { MISSING_PROGRAM, runProgram } from "../../../cli/programs/run_program.ts";

Deno.test("runProgram() passes arguments, variables and the folder when a program starts", async () => {
  const program = "console.log(JSON.stringify([Deno.args, Deno.cwd(), Deno.env.get('NAME')])); " +
    "console.error('bad'); Deno.exit(3)";
  const args = ["eval", program, "--", 'say "no"', "%PATH% & $HOME", ""];
  const cwd = await Deno.realPath(await Deno.makeTempDir());
  try {
    const result = await runProgram(Deno.execPath(), args, {
      cwd,
      env: { NAME: "Ann & Bo" },
    });
    const lines = result.stdout.split("\n");
    const [passed, ...others] = JSON.parse(lines[0]);
    assertEquals(passed.slice(-3), args.slice(-3));
    assertEquals(others, [cwd, "Ann & Bo"]);
    assertEquals([result.exitCode, result.stderr], [3, "bad\n"]);
    assertEquals(result.stdout, `${lines[0]}\n`);
  } finally {
    await Deno.remove(cwd);
  }
});

Deno.test("runProgram() interrupts a lasting program, and returns what it has written until its end", async () => {
  const cwd = await Deno.makeTempDir();
  const stopping = new AbortController();
  const lines: string[] = [];
  function onLine(line: string): void {
    lines.push(line);
    stopping.abort();
  }
  const script =
    "trap 'echo interrupted >&2; exit 4' INT; echo begun; while :; do sleep 0.05; done";
  try {
    const result = await runProgram("bash", ["-c", script], {
      cwd,
      lasting: { file: join(cwd, "output.log"), signal: stopping.signal, onLine },
    });
    assertEquals(result, { exitCode: 4, stdout: "begun\ninterrupted\n", stderr: "" });
    assertEquals(lines, ["begun", "interrupted"]);
    assertEquals([...Deno.readDirSync(cwd)], []);
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
});

Deno.test("runProgram() returns MISSING_PROGRAM when there is no such program", async () => {
  const result = await runProgram("trellis-no-such-program", [], { cwd: Deno.cwd() });
  assertEquals(result, { exitCode: MISSING_PROGRAM, stdout: "", stderr: "" });
});
