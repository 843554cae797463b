import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findFunctionFiles } from "../../../cli/discovery/function_files.ts";
import { readFunctions } from "../../../cli/infra/read_functions.ts";
import { createProjectFiles } from "../../../cli/init/template.ts";
import { TEMPLATE_NAMES } from "../../../cli/init/project_choices.ts";
import { writeProject } from "../../../cli/init/write_project.ts";
import { runInProcess } from "../fixtures/run.ts";

const EXAMPLES = fileURLToPath(new URL("../../../examples/", import.meta.url));
const FROZEN = fileURLToPath(new URL("../fixtures/frozen/", import.meta.url));
/** Writes the expected facts again, for a change of an example. */
const WRITES = Deno.env.get("TRELLIS_WRITE_FROZEN") === "1";

/** Returns what the commands know about the functions of a project: grants and infrastructure. */
async function readFacts(root: string): Promise<unknown> {
  const { stdout } = await runInProcess(
    ["generate", "permissions", "--check", "--json", "--project", root],
  );
  const permissions = JSON.parse(stdout);
  const files = findFunctionFiles(join(root, "src/functions"));
  const { functions, errors, warnings } = await readFunctions({ root, files, settings: {} });
  const byName = (a: { name: string }, b: { name: string }) => a.name < b.name ? -1 : 1;
  return JSON.parse(JSON.stringify({
    grants: permissions.functions.sort(byName),
    findings: {
      unresolved: permissions.errors,
      ...pick(permissions, ["missed", "warnings"]),
      errors,
      infra: warnings,
    },
    functions: functions.map((fn) => ({
      ...pick(fn, [
        "name",
        "source",
        "definer",
        "options",
        "variables",
        "usesDatabase",
        "takesFiles",
        "sendsBySes",
        "loadsSources",
        "apiKeyHeaders",
        "inputs",
      ]),
      jobs: [...fn.jobs].sort(),
      database: fn.database && {
        providers: [...fn.database.providers].sort(),
        variables: [...fn.database.variables].sort(),
        usesIam: fn.database.usesIam,
      },
    })).sort(byName),
  }));
}

function pick<T extends object, K extends keyof T>(value: T, names: readonly K[]): Pick<T, K> {
  return Object.fromEntries(names.map((name) => [name, value[name]])) as Pick<T, K>;
}

async function compare(name: string, root: string): Promise<void> {
  const file = join(FROZEN, `${name}.json`);
  const facts = await readFacts(root);
  if (WRITES) await Deno.writeTextFile(file, JSON.stringify(facts, null, 2) + "\n");
  assertEquals(facts, JSON.parse(await Deno.readTextFile(file)));
}

for (const name of ["notes", "booking", "accounts", "notes-node"]) {
  Deno.test(`grants and infrastructure of the example ${name} are those that were frozen`, async () => {
    await compare(name, join(EXAMPLES, name));
  });
}

for (const template of TEMPLATE_NAMES) {
  Deno.test(`grants and infrastructure of the template ${template} are those that were frozen`, async () => {
    const parent = await Deno.realPath(await Deno.makeTempDir({ prefix: "trellis-frozen-" }));
    const root = join(parent, "app");
    try {
      writeProject(root, createProjectFiles("app", "deno", { template, database: "aurora-dsql" }));
      await compare(`template_${template}`, root);
    } finally {
      await Deno.remove(parent, { recursive: true });
    }
  });
}
