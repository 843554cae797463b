import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findOwnModules, planModuleSources } from "../../../cli/infra/module_sources.ts";
import { withTempFolder } from "../../support/temp_folder.ts";

const MODULES = fileURLToPath(new URL("../../../modules", import.meta.url));

async function makeModules(folder: string): Promise<string> {
  await Deno.mkdir(join(folder, "core"), { recursive: true });
  await Deno.writeTextFile(join(folder, "core/versions.tf"), "terraform {}\n");
  return folder;
}

const PLACES:
  readonly (readonly [what: string, modules: string, project: string, expected: string])[] = [
    [
      "in the project's node_modules",
      "app/node_modules/@trellis/fn/modules",
      "app",
      "../node_modules/@trellis/fn/modules/core",
    ],
    [
      "in the node_modules of a workspace",
      "node_modules/@trellis/fn/modules",
      "packages/api",
      "../../../node_modules/@trellis/fn/modules/core",
    ],
    ["in a checkout beside the project", "trellis/modules", "app", "../../trellis/modules/core"],
    ["in a checkout around the project", "modules", "examples/notes", "../../../modules/core"],
    [
      "in the folder of the Terraform files",
      "app/infra/vendor/modules",
      "app",
      "./vendor/modules/core",
    ],
  ];

for (const [what, modules, project, expected] of PLACES) {
  Deno.test(`planModuleSources() names modules ${what} by a relative path`, async () => {
    await withTempFolder({}, async (folder) => {
      const path = await makeModules(join(folder, modules));
      const root = join(folder, project);
      await Deno.mkdir(root, { recursive: true });
      const sources = planModuleSources(root, join(root, "infra"), path, false);
      assertEquals(sources.getSource("core"), expected);
      assertEquals(sources.copies(["core"]).size, 0);
    });
  });
}

Deno.test("planModuleSources() names a linked package by its name, not by its version", async () => {
  await withTempFolder({}, async (root) => {
    const store = join(root, "node_modules/.pnpm/@trellis+fn@1.0.0/node_modules/@trellis/fn");
    const path = await makeModules(join(store, "modules"));
    await Deno.mkdir(join(root, "node_modules/@trellis"), { recursive: true });
    await Deno.symlink(store, join(root, "node_modules/@trellis/fn"));
    const { getSource } = planModuleSources(root, join(root, "infra"), path, false);
    assertEquals(getSource("function"), "../node_modules/@trellis/fn/modules/function");
  });
});

for (
  const archive of [
    ".yarn/cache/@trellis-fn-npm-0.1.0-0123456789.zip/node_modules",
    ".yarn/__virtual__/@trellis-fn-virtual-0123456789/0/cache/node_modules",
  ]
) {
  Deno.test(`planModuleSources() copies modules out of ${archive}, which Terraform cannot read`, async () => {
    await withTempFolder({}, async (root) => {
      const path = await makeModules(join(root, archive, "@trellis/fn/modules"));
      const { getSource } = planModuleSources(root, join(root, "infra"), path, false);
      assertEquals(getSource("core"), "./modules/core");
    });
  });
}

Deno.test("planModuleSources() copies modules of a cache folder, and only those that are used", async () => {
  await withTempFolder({}, (root) => {
    const sources = planModuleSources(root, join(root, "infra"), MODULES, false);
    assertEquals(sources.getSource("database/distsql"), "./modules/database/distsql");
    const copies = sources.copies(["core"]);
    assertEquals([...copies.keys()], [
      "core/main.tf",
      "core/outputs.tf",
      "core/variables.tf",
      "core/versions.tf",
    ]);
    assertStringIncludes(copies.get("core/outputs.tf")!, 'output "name_prefix"');
    // a path that somebody named is used as it is
    assertEquals(
      planModuleSources(root, join(root, "infra"), MODULES, true).copies(["core"]).size,
      0,
    );
  });
});

Deno.test("findOwnModules() finds the modules that Terraform files of the project use, not those of generated files", async () => {
  await withTempFolder({}, async (root) => {
    const isGenerated = (text: string) => text.startsWith("# generated");
    assertEquals(findOwnModules(join(root, "infra"), isGenerated), new Set());
    await Deno.mkdir(join(root, "infra"));
    const files = {
      "alarms.tf": `module "alarms" {\n  source = "./modules/observability"\n}\n`,
      "database.tf": `module "a" {\n  source="./modules/database/postgres"\n}\n`,
      "other.tf":
        `module "b" {\n  # source = "./modules/queue"\n  source = "../modules/topic"\n}\n`,
      "api.tf": `# generated\nmodule "api" {\n  source = "./modules/rest-api"\n}\n`,
      "notes.txt": `source = "./modules/bucket"\n`,
    };
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(join(root, "infra", name), text);
    }
    assertEquals(
      findOwnModules(join(root, "infra"), isGenerated),
      new Set(["observability", "database/postgres"]),
    );
  });
});
