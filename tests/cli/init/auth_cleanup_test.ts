import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { createProjectFiles } from "../../../cli/init/template.ts";
import { withProject } from "../fixtures/analyse.ts";
import { infra, permissions, readInfra } from "../fixtures/infra_project.ts";

for (const runtime of ["node", "deno"] as const) {
  Deno.test(`the template for ${runtime} has a clean-up of expired rows that runs once a day with grants of its own`, async () => {
    const files = Object.fromEntries(createProjectFiles("my-api", runtime));
    await withProject(files, async (root) => {
      assertEquals((await permissions(root)).exitCode, 0);
      const { exitCode, stdout, stderr } = await infra(
        root,
        "--modules-path",
        join(Deno.cwd(), "modules"),
      );
      assertEquals(exitCode, 0, stdout + stderr);
      const fn = await readInfra(root, "fn_auth_cleanup.tf");
      assertMatch(fn, /schedule_expression += "rate\(1 day\)"/);
      // no secret of a provider, and no right to send mails
      for (const foreign of ["ses:", "sqs:"]) assertEquals(fn.includes(foreign), false, foreign);
      const grants = await readGrants(root);
      assertStringIncludes(grants, "DELETE");
      assertEquals(/INSERT|UPDATE/.test(grants), false, grants);
    });
  });
}

/** Returns the grants of the clean-up. */
async function readGrants(root: string): Promise<string> {
  const folder = join(root, "permissions");
  const texts: string[] = [];
  for await (const { name } of Deno.readDir(folder)) {
    const text = await Deno.readTextFile(join(folder, name));
    texts.push(...text.split("\n").filter((line) => /GRANT.*cleanup/i.test(line)));
  }
  return texts.join("\n");
}
