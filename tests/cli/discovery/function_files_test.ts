import { assertEquals, assertThrows } from "@std/assert";
import { dirname, join } from "node:path";
import { findFunctionFiles } from "../../../cli/discovery/function_files.ts";
import { ConfigurationError } from "../../../errors/mod.ts";

function inFolder(files: string[], test: (folder: string) => void): void {
  const folder = Deno.makeTempDirSync();
  try {
    for (const file of files) {
      Deno.mkdirSync(dirname(join(folder, file)), { recursive: true });
      Deno.writeTextFileSync(join(folder, file), "");
    }
    test(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

Deno.test("findFunctionFiles() reads kind and name from a file's place", () => {
  const cases: [file: string, expected: Record<string, string>][] = [
    ["api/user/login.post.ts", {
      kind: "api",
      name: "UserLogin",
      method: "POST",
      path: "/user/login",
    }],
    ["queue/send-mail.ts", { kind: "queue", name: "SendMail" }],
    ["queue/orders/index.ts", { kind: "queue", name: "Orders" }],
    ["topic/a/b.mjs", { kind: "topic", name: "AB" }],
    ["event/user.created.ts", { kind: "event", name: "UserCreated" }],
    ["schedule/nightly.ts", { kind: "schedule", name: "Nightly" }],
    ["storage/resize.ts", { kind: "storage", name: "Resize" }],
    ["websocket/$connect.ts", { kind: "websocket", name: "Connect", routeKey: "$connect" }],
    ["websocket/sendMessage.ts", {
      kind: "websocket",
      name: "SendMessage",
      routeKey: "sendMessage",
    }],
    ["authorizer/session.ts", { kind: "authorizer", name: "Session" }],
    ["standalone/import.ts", { kind: "standalone", name: "Import" }],
  ];
  for (const [file, expected] of cases) {
    inFolder([file], (folder) => {
      const [{ file: path, ...rest }] = findFunctionFiles(folder);
      assertEquals(path, join(folder, file));
      assertEquals({ ...rest } as Record<string, string>, expected);
    });
  }
});

Deno.test("findFunctionFiles() leaves out tests, private files and what is no source, and sorts by name", () => {
  const files = [
    "queue/b.ts",
    "api/a.get.ts",
    "queue/_shared.ts",
    "_lib/x.ts",
    "queue/b_test.ts",
    "README.md",
    ".hidden/y.ts",
  ];
  inFolder(
    files,
    (folder) => assertEquals(findFunctionFiles(folder).map(({ name }) => name), ["A", "B"]),
  );
});

Deno.test("findFunctionFiles() refuses what it cannot place, with the path", () => {
  const cases: [files: string[], message: string][] = [
    [["cron/x.ts"], "cron/x.ts is outside the folders"],
    [["x.ts"], "x.ts is outside the folders"],
    [["queue/x.ts", "event/X.ts"], "Two files define the function X"],
    [["api/x/login.post.ts", "standalone/x-login.ts"], "Two files define the function XLogin"],
    [["queue/1.ts"], "no function name can be derived"],
  ];
  for (const [files, message] of cases) {
    inFolder(
      files,
      (folder) => assertThrows(() => findFunctionFiles(folder), ConfigurationError, message),
    );
  }
  assertThrows(
    () => findFunctionFiles("/nowhere/at/all"),
    ConfigurationError,
    "set functionsDir in trellis.config.ts",
  );
});
