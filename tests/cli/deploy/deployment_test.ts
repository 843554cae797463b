import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { checkVariables, type Deployment, StepError } from "../../../cli/deploy/deployment.ts";
import { planStage, showPlan } from "../../../cli/deploy/plan_steps.ts";
import { ConfigurationError } from "../../../errors/mod.ts";
import { withTempFolder } from "../../support/temp_folder.ts";

/** A deployment of `dev` whose state has the resources of a stage. */
function createDeployment(outputs: Readonly<Record<string, unknown>>, calls: string[]): Deployment {
  const record = <T>(name: string, result: T) => () => {
    calls.push(name);
    return Promise.resolve(result);
  };
  return {
    context: { output: { line: () => {} } },
    stage: { name: "dev", backend: {}, variables: {} },
    prefix: "notes-dev",
    terraform: {
      init: record("init", undefined),
      readOutputs: record("outputs", outputs),
      plan: record("plan", { file: "dev.tfplan", changes: [], isEmpty: true }),
    },
  } as unknown as Deployment;
}

Deno.test("planStage() plans nothing on the state of another stage", async () => {
  const calls: string[] = [];
  const deployment = createDeployment({ resource_prefix: "notes-prod" }, calls);
  for (const request of [{}, { isDestroy: true }]) {
    await assertRejects(
      () => planStage(deployment, request),
      StepError,
      "The state of dev contains the resources of notes-prod, not of notes-dev",
    );
  }
  assertEquals(calls, ["init", "outputs", "init", "outputs"]);
});

Deno.test("planStage() plans on the own state and on a new one", async () => {
  for (const outputs of [{}, { resource_prefix: "notes-dev" }]) {
    const calls: string[] = [];
    const deployment = createDeployment(outputs, calls);
    assertEquals(showPlan(deployment, await planStage(deployment)).summary, "no changes");
    assertEquals(calls, ["init", "outputs", "plan"]);
  }
});

Deno.test("checkVariables() refuses variables of a stage that no file declares", async () => {
  const files = {
    "variables.tf": 'variable "environment" {\n  type = string\n}\n',
    "own.tf": 'variable "page_size" {}\n# variable "other"\n',
  };
  const check = (folder: string, variables: Record<string, string | boolean>) =>
    checkVariables(folder, { name: "dev", backend: {}, variables });
  await withTempFolder(files, async (folder) => {
    check(folder, { environment: "dev", page_size: "20" });
    for (const [name, need] of [["manage_api_gateway_account", "REST APIs"], ["other", "remove"]]) {
      const variables = { environment: "dev", [name]: true };
      assertThrows(() => check(folder, variables), ConfigurationError, `sets the variable ${name}`);
      assertThrows(() => check(folder, variables), ConfigurationError, need);
    }
    // variables may be declared in a form that is not read
    await Deno.writeTextFile(`${folder}/own.tf.json`, "{}");
    check(folder, { other: "1" });
    check(`${folder}/missing`, { other: "1" });
  });
});
