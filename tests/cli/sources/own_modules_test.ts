import { assert, assertEquals } from "@std/assert";
import { resolveOwnModule } from "../../../cli/sources/own_modules.ts";

const ROOT = new URL("../../../", import.meta.url);
const { exports } = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));

Deno.test("resolveOwnModule() knows every entry point of the package", () => {
  for (const [name, path] of Object.entries<string>(exports)) {
    assertEquals(
      resolveOwnModule(`@trellis/fn${name.slice(1)}`),
      new URL(path, ROOT).href,
      `add ${name} to cli/sources/own_modules.ts`,
    );
  }
  assert(resolveOwnModule("@trellis/fn/none") === undefined);
});
