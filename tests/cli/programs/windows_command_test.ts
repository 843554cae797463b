import { assertEquals, assertThrows } from "@std/assert";
import { createStartCommand } from "../../../cli/programs/run_program.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";

const CMD = "C:\\Windows\\System32\\cmd.exe";
const DENO = "C:\\Program Files\\nodejs\\deno.cmd";

Deno.test("createStartCommand() starts a program without a shell when it is no batch file", () => {
  const args = ['-var=note=100% of "it" & more', "C:\\state\\"];
  for (
    const program of ["/usr/bin/terraform", "C:\\tools\\terraform.exe", "C:\\tools\\a.cmd.exe"]
  ) {
    assertEquals(createStartCommand(program, args, CMD), {
      file: program,
      args,
      isVerbatim: false,
    });
  }
});

Deno.test("createStartCommand() quotes all texts when the program is a batch file", () => {
  const args = [
    "info",
    "--json",
    "C:\\Users\\Ann & Bo\\deno.json",
    "a^b|c<d>(e)!",
    "C:\\api\\\\",
    "",
  ];
  const line = `"${DENO}" "info" "--json" "C:\\Users\\Ann & Bo\\deno.json" "a^b|c<d>(e)!" ` +
    `"C:\\api\\\\\\\\" ""`;
  for (const program of [DENO, DENO.replace(".cmd", ".BAT")]) {
    assertEquals(createStartCommand(program, args, CMD), {
      file: CMD,
      args: ["/d", "/v:off", "/s", "/c", `"${line.replace(DENO, program)}"`],
      isVerbatim: true,
    });
  }
});

for (const text of ['say "no"', "%PATH%", "a\nb", "a\rb", "a\0b"]) {
  Deno.test(`createStartCommand() refuses ${JSON.stringify(text)} when the program is a batch file`, () => {
    const error = assertThrows(() => createStartCommand(DENO, [text], CMD), ConfigurationError);
    assertEquals(error.message.includes(JSON.stringify(text)), true, error.message);
    assertEquals(error.message.includes("Install the program as an .exe file"), true);
  });
}
