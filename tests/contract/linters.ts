/** Linters of OpenAPI documents find no errors in those of the examples and of new projects. */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { TEMPLATE_NAMES } from "../../cli/init/project_choices.ts";
import { runProgram } from "../../scripts/program.ts";
import { prepare, run } from "../emulator/emulator.ts";
import { EXAMPLES, getDocument, ROOT, TRELLIS } from "./examples.ts";

const PACKAGES = ["@redocly/cli@2.77.0", "@stoplight/spectral-cli@6.16.3"];

async function installLinters(): Promise<string> {
  const folder = await prepare("trellis-contract-linters", async (draft) => {
    await Deno.writeTextFile(`${draft}/package.json`, "{}");
    await Deno.writeTextFile(`${draft}/.spectral.yaml`, `extends: ["spectral:oas"]\n`);
    await run("npm", ["install", "--silent", "--no-audit", "--no-fund", ...PACKAGES], draft);
  });
  return folder;
}

/** Checks a document. Both programs exit with 1 if they find an error. */
async function lint(cwd: string, document: string): Promise<void> {
  const bin = join(cwd, "node_modules/.bin");
  for (
    const [program, ...args] of [
      ["redocly", "lint", document, "--extends", "recommended"],
      ["spectral", "lint", document, "--ruleset", ".spectral.yaml", "--fail-severity", "error"],
    ]
  ) {
    const { code, stdout, stderr } = await runProgram(join(bin, program), args, { cwd });
    assertEquals(code, 0, `${program}: ${stdout}${stderr}`);
  }
}

Deno.test("redocly and spectral find no errors in the documents of the examples", async () => {
  const linters = await installLinters();
  for (const name of EXAMPLES) await lint(linters, await getDocument(name));
});

Deno.test("redocly and spectral find no errors in the documents of new projects", async () => {
  const linters = await installLinters();
  // inside of the repository, so that its import map applies
  await Deno.mkdir(join(ROOT, ".trellis"), { recursive: true });
  const parent = await Deno.makeTempDir({ dir: join(ROOT, ".trellis") });
  try {
    for (const template of TEMPLATE_NAMES) {
      const folder = join(parent, template);
      const options = ["--template", template, "--yes", "--runtime", "deno"];
      await run(Deno.execPath(), [...TRELLIS, "init", folder, ...options]);
      await run(Deno.execPath(), [...TRELLIS, "generate", "openapi", "--project", folder]);
      await lint(linters, join(folder, "openapi.json"));
    }
  } finally {
    await Deno.remove(parent, { recursive: true });
  }
});
