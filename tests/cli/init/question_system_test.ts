import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { CHECKOUT } from "../build/project.ts";
import { withTempFolder } from "../../support/temp_folder.ts";

/** Runs `trellis init` on a terminal on which lines were typed before it asks. */
async function initOnTerminal(folder: string, typed: string): Promise<string> {
  const main = join(CHECKOUT, "cli/main.ts");
  const command = `${Deno.execPath()} run -A --no-check ${main} init project --runtime node`;
  const child = new Deno.Command("script", {
    args: ["--quiet", "--return", "--command", command, "/dev/null"],
    cwd: folder,
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(typed));
  await writer.close();
  const { code, stdout } = await child.output();
  const printed = new TextDecoder().decode(stdout);
  assertEquals(code, 0, printed);
  return printed;
}

Deno.test({
  name: "init reads answers that were typed ahead, and takes the default at the end of the input",
  // script of other systems has other options
  ignore: Deno.build.os !== "linux",
  async fn() {
    await withTempFolder({}, async (folder) => {
      for (
        const [typed, driver] of [["bad\nneon\n", "@neondatabase/serverless"], ["", "postgres"]]
      ) {
        const printed = await initOnTerminal(folder, typed);
        if (typed !== "") assertStringIncludes(printed, '"bad" is none of them');
        const manifest = JSON.parse(await Deno.readTextFile(join(folder, "project/package.json")));
        assertEquals(Object.hasOwn(manifest.dependencies, driver), true, driver);
        await Deno.remove(join(folder, "project"), { recursive: true });
      }
    });
  },
});
