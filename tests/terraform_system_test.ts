// deno-lint-ignore-file no-console
/**
 * The Terraform modules and examples, with Terraform itself where it is on the PATH. Next to the project there may be
 * stand-in providers (`../shared/terraform-offline`); without them Terraform takes the real ones from its registry, and
 * what would need an AWS account is left out. What is left out is said loudly.
 */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { assert, assertEquals, assertGreater, assertStringIncludes } from "@std/assert";
import {
  blocks,
  type HclBlock,
  MODULE_NAMES,
  parseHcl,
  readTerraformModule,
} from "../scripts/terraform_module.ts";
import { updateReadmes } from "../scripts/terraform_readme.ts";
import { checkTerraformPolicy } from "../scripts/check_terraform_policy.ts";
import { renderManifest } from "../scripts/modules_manifest.ts";
import {
  hasOffline,
  hasProgram,
  installProviders,
  OFFLINE,
  TERRAFORM,
  type TerraformProviders,
  withProviders,
} from "./support/terraform_providers.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const isInstalled = await hasProgram(TERRAFORM);

/** Commands run on a copy: Terraform writes beside what it reads. */
const work = isInstalled ? await makeCopy() : "";
globalThis.addEventListener("unload", () => {
  if (work !== "") Deno.removeSync(work, { recursive: true });
});

/** Terraform is installed, and the providers can be installed too. */
const hasTerraform = hasOffline || (isInstalled && await canInstallProviders());

if (!isInstalled) {
  console.warn(
    "SKIPPED: terraform is not on the PATH. Not run: fmt, validate, the modules' own tests, refusals, plans.",
  );
} else if (!hasTerraform) {
  console.warn(
    "SKIPPED: Terraform's registry cannot be reached and there are no stand-in providers. Not run: fmt, validate, the " +
      "modules' own tests, refusals, plans.",
  );
} else if (!hasOffline) {
  console.warn(
    "SKIPPED: there are no stand-in providers, and plans need an AWS account without them. Not run: plan and apply of " +
      "the examples, messages of the validations, the oldest provider version.",
  );
}

Deno.test("READMEs of the modules are what the generator makes of the code", async () => {
  assertEquals(await updateReadmes(`${ROOT}modules`, true), []);
});

Deno.test("modules_manifest.ts is what the generator makes of the modules", async () => {
  assertEquals(
    await renderManifest(`${ROOT}modules`),
    await Deno.readTextFile(`${ROOT}cli/infra/modules_manifest.ts`),
  );
});

for (const name of MODULE_NAMES) {
  Deno.test(`module ${name} keeps to the project's policy and has every part`, async () => {
    const folder = `${ROOT}modules/${name}`;
    assertEquals(checkTerraformPolicy(await readTerraformModule(folder, name)), []);
    for (
      const part of [
        "versions.tf",
        "variables.tf",
        "main.tf",
        "outputs.tf",
        "README.md",
        "examples/basic/main.tf",
      ]
    ) {
      assert(await exists(`${folder}/${part}`), `${part} is missing`);
    }
    assertGreater((await nativeTests(folder)).length, 0);
  });

  Deno.test({
    name: `module ${name} is formatted, validates with its example, and passes its own tests`,
    ignore: !hasTerraform,
    fn: async () => {
      const folder = `${work}/modules/${name}`;
      await terraform(folder, ["fmt", "-check", "-diff", "-recursive"]);
      // "each validation refuses" plans their values all at once
      if (hasOffline) await removeRefusals(`${folder}/tests/validation.tftest.hcl`);
      // with stand-in providers the examples are applied
      await check(hasOffline ? [folder] : [folder, `${folder}/examples/basic`]);
    },
  });
}

Deno.test({
  name: "modules refuse an argument that they do not have",
  ignore: !hasTerraform,
  fn: withServed(async () => {
    // One at a time: Terraform stops at the first call that it cannot read.
    for (const name of MODULE_NAMES) {
      const call = { ...await soundCall(name), no_such_argument: true };
      const found = await validateErrors({ wrong: call });
      assertEquals(found.map(({ summary }) => summary), ["Extraneous JSON object property"], name);
      assertStringIncludes(found[0].detail, '"no_such_argument"');
    }
  }),
});

Deno.test({
  name: "modules refuse a value of the wrong type",
  ignore: !hasTerraform,
  fn: withServed(async () => {
    const calls: Record<string, HclBlock> = {};
    const wanted: string[] = [];
    for (const name of MODULE_NAMES) {
      const input = name === "core" ? "extra_tags" : "tags";
      const label = name.replace("/", "-");
      calls[label] = { ...await soundCall(name), [input]: "notes" };
      wanted.push(`The given value is not suitable for module.${label}.var.${input} declared`);
    }
    const found = await validateErrors(calls);
    assertEquals(found.map(({ detail }) => detail.split(" at ")[0]).toSorted(), wanted.toSorted());
  }),
});

