import { type Command, type CommandContext, ExitCode, UsageError } from "../command.ts";
import { describeChanges, renderChanges, summarizeChanges } from "../deploy/describe_plan.ts";
import {
  type Deployment,
  type DeploymentStep,
  initState,
  listFoundations,
  openDeployment,
  StepError,
} from "../deploy/deployment.ts";
import type { PlannedSource } from "../infra/sources.ts";
import { generateSecret } from "../secrets/generate_secret.ts";
import type { SavedPlan } from "../deploy/terraform.ts";
import { formatDiagnostic } from "../generated_report.ts";
import { readStage, STAGE_OPTION } from "../stages/stage_name.ts";

/** The command `trellis deploy`. */
export const deploy: Command = {
  name: "deploy",
  summary: "Deploys a stage: build, plan, database, Terraform, and a request to see that it works.",
  description: [
    "Uses Terraform or OpenTofu, with the state of the stage only. The steps are: check that generated\n" +
    "files are up to date, build, plan, roles and secrets, values of secrets, migrations, grants,\n" +
    "everything else, release, smoke request. New code gets traffic only after its tables and grants\n" +
    "exist. The first failure stops the deployment. Run the command again to continue: steps that are\n" +
    "done change nothing.",
    "The plan shows what is destroyed or replaced, and what costs money without use. --plan stops there,\n" +
    "for pull requests.",
  ],
  options: [
    STAGE_OPTION,
    { name: "plan", description: "Show the plan and change nothing." },
    {
      name: "rollback",
      description: "Move the aliases back to the versions before the last release.",
    },
    { name: "yes", short: "y", description: "Do not ask for confirmation." },
    {
      name: "allow-destroy",
      description: "With --yes: also apply a plan that destroys or replaces resources.",
    },
    {
      name: "generate-secrets",
      description: "Put random values for secrets without one, such as those of a new preview.",
    },
    {
      name: "endpoint",
      value: "host",
      description: "Address of the Aurora DSQL database. Default: Terraform's output.",
    },
    {
      name: "url",
      value: "url",
      description: "URL of the API for the smoke request. Default: Terraform's output.",
    },
    {
      name: "terraform",
      value: "program",
      description: "The program. Default: terraform, else tofu.",
    },
    {
      name: "modules-path",
      value: "folder",
      description: "Folder of the Terraform modules. Default: the one in the package.",
    },
  ],
  examples: [
    ["trellis deploy --stage dev", "deploy, with a question before anything changes"],
    ["trellis deploy --stage prod --plan", "in a pull request: what would change"],
    ["trellis deploy --stage preview-42 --yes", "in CI: a preview of a branch"],
    ["trellis deploy --stage prod --rollback", "go back to the previous versions"],
  ],
  exitCodes: {
    [ExitCode.Done]: "Done; with --plan: the plan was made.",
    [ExitCode.Found]: "A step failed, or the answer was no.",
    [ExitCode.Usage]: "The command line is invalid, or a confirmation is needed.",
    [ExitCode.Failed]: "It could not run: Terraform is missing, or a folder or file is unreadable.",
  },
  run,
};

async function run(context: CommandContext): Promise<ExitCode> {
  const { options, output } = context;
  const stage = readStage(options);
  if (options.plan === true && options.rollback === true) {
    throw new UsageError("--plan and --rollback exclude each other");
  }
  const deployment = await openDeployment(context, stage);
  output.note(`${output.bold(deployment.prefix)} with ${deployment.terraform.version}`);
  const runner = new StepRunner(deployment);
  return options.rollback === true ? await runner.rollBack() : await runner.deploy();
}

/** Runs the steps of a deployment, and says after a failure how to continue. */
class StepRunner {
  readonly #deployment: Deployment;
  readonly #done: { name: string; result: string }[] = [];
  #plan: SavedPlan | undefined;
  /** True if the state has changed since the plan was shown. */
  #isPartlyApplied = false;

  constructor(deployment: Deployment) {
    this.#deployment = deployment;
  }

