import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { dirname, join } from "node:path";
import { createProjectFiles } from "../../../cli/init/template.ts";
import { TEMPLATE_NAMES } from "../../../cli/init/project_choices.ts";
import { denoProjectFiles, writeTestProject } from "../build/project.ts";
import { withProject } from "../fixtures/analyse.ts";
import { infra, permissions, readInfra } from "../fixtures/infra_project.ts";

/** The check of types takes most of the time. */
const CHECK = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? [] : ["--no-check"];
/** The template `notes` has other tests. */
const OTHERS = TEMPLATE_NAMES.filter((name) => name !== "notes");

Deno.test("the templates api, accounts and jobs pass their tests", async () => {
  const checkout = await denoProjectFiles();
  const files: Record<string, string> = {
    "deno.json": checkout["deno.json"],
    "deno.lock": checkout["deno.lock"],
  };
  for (const template of OTHERS) {
    const created = createProjectFiles("my-api", "deno", { template });
    for (const [path, text] of created) {
      if (/^(?:migrations|src|tests)\//.test(path)) files[`${template}/${path}`] = text;
    }
  }
  const { root, remove } = await writeTestProject(files);
  try {
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["test", "-A", "--quiet", ...CHECK, ...OTHERS.map((template) => `${template}/tests`)],
      cwd: root,
      env: { NO_COLOR: "1", PATH: `${dirname(Deno.execPath())}:${Deno.env.get("PATH")}` },
    }).output();
    const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    assertEquals(success, true, text);
    assertStringIncludes(text, "7 passed | 0 failed");
  } finally {
    await remove();
  }
});

for (const template of OTHERS) {
  Deno.test(`the template ${template} has complete grants and infrastructure`, async () => {
    const files = Object.fromEntries(createProjectFiles("my-api", "node", { template }));
    await withProject(files, async (root) => {
      const granted = await permissions(root);
      assertEquals(granted.exitCode, 0, granted.stdout + granted.stderr);
      const { exitCode, stdout, stderr } = await infra(
        root,
        "--modules-path",
        join(Deno.cwd(), "modules"),
      );
      assertEquals([exitCode, /warning/i.test(stdout)], [0, false], stdout + stderr);
      if (template === "accounts") {
        assertStringIncludes(await readInfra(root, "mail.tf"), '"example.com"');
        // only the functions that send may send
        const sends = async (name: string) =>
          (await readInfra(root, `fn_${name}.tf`)).includes("mail_send");
        assertEquals(await sends("mail_relay"), await sends("mail"));
        assertEquals(await sends("notes_get"), false);
      }
      if (template === "jobs") {
        const cleanup = await readInfra(root, "fn_idempotency_cleanup.tf");
        assertMatch(cleanup, /schedule_expression += "rate\(1 day\)"/);
      }
    });
  });
}
