import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { MARKER } from "../../../cli/build/bundle.ts";
import { openOutputFolder } from "../../../cli/build/output_folder.ts";
import { withTempFolder } from "../../support/temp_folder.ts";

const code = (text: string) => `${MARKER}\n${text}\n`;

async function list(dir: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(dir)) {
    found.push(
      ...isDirectory ? (await list(join(dir, name))).map((each) => `${name}/${each}`) : [name],
    );
  }
  return found.sort();
}

Deno.test("openOutputFolder() shows nothing before commit, and all of it after", async () => {
  await withTempFolder({}, async (dir) => {
    const folder = openOutputFolder(dir, dir);
    assertEquals(folder.stage("A", code("a"), "{}"), "created");
    assertEquals((await list(dir)).every((path) => path.startsWith(".building-")), true);
    assertEquals(folder.commit(["A"]), []);
    folder.discard();
    assertEquals(await list(dir), ["A/index.mjs", "A/index.mjs.map"]);
  });
});

Deno.test("openOutputFolder() leaves nothing behind when a build is given up", async () => {
  await withTempFolder({}, async (dir) => {
    const folder = openOutputFolder(dir, dir);
    folder.stage("A", code("a"));
    folder.discard();
    assertEquals(await list(dir), []);
  });
});

Deno.test("openOutputFolder() distinguishes created, updated and unchanged", async () => {
  await withTempFolder({}, async (dir) => {
    const first = openOutputFolder(dir, dir);
    first.stage("A", code("a"));
    first.stage("B", code("b"));
    first.commit(["A", "B"]);
    first.discard();
    const before = await Deno.stat(join(dir, "A/index.mjs"));
    const second = openOutputFolder(dir, dir);
    assertEquals([
      second.stage("A", code("a")),
      second.stage("B", code("c")),
      second.stage("C", code("c")),
    ], [
      "unchanged",
      "updated",
      "created",
    ]);
    second.commit(["A", "B", "C"]);
    second.discard();
    assertEquals((await Deno.stat(join(dir, "A/index.mjs"))).mtime, before.mtime);
    assertEquals(await Deno.readTextFile(join(dir, "B/index.mjs")), code("c"));
  });
});

Deno.test("openOutputFolder() removes unneeded generated bundles, and nothing else", async () => {
  await withTempFolder({}, async (dir) => {
    const first = openOutputFolder(dir, dir);
    for (const name of ["Kept", "Gone", "Shared"]) first.stage(name, code(name), "{}");
    first.commit(["Kept", "Gone", "Shared"]);
    first.discard();
    await Deno.writeTextFile(join(dir, "Shared/notes.txt"), "mine");
    await Deno.mkdir(join(dir, "Mine"));
    await Deno.writeTextFile(join(dir, "Mine/index.mjs"), "export {};");
    const second = openOutputFolder(dir, dir);
    assertEquals(second.commit(["Kept"]), ["Gone", "Shared"]);
    second.discard();
    assertEquals(await list(dir), [
      "Kept/index.mjs",
      "Kept/index.mjs.map",
      "Mine/index.mjs",
      "Shared/notes.txt",
    ]);
  });
});

Deno.test("openOutputFolder() names bundles that were not generated", async () => {
  await withTempFolder({}, async (dir) => {
    await Deno.mkdir(join(dir, "Mine"));
    await Deno.writeTextFile(join(dir, "Mine/index.mjs"), "export {};");
    assertEquals(openOutputFolder(dir, dir).unmanagedFiles(["Mine", "Other"]), ["Mine"]);
  });
});

Deno.test("openOutputFolder() moves source maps when the settings put them elsewhere", async () => {
  await withTempFolder({}, async (root) => {
    const [dir, maps] = [join(root, "dist"), join(root, "dist.maps")];
    const beside = openOutputFolder(dir, dir);
    beside.stage("A", code("linked"), "{}");
    beside.commit(["A"]);
    beside.discard();
    const apart = openOutputFolder(dir, maps);
    apart.stage("A", code("not linked"), "{}");
    apart.commit(["A"]);
    apart.discard();
    assertEquals(await list(root), ["dist.maps/A/index.mjs.map", "dist/A/index.mjs"]);
  });
});

Deno.test("openOutputFolder() removes what a build left behind that was killed", async () => {
  await withTempFolder({}, async (dir) => {
    const child = new Deno.Command(Deno.execPath(), { args: ["eval", ""] }).spawn();
    await child.status;
    await Deno.mkdir(join(dir, `.building-${child.pid}`, "A"), { recursive: true });
    const folder = openOutputFolder(dir, dir);
    folder.stage("B", code("b"));
    folder.commit(["B"]);
    folder.discard();
    assertEquals(await list(dir), ["B/index.mjs"]);
  });
});
