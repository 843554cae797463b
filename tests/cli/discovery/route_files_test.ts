import { assertEquals, assertThrows } from "@std/assert";
import { join } from "node:path";
import { findRouteFiles } from "../../../cli/discovery/route_files.ts";
import { ConfigurationError } from "../../../errors/mod.ts";

function inFolder(files: string[], test: (folder: string) => void): void {
  const folder = Deno.makeTempDirSync();
  try {
    for (const file of files) {
      Deno.mkdirSync(join(folder, file, ".."), { recursive: true });
      Deno.writeTextFileSync(join(folder, file), "");
    }
    test(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

Deno.test("findRouteFiles() reads method, path and name from a file's path", () => {
  const cases: [file: string, method: string, path: string, name: string][] = [
    ["user/login.post.ts", "POST", "/user/login", "UserLogin"],
    ["files/[fileId]/index.delete.ts", "DELETE", "/files/{fileId}", "FilesByFileIdDelete"],
    ["index.get.ts", "GET", "/", "Get"],
    ["notes/index.get.mjs", "GET", "/notes", "NotesGet"],
    ["sign-up/by_mail.PUT.js", "PUT", "/sign-up/by_mail", "SignUpByMail"],
    ["v1.2/health.get.ts", "GET", "/v1.2/health", "V12Health"],
    ["auth/[...proxy].any.ts", "ANY", "/auth/{proxy+}", "AuthByProxy"],
  ];
  for (const [file, method, path, name] of cases) {
    inFolder([file], (folder) => {
      assertEquals(findRouteFiles(folder), [{ file: join(folder, file), method, path, name }]);
    });
  }
});

Deno.test("findRouteFiles() leaves out tests, declarations and private files", () => {
  const files = [
    "a.get.ts",
    "a.get_test.ts",
    "b.get.test.ts",
    "c.d.ts",
    "_d.get.ts",
    "_shared/e.get.ts",
    "notes.md",
  ];
  inFolder(
    files,
    (folder) => assertEquals(findRouteFiles(folder).map((route) => route.name), ["A"]),
  );
});

Deno.test("findRouteFiles() puts fixed segments before parameters and these before the rest", () => {
  inFolder(
    ["[...rest].get.ts", "notes/[id].get.ts", "notes/recent.get.ts", "[kind]/recent.get.ts"],
    (folder) => {
      assertEquals(findRouteFiles(folder).map((route) => route.path), [
        "/notes/recent",
        "/notes/{id}",
        "/{kind}/recent",
        "/{rest+}",
      ]);
    },
  );
});

Deno.test("findRouteFiles() names both files when two have one route or one name", () => {
  const cases: [files: string[], message: string][] = [
    [["user/a-b.get.ts", "user/a_b.get.ts"], "the name UserABGet"],
    [["files/[a]/x.get.ts", "files/[b]/x.get.ts"], "the route GET /files/{}/x"],
  ];
  for (const [files, message] of cases) {
    inFolder(files, (folder) => {
      const error = assertThrows(() => findRouteFiles(folder), ConfigurationError, message);
      for (const file of files) assertEquals(error.message.includes(join(folder, file)), true);
    });
  }
});

Deno.test("findRouteFiles() says how to name a file without a known method", () => {
  for (const file of ["login.ts", "login.fetch.ts"]) {
    inFolder([file], (folder) => {
      assertThrows(
        () => findRouteFiles(folder),
        ConfigurationError,
        "has no HTTP method in its name: rename it to login.get.ts",
      );
    });
  }
});

Deno.test("findRouteFiles() adds the method to the names of files that share one", () => {
  inFolder(
    [
      "rooms/[roomId].get.ts",
      "rooms/[roomId].delete.ts",
      "rooms/[roomId]/seats.get.ts",
      "rooms/index.get.ts",
      "rooms/index.post.ts",
    ],
    (folder) => {
      const names = findRouteFiles(folder).map(({ method, path, name }) => [method, path, name]);
      assertEquals(names, [
        ["GET", "/rooms", "RoomsGet"],
        ["POST", "/rooms", "RoomsPost"],
        ["DELETE", "/rooms/{roomId}", "RoomsByRoomIdDelete"],
        ["GET", "/rooms/{roomId}", "RoomsByRoomIdGet"],
        ["GET", "/rooms/{roomId}/seats", "RoomsByRoomIdSeats"],
      ]);
    },
  );
});
