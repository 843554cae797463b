import { assertEquals } from "@std/assert";
import { findOutdated, removeLocked, replaceVersions } from "../../scripts/raise_better_auth.ts";

const NEWEST = { "better-auth": "1.8.0", "@better-auth/core": "1.8.0", "better-call": "1.4.9" };

Deno.test("findOutdated() names the versions that are not the newest", () => {
  const imports = {
    "better-auth": "npm:better-auth@1.7.7",
    "@better-auth/core": "npm:@better-auth/core@1.8.0",
    "better-call": "npm:better-call@1.4.9",
  };
  assertEquals(findOutdated(imports, NEWEST), ["better-auth 1.7.7 -> 1.8.0"]);
});

Deno.test("replaceVersions() replaces versions and keeps ranges and other packages", () => {
  const text = `"better-auth": "npm:better-auth@1.7.7", "better-auth/": "npm:/better-auth@1.7.7/",
    "@better-auth/core": "npm:@better-auth/core@1.7.7", "better-auth": "^1.7.7", "better-call": "1.4.0",
    "my-better-auth": "1.0.0", "@better-auth/core-extra": "npm:@better-auth/core-extra@1.0.0"`;
  assertEquals(
    replaceVersions(text, NEWEST),
    `"better-auth": "npm:better-auth@1.8.0", "better-auth/": "npm:/better-auth@1.8.0/",
    "@better-auth/core": "npm:@better-auth/core@1.8.0", "better-auth": "^1.8.0", "better-call": "1.4.9",
    "my-better-auth": "1.0.0", "@better-auth/core-extra": "npm:@better-auth/core-extra@1.0.0"`,
  );
});

Deno.test("removeLocked() removes the packages and what was resolved with them", () => {
  const lock = JSON.stringify({
    version: "5",
    specifiers: { "npm:better-call@1.4.0": "1.4.0_zod@4.6.7", "npm:zod@4": "4.6.7" },
    npm: { "better-call@1.4.0_zod@4.6.7": {}, "zod@4.6.7": {} },
  });
  assertEquals(JSON.parse(removeLocked(lock, ["better-call"])), {
    version: "5",
    specifiers: { "npm:zod@4": "4.6.7" },
    npm: { "zod@4.6.7": {} },
  });
});

Deno.test("deno.lock has one copy of better-auth and of the packages that it shares with plugins", async () => {
  const lock = JSON.parse(await Deno.readTextFile(new URL("../../deno.lock", import.meta.url)));
  for (const name of ["better-auth", "@better-auth/core", "@better-auth/utils", "better-call"]) {
    const copies = Object.keys(lock.npm).filter((key) => key.startsWith(`${name}@`));
    assertEquals(copies.length, 1, copies.join("\n"));
  }
});
