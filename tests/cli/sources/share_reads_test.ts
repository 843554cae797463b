import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { readConfig } from "../../../cli/config/read_config.ts";
import { readOnce, shareReads } from "../../../cli/sources/share_reads.ts";
import { withTempFolder } from "../../support/temp_folder.ts";

Deno.test("readOnce() reads each key once in the same work, and always outside of it", async () => {
  const reads: string[] = [];
  const read = (key: string) => readOnce(key, () => reads.push(key));
  const readTwice = () => Promise.resolve(["a", "b", "a"].map(read));
  assertEquals(await readTwice(), [1, 2, 3]);
  assertEquals(await shareReads(readTwice), [4, 5, 4]);
  assertEquals(await shareReads(readTwice), [6, 7, 6]);
});

Deno.test("readConfig() gives all steps of a deployment the same configuration", async () => {
  const render = (name: string) => `export default { infra: { projectName: "${name}" } };\n`;
  await withTempFolder({ "trellis.config.ts": render("first") }, async (root) => {
    const readName = async () => (await readConfig(root)).infra.projectName;
    await shareReads(async () => {
      assertEquals(await readName(), "first");
      await Deno.writeTextFile(join(root, "trellis.config.ts"), render("second"));
      assertEquals(await readName(), "first");
    });
    assertEquals(await readName(), "second");
  });
});
