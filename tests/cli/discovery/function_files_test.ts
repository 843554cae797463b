import { assertEquals, assertThrows } from "@std/assert";
import { dirname, join } from "node:path";
import { findFunctionFiles } from "../../../cli/discovery/function_files.ts";
import { ConfigurationError } from "../../../errors/mod.ts";

function inFolder(files: readonly string[], test: (folder: string) => void): void {
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
      assertEquals({ ...rest } as object, expected);
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

Deno.test("findFunctionFiles() names routers after their path", () => {
  inFolder(["api/notes.router.ts", "api/admin/index.router.ts", "api/x.get.ts"], (folder) => {
    const found = findFunctionFiles(folder).map((
      { name, isRouter, path },
    ) => [name, isRouter, path]);
    assertEquals(found, [
      ["AdminRouter", true, undefined],
      ["Notes", true, undefined],
      ["X", undefined, "/x"],
    ]);
  });
});

Deno.test("findFunctionFiles() takes the files beside an index as its parts unless they export a handler", () => {
  const files = [
    "queue/orders/index.ts",
    "queue/orders/parse.ts",
    "queue/orders/lib/prices.ts",
    "queue/orders/retry.ts",
    "queue/mail/send.ts",
    "queue/mail/format.ts",
  ];
  inFolder(files, (folder) => {
    Deno.writeTextFileSync(
      join(folder, "queue/orders/retry.ts"),
      "export const handler = defineQueueHandler()(() => {});",
    );
    const names = ["MailFormat", "MailSend", "Orders"];
    const find = () => findFunctionFiles(folder).map(({ name }) => name);
    assertEquals(find(), [...names, "OrdersRetry"]);
    const parse = join(folder, "queue/orders/parse.ts");
    for (
      const text of [
        "export async function handler(event) {}",
        "export const handler: Handler = 1;",
        "const x = 1;\nexport { x as handler, y };",
        "export { handler } from './other.ts';",
      ]
    ) {
      Deno.writeTextFileSync(parse, text);
      assertEquals(find(), [...names, "OrdersParse", "OrdersRetry"], text);
    }
    for (
      const text of ["export const handlers = {};", "export { handler as run };", "// handler"]
    ) {
      Deno.writeTextFileSync(parse, text);
      assertEquals(find(), [...names, "OrdersRetry"], text);
    }
  });
});

Deno.test("findFunctionFiles() takes folders and names from the configuration", () => {
  const files = [
    "sqs/send.ts",
    "s3/resize.ts",
    "scheduled/nightly.ts",
    "http/rooms/[id].get.ts",
    "api/a.get.ts",
  ];
  inFolder(files, (folder) => {
    const found = findFunctionFiles(folder, {
      folders: { sqs: "queue", s3: "storage", scheduled: "schedule", http: "api" },
      functionNames: { "http/rooms/[id].get.ts": "Room" },
    });
    assertEquals(found.map(({ kind, name, path }) => [kind, name, path]), [
      ["api", "A", "/a"],
      ["schedule", "Nightly", undefined],
      ["storage", "Resize", undefined],
      ["api", "Room", "/rooms/{id}"],
      ["queue", "Send", undefined],
    ]);
  });
});

Deno.test("findFunctionFiles() keeps a configured name when another method of the path is added", () => {
  inFolder(["api/rooms/[id].get.ts", "api/rooms/[id].delete.ts"], (folder) => {
    const found = findFunctionFiles(folder, {
      functionNames: { "api/rooms/[id].get.ts": "RoomsById" },
    });
    assertEquals(found.map(({ name, shortName }) => [name, shortName]), [
      ["RoomsById", undefined],
      ["RoomsByIdDelete", "RoomsById"],
    ]);
  });
});

for (
  const [naming, message] of [
    [{ folders: { api: "queue" } }, "folders.api: api/ always holds api functions"],
    [{ folders: { sqs: "sqs" } }, 'folders.sqs: got "sqs": use api, queue'],
    [{ folders: { none: "queue" } }, "none does not exist"],
    [{ folders: { "a/b": "queue" } }, "name a subfolder"],
    [{ functionNames: { "api/b.get.ts": "B" } }, "b.get.ts does not exist"],
    [{ functionNames: { "api/a.get.ts": "a b" } }, "letters and digits"],
    [{ functionNames: { "api/a.get.ts": "A".repeat(65) } }, "at most 64"],
    [{ functionNames: { "api/a.get.ts": "Send" } }, "Two files define the function Send"],
    [{ functionNames: { "api/_shared.ts": "Shared" } }, "is not the file of a function"],
  ] as const
) {
  Deno.test(`findFunctionFiles() refuses ${JSON.stringify(naming)}`, () => {
    inFolder(["api/a.get.ts", "api/_shared.ts", "queue/send.ts", "sqs/x.ts"], (folder) => {
      Deno.mkdirSync(join(folder, "sqs"), { recursive: true });
      const folders = { sqs: "queue", ...("folders" in naming ? naming.folders : {}) };
      assertThrows(
        () => findFunctionFiles(folder, { ...naming, folders }),
        ConfigurationError,
        message,
      );
    });
  });
}
