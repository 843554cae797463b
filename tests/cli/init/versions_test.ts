import { assertEquals } from "@std/assert";
import { createProjectFiles } from "../../../cli/init/template.ts";
import { TEMPLATE_NAMES } from "../../../cli/init/project_choices.ts";
import { VERSIONS } from "../../../cli/init/versions.ts";

Deno.test("VERSIONS are those of deno.json", async () => {
  const { name, version, imports } = JSON.parse(
    await Deno.readTextFile(new URL("../../../deno.json", import.meta.url)),
  );
  const lock = JSON.parse(await Deno.readTextFile(new URL("../../../deno.lock", import.meta.url)));
  for (const [each, range] of Object.entries(VERSIONS)) {
    const pinned = range.replace("^", "");
    const own = each === name ? version : imports[each].replace(/^npm:.+@\^?/, "");
    // of a range, the version that is tested is the locked one
    const locked = Object.keys(lock.npm).some((key) =>
      key === `${each}@${pinned}` || key.startsWith(`${each}@${pinned}_`)
    );
    assertEquals(own === pinned || locked, true, `${each} ${pinned}`);
  }
});

Deno.test("createProjectFiles() holds no secret and ends every file with a line break", () => {
  for (const runtime of ["node", "deno"] as const) {
    const files = createProjectFiles("api", runtime);
    for (const [path, text] of files) {
      assertEquals(text.endsWith("\n") && !text.endsWith("\n\n"), true, path);
    }
    assertEquals(/^AUTH_SECRET=$/m.test(files.get(".env.example")!), true);
    assertEquals(/^\.env$/m.test(files.get(".gitignore")!), true);
  }
});

Deno.test("createProjectFiles() names a route in the README that the project has", () => {
  for (const template of TEMPLATE_NAMES) {
    const files = createProjectFiles("api", "node", { template });
    const [, file, method, path] = /`([\w./]+)` is `(GET|POST) \/(\w+)`/.exec(
      files.get("README.md")!,
    )!;
    assertEquals(files.has(`src/functions/api/${file}`), true, template);
    const name = method === "GET" ? path : `${path}/index`;
    assertEquals(file, `${name}.${method.toLowerCase()}.ts`);
  }
});
