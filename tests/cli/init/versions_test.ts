import { assertEquals } from "@std/assert";
import { projectFiles } from "../../../cli/init/template.ts";
import { VERSIONS } from "../../../cli/init/versions.ts";

Deno.test("VERSIONS are those of deno.json", async () => {
  const { name, version, imports } = JSON.parse(
    await Deno.readTextFile(new URL("../../../deno.json", import.meta.url)),
  );
  for (const [each, pinned] of Object.entries(VERSIONS)) {
    assertEquals(each === name ? version : imports[each], each === name ? pinned : `npm:${each}@${pinned}`);
  }
});

Deno.test("projectFiles() holds no secret and ends every file with a line break", () => {
  for (const runtime of ["node", "deno"] as const) {
    const files = projectFiles("api", runtime);
    for (const [path, text] of files) assertEquals(text.endsWith("\n") && !text.endsWith("\n\n"), true, path);
    assertEquals(/^AUTH_SECRET=$/m.test(files.get(".env.example")!), true);
    assertEquals(/^\.env$/m.test(files.get(".gitignore")!), true);
  }
});