Deno.test({
  name: "each validation refuses the values of the modules' own tests with its message",
  ignore: !hasOffline,
  fn: withServed(async () => {
    for (const module of MODULE_NAMES) {
      const cases = await validationCases(module);
      const rules = await validationRules(module);
      const found = await refusals(module, cases, rules);

      const details = [...found.values()].flat().map(({ detail }) => detail);
      const unproven = rules.filter(({ place }) =>
        !details.some((detail) => detail.includes(place))
      );
      assertEquals(unproven, [], "these rules refuse nothing in validation.tftest.hcl");

      for (const entry of cases) {
        const { run, variable } = entry;
        const refused = found.get(entry) ?? [];
        const place = `${module}: ${run}`;
        const text = refused.map(({ detail }) => detail.split("\n\n")[0]).join("; ");
        assertStringIncludes(text, variable, `${place}: the message must name the input`);
        const others = refused.filter(({ detail }) =>
          !rules.some((rule) => rule.variable === variable && detail.includes(rule.place))
        );
        assertEquals(others, [], `${place}: refused by rules of other inputs`);
      }
    }
  }),
});

Deno.test({
  name: "examples/basic of all modules apply, and a second plan has nothing to do",
  ignore: !hasOffline,
  fn: withServed(async () => {
    const calls = MODULE_NAMES.map((
      name,
    ) => [name.replace("/", "-"), { source: `../modules/${name}/examples/basic` }]);
    await applyTwice(await writeCalls(Object.fromEntries(calls)));
  }),
});

Deno.test({
  name:
    "examples/infra applies, a second plan has nothing to do, and no policy in it allows everything",
  ignore: !hasOffline,
  fn: withServed(async () => {
    const folder = `${work}/examples/infra`;
    await terraform(folder, ["fmt", "-check", "-diff", "-recursive"]);
    await applyTwice(folder);
    const state = JSON.parse(await terraform(folder, ["show", "-json"]));
    const policies = getPolicies(state.values.root_module);
    assertGreater(policies.size, 10);
    for (const [address, policy] of policies) {
      for (const statement of [policy.Statement].flat()) {
        if (statement.Effect === "Deny" || address.includes("aws_kms_key")) continue;
        const actions = [statement.Action].flat();
        assert(
          !actions.some((action: string) => action.includes("*")),
          `${address} allows ${actions}`,
        );
        const tracing = actions.every((action: string) => action.startsWith("xray:"));
        assert(
          tracing || !("Resource" in statement) || ![statement.Resource].flat().includes("*"),
          `${address} allows *`,
        );
        assert(statement.Principal !== "*", `${address} allows everybody`);
      }
    }
  }),
});

Deno.test({
  name: "examples/infra validates",
  ignore: !hasTerraform || hasOffline, // with stand-in providers it is applied
  fn: async () => {
    await check([`${work}/examples/infra`]);
  },
});

Deno.test({
  name: "modules validate with the oldest provider version that they allow",
  ignore: !hasOffline,
  fn: async () => {
    const schemas = fileURLToPath(
      new URL("../../shared/terraform-offline/schema-6.0.0", import.meta.url),
    );
    const calls: Record<string, HclBlock> = {};
    for (const name of MODULE_NAMES) calls[name.replace("/", "-")] = await soundCall(name);
    await offline(["validate", await writeCalls(calls), `${work}/examples/infra`], schemas);
  },
});

interface Diagnostic {
  readonly summary: string;
  readonly detail: string;
}

interface ValidationCase {
  readonly run: string;
  readonly variable: string;
  readonly args: HclBlock;
}

/** One `validation` block, by the place that Terraform names when it refuses. */
interface ValidationRule {
  readonly variable: string;
  readonly place: string;
}

/** Every validation block of a module. */
async function validationRules(module: string): Promise<ValidationRule[]> {
  const rules: ValidationRule[] = [];
  let variable = "";
  const text = await Deno.readTextFile(`${ROOT}modules/${module}/variables.tf`);
  for (const [index, line] of text.split("\n").entries()) {
    variable = /^variable "([^"]+)"/.exec(line)?.[1] ?? variable;
    if (line === "  validation {") {
      rules.push({ variable, place: `modules/${module}/variables.tf:${index + 1},` });
    }
  }
  return rules;
}

