import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import {
  type Command,
  ExitCode,
  getExitCodes,
  renderUsage,
} from "../../../cli/terminal/command.ts";
import { COMMANDS } from "../../../cli/commands/commands.ts";
import { createOutput } from "../../../cli/terminal/output.ts";
import { BuildError } from "../../../cli/sources/build_error.ts";
import { runInProcess } from "../fixtures/run.ts";
import settings from "../../../deno.json" with { type: "json" };

Deno.test("runCli() prints the commands for --help, and as wrong usage for nothing", async () => {
  for (const [args, exitCode] of [[["--help"], 0], [["-h"], 0], [["help"], 0], [[], 2]] as const) {
    const result = await runInProcess(args);
    assertEquals([result.exitCode, result.stderr], [exitCode, ""]);
    for (const { name } of COMMANDS) assertStringIncludes(result.stdout, name);
  }
});

Deno.test("runCli() prints the version of the package for --version", async () => {
  for (const flag of ["--version", "-v"]) {
    const { exitCode, stdout } = await runInProcess([flag]);
    assertEquals([exitCode, stdout], [0, `${settings.version}\n`]);
  }
});

Deno.test("runCli() prints the commands of a group, as help and as wrong usage", async () => {
  const bare = await runInProcess(["db"]);
  assertEquals([bare.exitCode, bare.stderr], [2, ""]);
  assertStringIncludes(bare.stdout, "Usage: trellis db <command> [options]");
  assertStringIncludes(bare.stdout, "  db migrate ");
  assertEquals(bare.stdout.includes("generate infra"), false);
  const help = await runInProcess(["db", "--help"]);
  assertEquals([help.exitCode, help.stdout], [0, bare.stdout]);
  assertEquals((await runInProcess(["db", "nope"])).stdout, "");
});

Deno.test("runCli() refuses unknown commands and options with 2 and says which there are", async () => {
  const cases: readonly [args: string[], message: RegExp][] = [
    [["generat"], /Unknown command "generat"; known commands: /],
    [["generate", "permission"], /Unknown command "generate permission"/],
    [["--check"], /Write a command before --check/],
    [["generate", "permissions", "--chek"], /Unknown option '--chek'.*Known options: --check/],
    [["generate", "permissions", "--project"], /--project/],
    [["generate", "permissions", "extra"], /extra/],
    [["generate", "permissions", "--check=yes"], /--check/],
  ];
  for (const [args, message] of cases) {
    const { exitCode, stdout, stderr } = await runInProcess(args);
    assertEquals([exitCode, stdout], [2, ""]);
    assertMatch(stderr, message);
  }
});

Deno.test("every command has help with options, an example and exit codes", async () => {
  for (const command of COMMANDS) {
    const { name } = command;
    const { exitCode, stdout } = await runInProcess([...name.split(" "), "--help", "--json"]);
    assertEquals(exitCode, 0);
    assertStringIncludes(stdout, `Usage: trellis ${renderUsage(command)}`);
    assertMatch(stdout, /\n {2}--json {2,}Print the result as one JSON document/);
    assertMatch(stdout, new RegExp(`Examples:\\n {2}# .+\\n {2}trellis ${name}`));
    const findsNothing = [
      "dev",
      "db mark-applied",
      "db seed",
      "db reset",
      "jobs list",
      "jobs stats",
      "workflows list",
      "db tables",
    ]
      .includes(name);
    assertEquals(
      Object.keys(getExitCodes(command)),
      findsNothing ? ["0", "2", "3"] : ["0", "1", "2", "3"],
    );
  }
});

Deno.test("runCli() returns 3 with message and location for an internal error", async () => {
  const broken: Command = {
    ...COMMANDS[0],
    name: "break",
    run: () => Promise.reject(new TypeError("oops")),
  };
  const { exitCode, stderr } = await runInProcess(["break"], { commands: [broken] });
  assertEquals(exitCode, ExitCode.Failed);
  assertMatch(stderr, /^error oops\nTypeError: oops\n {4}at /);
});

Deno.test("runCli() prints no stack trace of the command line for an error in a source", async () => {
  const broken: Command = {
    ...COMMANDS[0],
    name: "break",
    run: () =>
      Promise.reject(
        new BuildError("Note", [{ message: "oops", file: "a.ts", line: 1, column: 2 }]),
      ),
  };
  const { exitCode, stderr } = await runInProcess(["break"], { commands: [broken] });
  assertEquals([exitCode, stderr], [ExitCode.Failed, "error a.ts:1:2: oops\n"]);
});

Deno.test("createOutput() colours for a terminal, and not with NO_COLOR, a dumb terminal or --json", () => {
  const stdout = { write: () => {}, isTTY: true };
  const cases: readonly [
    env: Record<string, string>,
    isTTY: boolean,
    json: boolean,
    isColoured: boolean,
  ][] = [
    [{}, true, false, true],
    [{}, false, false, false],
    [{ NO_COLOR: "1" }, true, false, false],
    [{ NO_COLOR: "" }, true, false, true],
    [{ TERM: "dumb" }, true, false, false],
    [{ FORCE_COLOR: "1" }, false, false, true],
    [{ FORCE_COLOR: "1", NO_COLOR: "1" }, false, false, false],
    [{}, true, true, false],
  ];
  for (const [env, isTTY, json, isColoured] of cases) {
    const output = createOutput({ stdout: { ...stdout, isTTY }, env, json });
    assertEquals(output.red("x") !== "x", isColoured, JSON.stringify({ env, isTTY, json }));
  }
});

Deno.test("createOutput() writes messages without colors to a file, while results go to a terminal", () => {
  for (const isTTY of [true, false]) {
    let written = "";
    const output = createOutput({
      stdout: { write: () => {}, isTTY: true },
      stderr: { write: (text) => void (written += text), isTTY },
      env: {},
    });
    output.note(`${output.red("error")} a`);
    output.warn("b");
    assertEquals(
      written,
      isTTY ? "\x1b[31merror\x1b[39m a\n\x1b[33mwarning\x1b[39m b\n" : "error a\nwarning b\n",
    );
  }
});

Deno.test("createOutput() shows a step that takes longer than a second, and nothing of others", async () => {
  for (const isTTY of [true, false]) {
    let written = "";
    let onWritten = () => {};
    const stderr = { write: (text: string) => (written += text, onWritten()), isTTY };
    const output = createOutput({ stderr, env: {} });
    assertEquals(await output.step("Looking", () => Promise.resolve(1)), 1);
    assertEquals(written, "");
    await output.step("Opening", () => new Promise<void>((resolve) => onWritten = resolve));
    onWritten = () => {};
    assertEquals(written, isTTY ? "\r\x1b[KOpening … 1 s\r\x1b[K" : "Opening …\n");
  }
});

Deno.test("createOutput() shows progress after a second, on one line of a terminal and in lines elsewhere", () => {
  for (const isTTY of [true, false]) {
    let now = 0;
    let written = "";
    const output = createOutput({
      stderr: { write: (text) => void (written += text), isTTY },
      env: {},
      now: () => now,
    });
    const at = (time: number, done: number) => {
      now = time;
      output.progress("Reading", done, 9);
    };
    at(999, 1);
    assertEquals(written, "");
    at(1000, 2);
    at(1050, 3);
    at(1150, 4);
    at(6000, 5);
    output.endProgress();
    assertEquals(
      written,
      isTTY
        ? "\r\x1b[K[####----------------] Reading 2/9\r\x1b[K[########------------] Reading 4/9" +
          "\r\x1b[K[###########---------] Reading 5/9\r\x1b[K"
        : "Reading 5/9\n",
    );
  }
});
