import type { Command, CommandContext, CommandResult } from "../terminal/command.ts";
import { ExitCode, UsageError } from "../terminal/command.ts";
import { type Deployment, withDeployment } from "../deploy/deployment.ts";
import { withStageLock } from "../deploy/stage_lock.ts";
import { TERRAFORM_OPTIONS } from "../deploy/terraform.ts";
import { planStage, showPlan } from "../deploy/plan_steps.ts";
import { openReleaseRecord } from "../releases/release_record.ts";
import { endSessions } from "../live/live_stage.ts";
import { readStage, STAGE_OPTION } from "../stages/stage_name.ts";
import { count } from "../terminal/generated_report.ts";

/** The command `trellis destroy`. */
export const destroy: Command = {
  name: "destroy",
  summary: "Destroys a stage with all of its resources.",
  description: [
    "Shows what is destroyed and asks for the name of the stage. It needs no bundles in dist/. The\n" +
    "parameters that trellis secrets set has put are deleted too.",
    "Databases and buckets of stages other than dev and preview… are protected: take the protection\n" +
    "away in Terraform first.",
  ],
  options: [
    STAGE_OPTION,
    {
      name: "confirm",
      value: "name",
      description: "The name of the stage once more, where no terminal is attached.",
    },
    { name: "plan", description: "Show what would be destroyed and change nothing." },
    ...TERRAFORM_OPTIONS,
  ],
  examples: [
    ["trellis destroy --stage dev", "asks for the name of the stage"],
    ["trellis destroy --stage preview-42 --confirm preview-42", "in CI, when a branch is closed"],
  ],
  exitCodes: {
    [ExitCode.Done]: "Everything is destroyed, or there was nothing.",
    [ExitCode.Found]: "The name was not confirmed; nothing was changed.",
    [ExitCode.Usage]: "The command line is invalid, or a confirmation is needed.",
    [ExitCode.Failed]: "Terraform failed or is missing, or the state belongs to another stage.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { options } = context;
  const stage = readStage(options);
  if (options.confirm !== undefined && options.confirm !== stage) {
    throw new UsageError(`--confirm is "${options.confirm}", not ${stage}: nothing was changed`);
  }
  return await withDeployment(
    context,
    stage,
    (deployment) =>
      options.plan === true
        ? destroyStage(deployment)
        : withStageLock(deployment, () => destroyStage(deployment)),
  );
}

async function destroyStage(deployment: Deployment): Promise<CommandResult> {
  const {
    context,
    terraform,
    secrets,
    prefix,
    plan: { secrets: sources, config: { infra }, folder },
  } = deployment;
  const { options, output } = context;
  const stage = deployment.stage.name;
  const { saved, changes, summary } = showPlan(
    deployment,
    await planStage(deployment, { isDestroy: true }),
  );
  output.line(`${output.bold(prefix)}: ${summary}`);
  const finish = (exitCode: ExitCode) => ({ exitCode, stage, prefix, plan: changes });
  if (options.plan === true) return finish(ExitCode.Done);
  // without resources too: an earlier run may have ended before it deleted the rest
  const answer = options.confirm ??
    await context.ask(`Type the name of the stage to destroy it (${stage}): `);
  if (answer === undefined) {
    throw new UsageError(`No terminal is attached: confirm with --confirm ${stage}`);
  }
  if (answer !== stage) {
    output.line(`"${answer}" is not ${stage}: nothing was changed`);
    return finish(ExitCode.Found);
  }
  if (changes.length > 0) await terraform.apply(saved);
  await endSessions(deployment);
  await openReleaseRecord(infra.state, folder, deployment.stage).remove();
  if (sources.some(({ service, existing }) => service === "ssm" && existing === undefined)) {
    const deleted = await secrets.deleteParameters();
    output.line(`${count(deleted.length, "parameter")} deleted`);
  }
  output.line(output.green(`${prefix} is destroyed`));
  return finish(ExitCode.Done);
}
