import { assertEquals } from "@std/assert";
import posix from "node:path/posix";
import win32 from "node:path/win32";
import { findProgram, type ProgramSearch } from "../../../cli/programs/run_program.ts";

const FILES = [
  "C:\\Program Files\\Terraform\\terraform.exe",
  "C:\\Program Files\\nodejs\\deno",
  "C:\\Program Files\\nodejs\\deno.cmd",
  "C:\\tools\\git.exe",
  "C:\\tools\\git.cmd",
  "D:\\api\\terraform.exe",
  "D:\\api\\bin\\tofu.exe",
  "D:\\bin\\tofu.cmd",
];

const WINDOWS: ProgramSearch = {
  platform: "win32",
  env: {
    PATH: ';.;bin;"C:\\Program Files\\Terraform";C:\\Program Files\\nodejs;C:\\tools',
    PATHEXT: ".COM;.EXE;.BAT;.CMD;.JS",
  },
  path: win32,
  isFile: (path) => FILES.some((file) => file.toLowerCase() === path.toLowerCase()),
};

const CASES: readonly [name: string, found: string | undefined][] = [
  // not the one in the working directory, nor in relative folders of PATH
  ["terraform", "C:\\Program Files\\Terraform\\terraform.exe"],
  ["tofu", undefined],
  // npm installs a shell script without an extension beside the batch file
  ["deno", "C:\\Program Files\\nodejs\\deno.cmd"],
  ["deno.cmd", "C:\\Program Files\\nodejs\\deno.cmd"],
  // extensions in the order of PATHEXT
  ["git", "C:\\tools\\git.exe"],
  ["GIT.EXE", "C:\\tools\\GIT.EXE"],
  // a path is relative to the working directory
  ["bin\\tofu", "D:\\api\\bin\\tofu.exe"],
  ["../bin/tofu", "D:\\bin\\tofu.cmd"],
  ["C:\\tools\\git", "C:\\tools\\git.exe"],
  ["missing", undefined],
];

for (const [name, found] of CASES) {
  Deno.test(`findProgram() returns ${found} for ${name} on Windows`, () => {
    assertEquals(findProgram(name, "D:\\api", WINDOWS)?.toLowerCase(), found?.toLowerCase());
  });
}

Deno.test("findProgram() uses the extensions of Windows when PATHEXT is not set", () => {
  const search = { ...WINDOWS, env: { PATH: "C:\\Program Files\\nodejs" } };
  assertEquals(findProgram("deno", "D:\\api", search), "C:\\Program Files\\nodejs\\deno.cmd");
});

Deno.test("findProgram() returns the name when the system is not Windows", () => {
  const search = { platform: "linux", env: {}, path: posix, isFile: () => false };
  assertEquals(findProgram("terraform", "/work/api", search), "terraform");
});
