import { assertEquals } from "@std/assert";
import { sha256 } from "../../../database/migrations/files.ts";

Deno.test("sha256() hashes the UTF-8 bytes of a text", () => {
  // FIPS 180-4, "abc", and the empty message
  assertEquals(
    sha256("abc").toString("hex"),
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  );
  assertEquals(
    sha256("").toString("hex"),
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  );
});

Deno.test("database/migrations loads node:crypto when it is needed, and not before", async () => {
  const importing: string[] = [];
  const folders = [new URL("../../../database/migrations/", import.meta.url)];
  for (const folder of folders) {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      if (isDirectory) folders.push(new URL(`${name}/`, folder));
      else if (
        /^import .* from "node:(?:crypto|process)"/m.test(
          await Deno.readTextFile(new URL(name, folder)),
        )
      ) {
        importing.push(name);
      }
    }
  }
  assertEquals(importing, []);
});