  async deploy(): Promise<ExitCode> {
    const { context } = this.#deployment;
    const isPlan = context.options.plan === true;
    const before: DeploymentStep[] = [
      { name: "check", run: () => this.#check() },
      { name: "build", run: () => this.#build() },
      { name: "plan", run: () => this.#showPlan() },
    ];
    const failed = await this.#runAll(before);
    if (failed || isPlan) return this.#finish(failed);
    if (!await this.#confirm()) return this.#finish(true);
    const { migrate, grant } = await import("../deploy/database_steps.ts");
    return this.#finish(
      await this.#runAll([
        { name: "roles", run: () => this.#applyFoundations() },
        { name: "secrets", run: () => this.#checkSecrets() },
        { name: "migrations", run: () => migrate(this.#deployment) },
        { name: "grants", run: () => grant(this.#deployment) },
        { name: "apply", run: () => this.#apply() },
        { name: "release", run: () => this.#release() },
        { name: "smoke", run: () => this.#smoke() },
      ]),
    );
  }

  async rollBack(): Promise<ExitCode> {
    return this.#finish(
      await this.#runAll([
        {
          name: "rollback",
          run: async () => {
            await initState(this.#deployment);
            const { rollBackRelease } = await import("../deploy/release.ts");
            return await rollBackRelease(this.#deployment);
          },
        },
        { name: "smoke", run: () => this.#smoke() },
      ]),
    );
  }

  /** Runs steps up to the first failure; returns true if there was one. */
  async #runAll(steps: readonly DeploymentStep[]): Promise<boolean> {
    const { context: { output }, stage } = this.#deployment;
    for (const [index, { name, run }] of steps.entries()) {
      let result: string | undefined;
      try {
        result = await run();
      } catch (error) {
        output.endProgress();
        output.line(`${output.red("failed")} ${name}: ${(error as Error).message}`);
        const rest = steps.slice(index + 1).map((each) => each.name);
        if (rest.length > 0) output.line(`Not run: ${rest.join(", ")}.`);
        if (!(error instanceof StepError) || name !== "smoke") {
          output.line(`Then run again: trellis deploy --stage ${stage.name}`);
        }
        this.#done.push({ name, result: "failed" });
        return true;
      }
      this.#done.push({ name, result: result ?? "nothing to do" });
      output.line(`${output.green("done")} ${name}: ${result ?? "nothing to do"}`);
    }
    return false;
  }

  #finish(failed: boolean): ExitCode {
    const { context: { output }, stage, prefix } = this.#deployment;
    const exitCode = failed ? ExitCode.Found : ExitCode.Done;
    output.result({
      command: "deploy",
      exitCode,
      stage: stage.name,
      prefix,
      steps: this.#done,
      plan: this.#plan === undefined ? null : describeChanges(this.#plan.changes),
    });
    return exitCode;
  }

  async #check(): Promise<string> {
    const { context, plan } = this.#deployment;
    if (plan.errors.length > 0) throw new StepError(plan.errors.map(formatDiagnostic).join("\n"));
    const [{ runCaptured }, { generatePermissions }] = await Promise.all([
      import("../database/run_captured.ts"),
      import("./generate_permissions.ts"),
    ]);
    const config = context.options.config;
    const { exitCode, lines } = await runCaptured(generatePermissions, context, {
      check: true,
      config,
    });
    const stale = plan.changes.filter(({ change }) => change !== "unchanged" && change !== "kept");
    if (exitCode !== ExitCode.Done) throw new StepError(lines.join("\n"));
    if (stale.length > 0) {
      throw new StepError(
        `${stale[0].path} is stale${stale.length > 1 ? `, and ${stale.length - 1} more` : ""}: ` +
          "run trellis generate infra and commit the files",
      );
    }
    return "generated files are up to date";
  }

  async #build(): Promise<string> {
    const { context } = this.#deployment;
    const [{ runCaptured }, { build }] = await Promise.all([
      import("../database/run_captured.ts"),
      import("./build.ts"),
    ]);
    const { exitCode, lines } = await runCaptured(build, context, {
      config: context.options.config,
    });
    if (exitCode !== ExitCode.Done) throw new StepError(lines.join("\n"));
    return lines.at(-1) ?? "";
  }

  async #showPlan(): Promise<string> {
    const { context: { output }, terraform } = this.#deployment;
    await initState(this.#deployment);
    this.#plan = await terraform.plan();
    const changes = describeChanges(this.#plan.changes);
    for (const line of renderChanges(changes, output)) output.line(line);
    return summarizeChanges(changes);
  }

  /** Asks before anything changes. A plan that destroys needs a second permission in CI. */
  async #confirm(): Promise<boolean> {
    const { context, prefix } = this.#deployment;
    const { options, output } = context;
    const changes = describeChanges(this.#plan!.changes);
    const isDestructive = changes.some(({ action }) =>
      action === "destroy" || action === "replace"
    );
    if (options.yes === true) {
      if (!isDestructive || options["allow-destroy"] === true) return true;
      output.line(
        `${output.red("stopped")} the plan destroys or replaces resources: read it, and add ` +
          "--allow-destroy if it is intended. Nothing was changed",
      );
      return false;
    }
    const answer = await context.confirm(`Deploy ${prefix}: ${summarizeChanges(changes)}?`);
    if (answer === undefined) {
      throw new UsageError("No terminal is attached for a confirmation: use --yes");
    }
    if (!answer) output.line("Nothing was changed.");
    return answer;
  }

  async #applyFoundations(): Promise<string | undefined> {
    const { terraform } = this.#deployment;
    const targets = listFoundations(this.#plan!);
    if (targets.length === 0) return undefined;
    const plan = await terraform.plan({ targets });
    await terraform.apply(plan);
    this.#isPartlyApplied = true;
    return summarizeChanges(describeChanges(plan.changes));
  }

  async #checkSecrets(): Promise<string | undefined> {
    const { context, plan, secrets, stage } = this.#deployment;
    if (plan.secrets.length === 0) return undefined;
    const states = await Promise.all(plan.secrets.map((source) => secrets.find(source)));
    const missing = plan.secrets.filter((_, index) => states[index] !== "set");
    if (missing.length === 0) return `${plan.secrets.length} have a value`;
    if (context.options["generate-secrets"] === true && missing.every(isGeneratable)) {
      for (const source of missing) await secrets.put(source, generateSecret());
      return `${missing.length} generated, ${plan.secrets.length - missing.length} had a value`;
    }
    throw new StepError(
      `${missing.length === 1 ? "a value is" : `${missing.length} values are`} missing. Put ` +
        `${missing.length === 1 ? "it" : "them"} first:\n${
          missing.map(({ variable, existing }) =>
            existing === undefined
              ? `  trellis secrets set ${variable} --stage ${stage.name} --generate   # or: < file`
              : `  ${variable}: ${existing} does not exist or has no value`
          ).join("\n")
        }`,
    );
  }

  async #apply(): Promise<string | undefined> {
    const { terraform } = this.#deployment;
    const plan = this.#isPartlyApplied ? await terraform.plan() : this.#plan!;
    if (plan.isEmpty) return undefined;
    const expected = new Set(this.#plan!.changes.map(({ address }) => address));
    const unseen = plan.changes.filter(({ address, actions }) =>
      !expected.has(address) && actions.includes("delete")
    );
    if (unseen.length > 0) {
      throw new StepError(
        `the plan now also destroys ${
          unseen.map(({ address }) => address).join(", ")
        }, which was ` +
          "not in the plan that was shown",
      );
    }
    await terraform.apply(plan);
    return summarizeChanges(describeChanges(plan.changes));
  }

  async #release(): Promise<string | undefined> {
    const { shiftRelease } = await import("../deploy/release.ts");
    return await shiftRelease(this.#deployment);
  }

  async #smoke(): Promise<string | undefined> {
    const { context, plan, terraform } = this.#deployment;
    const { chooseSmokePath, sendSmokeRequest } = await import("../deploy/smoke.ts");
    const path = chooseSmokePath(plan.config.infra.smoke, plan.sources.functions);
    const { api_url: output } = await terraform.readOutputs();
    const url = context.options.url ?? output;
    if (path === undefined || typeof url !== "string") return undefined;
    return await sendSmokeRequest(`${url.replace(/\/$/, "")}${path}`);
  }
}

/** Returns true for a secret of the stage: nothing else can have a random value. */
function isGeneratable({ existing, isSecret }: PlannedSource): boolean {
  return existing === undefined && isSecret;
}
