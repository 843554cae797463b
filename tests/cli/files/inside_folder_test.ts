import { assertEquals } from "@std/assert";
import posix from "node:path/posix";
import win32 from "node:path/win32";
import { isInsideFolder, toPortablePath } from "../../../cli/files/inside_folder.ts";

const CASES: [folder: string, file: string, isInside: boolean, path: typeof win32][] = [
  ["C:\\work\\api", "C:\\work\\api\\src\\a.ts", true, win32],
  ["C:\\work\\api", "c:\\Work\\API\\a.ts", true, win32],
  ["C:\\work\\api", "C:\\work\\api", true, win32],
  ["C:\\work\\api", "C:\\work\\api-2\\a.ts", false, win32],
  ["C:\\work\\api", "C:\\work\\..hidden", false, win32],
  ["C:\\work\\api", "C:\\work\\api\\..hidden\\a.ts", true, win32],
  // relative() gives the whole path, which does not begin with dots
  ["C:\\work\\api", "D:\\work\\api\\a.ts", false, win32],
  ["\\\\server\\share\\api", "\\\\server\\share\\api\\a.ts", true, win32],
  ["\\\\server\\share\\api", "C:\\api\\a.ts", false, win32],
  ["/work/api", "/work/api/src/a.ts", true, posix],
  ["/work/api", "/work/api/..hidden", true, posix],
  ["/work/api", "/work/other", false, posix],
  ["/work/api", "/work", false, posix],
];

for (const [folder, file, isInside, path] of CASES) {
  Deno.test(`isInsideFolder() is ${isInside} for ${file} and ${folder}`, () => {
    assertEquals(isInsideFolder(folder, file, path), isInside);
  });
}

Deno.test("toPortablePath() has forward slashes on every platform", () => {
  assertEquals(
    toPortablePath("C:\\work\\api", "C:\\work\\api\\infra\\core.tf", win32),
    "infra/core.tf",
  );
  assertEquals(toPortablePath("C:\\work\\api\\infra", "C:\\work\\api\\dist", win32), "../dist");
  assertEquals(toPortablePath("/work/api", "/work/api/infra/core.tf", posix), "infra/core.tf");
});
