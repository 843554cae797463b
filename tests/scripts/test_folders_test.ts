import { assertEquals } from "@std/assert";
import { createRunFolder, removeAbandoned } from "../../scripts/test_folders.ts";
import { withTempFolder } from "../support/temp_folder.ts";

/** Returns the id of a process that has ended. */
async function findDeadPid(): Promise<number> {
  const child = new Deno.Command(Deno.execPath(), { args: ["--version"], stdout: "null" }).spawn();
  await child.status;
  return child.pid;
}

Deno.test("removeAbandoned() removes the folders of processes that have ended, and no others", async () => {
  await withTempFolder({}, async (folder) => {
    const dead = await findDeadPid();
    const left = [`trellis-postgres-${dead}-a1b2`, `trellis-tests-${dead}`];
    const kept = [`other-${dead}`, `trellis-postgres-${Deno.pid}-a1b2`, `trellis-prepared-${dead}`];
    for (const name of [...left, ...kept]) {
      await Deno.mkdir(`${folder}/${name}/data`, { recursive: true });
    }
    assertEquals((await removeAbandoned(folder)).sort(), left);
    const names = Array.from(Deno.readDirSync(folder), ({ name }) => name);
    assertEquals(names.sort(), kept);
  });
});

Deno.test("removeAbandoned() removes nothing when the folder does not exist", async () => {
  assertEquals(await removeAbandoned("/does/not/exist"), []);
});

Deno.test("createRunFolder() keeps what later runs use again", async () => {
  await withTempFolder({}, async (parent) => {
    const folder = await createRunFolder(parent);
    await Deno.writeTextFile(`${folder}/trellis-testing/prepared.tar`, "kept");
    await Deno.writeTextFile(`${folder}/left`, "");
    await Deno.remove(folder, { recursive: true });
    assertEquals(await Deno.readTextFile(`${parent}/trellis-testing/prepared.tar`), "kept");
  });
});