/** The runs of a module's validation.tftest.hcl that expect a refusal, with all their arguments. */
async function validationCases(module: string): Promise<ValidationCase[]> {
  const path = `${ROOT}modules/${module}/tests/validation.tftest.hcl`;
  const parsed = await parseHcl(path, await Deno.readTextFile(path));
  const [base = {}] = blocks(parsed.variables);
  return Object.entries(parsed.run as HclBlock).flatMap(([name, body]): ValidationCase[] =>
    blocks(body).filter((block) => "expect_failures" in block).map((block) => ({
      run: name,
      variable: String((block.expect_failures as string[])[0]).replace(/^\$\{var\.(.*)\}$/, "$1"),
      args: { ...base, ...blocks(block.variables)[0] },
    }))
  );
}

/** Leaves the runs that expect no refusal. */
async function removeRefusals(file: string): Promise<void> {
  const text = await Deno.readTextFile(file);
  const runs = text.split(/^(?=run ")/m);
  await Deno.writeTextFile(file, runs.filter((run) => !run.includes("expect_failures")).join(""));
}

/** A call of a module with nothing wrong in it: what its own tests start from. */
async function soundCall(name: string): Promise<HclBlock> {
  const path = `${ROOT}modules/${name}/tests/validation.tftest.hcl`;
  const [args = {}] = blocks((await parseHcl(path, await Deno.readTextFile(path))).variables);
  return { source: `../modules/${name}`, ...args };
}

/** Writes module calls into a new folder and returns it. */
async function writeCalls(calls: Record<string, HclBlock>, parent = work): Promise<string> {
  const folder = await Deno.makeTempDir({ dir: parent });
  await Deno.writeTextFile(`${folder}/main.tf.json`, JSON.stringify({ module: calls }, null, 1));
  return folder;
}

/** Validates module calls that must fail, and returns what is said against them. */
async function validateErrors(calls: Record<string, HclBlock>): Promise<Diagnostic[]> {
  const folder = await writeCalls(calls);
  await terraform(folder, ["init", "-backend=false", "-input=false"]);
  return JSON.parse(await terraform(folder, ["validate", "-json"], [1])).diagnostics;
}

/**
 * Plans a call of a module for each of its cases, all at once, and returns what is said against each. Rules about several
 * inputs are looked at only when those about a single one hold, hence the second round. The module has its variables
 * only: planning its resources once for each case would take most of the time, and no rule depends on them.
 */
async function refusals(
  module: string,
  cases: readonly ValidationCase[],
  rules: readonly ValidationRule[],
): Promise<Map<ValidationCase, Diagnostic[]>> {
  const found = new Map<ValidationCase, Diagnostic[]>();
  const parent = await Deno.makeTempDir({ dir: work });
  const file = `${parent}/modules/${module}/variables.tf`;
  await Deno.mkdir(dirname(file), { recursive: true });
  await Deno.copyFile(`${ROOT}modules/${module}/variables.tf`, file);
  for (let round = 0; round < 2; round++) {
    const open = cases.filter((entry) => !found.has(entry));
    if (open.length === 0) break;
    const calls = open.map((
      { args },
      index,
    ) => [`case${index}`, { source: `../modules/${module}`, ...args }]);
    const folder = await writeCalls(Object.fromEntries(calls), parent);
    await terraform(folder, ["init", "-backend=false", "-input=false"]);
    const output = await terraform(folder, ["plan", "-json", "-input=false", "-refresh=false"], [
      1,
    ]);
    for (const line of output.trim().split("\n")) {
      const { diagnostic } = JSON.parse(line);
      if (diagnostic?.summary !== "Invalid value for variable") continue;
      const index = /^module\.case(\d+)$/.exec(diagnostic.snippet?.context ?? "")?.[1];
      const rule = rules.find(({ place }) => diagnostic.detail.includes(place));
      // Where a default is at fault, Terraform names the rule but no call.
      const entries = index !== undefined
        ? [open[Number(index)]]
        : open.filter(({ variable }) => variable === rule?.variable);
      for (const entry of entries) found.set(entry, [...found.get(entry) ?? [], diagnostic]);
    }
  }
  return found;
}

async function applyTwice(folder: string): Promise<void> {
  await terraform(folder, ["init", "-backend=false", "-input=false"]);
  await terraform(folder, ["plan", "-input=false", "-out=first.tfplan"]);
  await terraform(folder, ["apply", "-input=false", "first.tfplan"]);
  // Exit code 2 would mean that there are changes.
  await terraform(folder, ["plan", "-input=false", "-detailed-exitcode"]);
}

// deno-lint-ignore no-explicit-any
type Json = any;

/** Every attribute of every resource that is a policy, by address. */
function getPolicies(module: Json): Map<string, Json> {
  const found = new Map<string, Json>();
  for (const resource of module.resources ?? []) {
    for (const key of ["policy", "assume_role_policy"]) {
      const value = resource.values?.[key];
      if (resource.mode === "managed" && typeof value === "string" && value.includes("Statement")) {
        found.set(`${resource.address}.${key}`, JSON.parse(value));
      }
    }
  }
  for (const child of module.child_modules ?? []) {
    for (const [address, policy] of getPolicies(child)) found.set(address, policy);
  }
  return found;
}

/** init, validate, and test where there are tests. */
async function check(folders: string[]): Promise<void> {
  if (hasOffline) {
    await offline(["check", ...folders]);
    return;
  }
  for (const folder of folders) {
    await terraform(folder, ["init", "-backend=false", "-input=false"]);
    await terraform(folder, ["validate"]);
    if (await exists(`${folder}/tests`)) await terraform(folder, ["test"]);
  }
}

/** Runs the program of the stand-in providers. It knows Terraform's registry; OpenTofu starts each provider from its own. */
async function offline(args: string[], schemas?: string): Promise<void> {
  const home = `${work}/home${schemas === undefined ? "" : "-oldest"}`;
  if (!await exists(home)) await installProviders(home);
  const env = {
    TF_OFFLINE_HOME: home,
    TF_OFFLINE_TERRAFORM: TERRAFORM,
    ...TERRAFORM === "terraform" ? {} : { TF_OFFLINE_PROCESSES: "1" },
    ...schemas === undefined ? {} : { TF_OFFLINE_SCHEMAS: schemas },
  };
  await run(OFFLINE, args, { env });
}

/** The stand-in providers of the test that runs. */
let providers: TerraformProviders | undefined;

/** Makes a test that runs with one process for the stand-in providers, if they are there. */
function withServed(test: () => Promise<void>): () => Promise<void> {
  if (!hasOffline) return test;
  return () =>
    withProviders(work, async (served) => {
      providers = served;
      await test();
    }).finally(() => providers = undefined);
}

/** The folder in which Terraform keeps real providers, so that each is downloaded once. */
async function pluginCache(): Promise<string> {
  const folder = `${work}/plugins`;
  await Deno.mkdir(folder, { recursive: true });
  return folder;
}

/** Initializes a module: from a mirror that the user has configured, or from the registry. */
async function canInstallProviders(): Promise<boolean> {
  return await terraform(`${work}/modules/core`, ["init", "-backend=false", "-input=false"])
    .then(() => true, () => false);
}

async function terraform(folder: string, args: string[], codes: number[] = [0]): Promise<string> {
  await providers?.serve(folder);
  const env = providers?.env ?? { TF_PLUGIN_CACHE_DIR: await pluginCache() };
  return await run(TERRAFORM, args, { cwd: folder, codes, env });
}

async function run(
  command: string,
  args: string[],
  { cwd, codes = [0], env = {} }: { cwd?: string; codes?: number[]; env?: Record<string, string> } =
    {},
): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(command, {
    args,
    cwd,
    env: {
      TF_OFFLINE_HOME: `${work}/home`,
      TF_IN_AUTOMATION: "1",
      CHECKPOINT_DISABLE: "1",
      ...env,
    },
    stdout: "piped",
    stderr: "piped",
  }).output();
  const text = new TextDecoder();
  assert(
    codes.includes(code),
    `${command} ${args.join(" ")} in ${cwd ?? "."}: exit code ${code}\n${text.decode(stdout)}\n${
      text.decode(stderr)
    }`,
  );
  return text.decode(stdout);
}

async function makeCopy(): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "terraform-test-" });
  await copyFolder(`${ROOT}modules`, `${folder}/modules`);
  await copyFolder(`${ROOT}examples/infra`, `${folder}/examples/infra`);
  return folder;
}

async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const entry of Deno.readDir(from)) {
    if (entry.name.startsWith(".terraform")) continue;
    if (entry.isDirectory) await copyFolder(`${from}/${entry.name}`, `${to}/${entry.name}`);
    else await Deno.copyFile(`${from}/${entry.name}`, `${to}/${entry.name}`);
  }
}

async function nativeTests(folder: string): Promise<string[]> {
  const names: string[] = [];
  for await (const entry of Deno.readDir(`${folder}/tests`)) {
    if (entry.name.endsWith(".tftest.hcl")) names.push(entry.name);
  }
  return names;
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}
