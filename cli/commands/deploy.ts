import type { Command, CommandContext, CommandResult } from "../terminal/command.ts";
import { ExitCode, UsageError } from "../terminal/command.ts";
import type { CompatSteps } from "../deploy/compat_step.ts";
import {
  begin,
  type Deployment,
  initState,
  type OpenStage,
  withStage,
} from "../deploy/deployment.ts";
import { rollBackRelease, shiftRelease } from "../deploy/release.ts";
import { checkSecrets } from "../deploy/secret_step.ts";
import { runSmokeRequest } from "../deploy/smoke.ts";
import { buildFunctions, checkSources, requireClients } from "../deploy/source_steps.ts";
import { withStageLock } from "../deploy/stage_lock.ts";
import { type SavedPlan, TERRAFORM_OPTIONS } from "../deploy/terraform.ts";
import {
  type DeploymentStep,
  describeTimes,
  runSteps,
  type StepReport,
} from "../deploy/run_steps.ts";
import {
  confirmPlan,
  createApplySteps,
  planStage,
  requireConfirmation,
  type ShownPlan,
  showPlan,
} from "../deploy/plan_steps.ts";
import { endSessions } from "../live/live_stage.ts";
import { readStage, STAGE_OPTION } from "../stages/stage_name.ts";
import { build } from "./build.ts";
import { dbMigrate } from "./db_migrate.ts";
import { generatePermissions } from "./generate_permissions.ts";

/** The command `trellis deploy`. */
export const deploy: Command = {
  name: "deploy",
  packages: ["acorn", "esbuild"],
  summary: "Deploys a stage, then requests its health.",
  description: [
    "Uses Terraform or OpenTofu, with the state of the stage only. The steps are: check that generated\n" +
    "files are up to date, build, check that the migrations do not break the running release, plan, roles and secrets, values of secrets, migrations, grants,\n" +
    "everything else, release, smoke request. New code gets traffic only after its tables and grants\n" +
    "exist. The first failure stops the deployment. Run the command again to continue: steps that are\n" +
    "done change nothing.",
    "One deployment of a stage runs at a time: the lock is an object beside the state in its bucket, or a\n" +
    "file. A function with defineMigrationHandler applies migrations and grants, if the project has one.",
    "The plan shows what is destroyed or replaced, and what costs money without use. --plan stops there,\n" +
    "for pull requests.",
  ],
  options: [
    STAGE_OPTION,
    { name: "plan", description: "Show the plan and change nothing." },
    {
      name: "rollback",
      description: "Move the aliases back to versions before the last release.",
    },
    { name: "yes", short: "y", description: "Do not ask for confirmation." },
    {
      name: "allow-destroy",
      description: "With --yes: also apply a plan that destroys or replaces resources.",
    },
    {
      name: "allow-breaking",
      description:
        "Apply migrations that break the running release, or with --rollback the one before.",
    },
    {
      name: "allow-alarm",
      description: "Release to all at once while the alarm is on.",
    },
    {
      name: "generate-secrets",
      description: "Put random values for secrets without one that only your functions know.",
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
    ...TERRAFORM_OPTIONS,
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
    [ExitCode.Failed]:
      "It could not run: Terraform is missing, a folder or file is unreadable, or\n" +
      "another deployment of the stage is running.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { options, output } = context;
  const stage = readStage(options);
  if (options.plan === true && options.rollback === true) {
    throw new UsageError("--plan and --rollback exclude each other");
  }
  if (options.plan !== true && options.rollback !== true) requireConfirmation(context);
  return await withStage(context, stage, async (opened, read) => {
    output.note(`${output.bold(opened.prefix)} with ${opened.terraform.version}`);
    // a plan changes nothing
    if (options.plan === true) return await deployStage(opened, read, async () => {});
    return await withStageLock(
      opened,
      async ({ check }) =>
        options.rollback === true
          ? await rollBack(await read, check)
          : await deployStage(opened, read, check),
    );
  });
}

/** Deploys. The plan begins at once; the functions are read and checked beside it. */
async function deployStage(
  opened: OpenStage,
  read: Promise<Deployment>,
  checkLock: () => Promise<void>,
): Promise<CommandResult> {
  const { context: { options, output } } = opened;
  const { createCompatSteps } = await import("../deploy/compat_step.ts");
  const compat = createCompatSteps(opened);
  const { built, planned, stop } = beginPlan(opened);
  const compatible = begin(async () => {
    await built;
    return await compat.check();
  });
  let deployment: Deployment;
  let before: StepReport;
  let shown: ShownPlan | undefined;
  try {
    deployment = await read;
    if (options.plan !== true) await requireClients(deployment);
    const checked = begin(() => checkSources(deployment, generatePermissions));
    before = await runSteps(
      [
        { name: "check", run: () => checked },
        { name: "build", run: () => built },
        { name: "compat", run: () => compatible },
        { name: "plan", run: async () => (shown = showPlan(opened, await planned)).summary },
      ],
      output,
      { afterFailure: "The stage is unchanged." },
    );
  } finally {
    // nothing is left running after a failure
    if (shown === undefined) await stop();
  }
  if (shown === undefined) return finish(deployment, before);
  if (options.plan === true) return finish(deployment, before, shown);
  if (!await confirmPlan(deployment, shown)) {
    return finish(deployment, before, shown, ExitCode.Found);
  }
  const after = await runSteps(
    await listChangingSteps(deployment, shown, compat, checkLock),
    output,
    { beforeStep: checkLock },
  );
  const steps = [...before.steps, ...after.steps];
  if (after.failed === undefined) {
    await showUrls(deployment);
    output.line(`Changed: ${(shown as ShownPlan).summary}`);
    output.line(`Go back: ${describeWayBack(deployment)}`);
    output.line(`Time: ${describeTimes(steps)}`);
  }
  return finish(deployment, { ...after, steps }, shown);
}

/**
 * Begins the build, and the plan after it. Of the stage only the calls that a developer's machine has taken over go back to its
 * functions, unless the command only shows a plan.
 */
function beginPlan(opened: OpenStage): {
  readonly built: Promise<string>;
  readonly planned: Promise<SavedPlan>;
  /** Interrupts the plan, and waits for what was begun. */
  stop(): Promise<void>;
} {
  const built = begin(() => buildFunctions(opened, build));
  const prepared = begin(() => initState(opened));
  // the plan has to see the functions that this restores
  const ended = begin(async () => {
    if (opened.context.options.plan !== true) await endSessions(opened);
  });
  const planned = begin(() => planStage(opened, {}, Promise.all([built, prepared, ended])));
  return {
    built,
    planned,
    async stop(): Promise<void> {
      await opened.terraform.stop();
      await Promise.allSettled([built, prepared, ended, planned]);
    },
  };
}

function describeWayBack({ plan: { config: { infra } }, stage }: Deployment): string {
  return infra.release === undefined
    ? "deploy the commit before"
    : `trellis deploy --stage ${stage.name} --rollback`;
}

/** The outputs with addresses of the stage. */
const URLS = { api_url: "API", cdn_url: "CDN", websocket_url: "WebSocket API" } as const;

async function showUrls({ context: { output }, terraform }: Deployment): Promise<void> {
  const outputs = await terraform.readOutputs();
  for (const [name, label] of Object.entries(URLS)) {
    if (typeof outputs[name] === "string") output.line(`${label}: ${outputs[name]}`);
  }
}

/** Lists the steps after the confirmation: what code needs comes before the code. */
async function listChangingSteps(
  deployment: Deployment,
  shown: ShownPlan,
  compat: CompatSteps,
  checkLock: () => Promise<void>,
): Promise<DeploymentStep[]> {
  const { grant, migrate } = await import("../deploy/database_steps.ts");
  const { applyFoundations, applyRest } = createApplySteps(deployment, shown);
  return [
    { name: "roles", run: applyFoundations },
    { name: "secrets", run: () => checkSecrets(deployment) },
    {
      name: "migrations",
      run: async () => {
        await compat.begin();
        return await migrate(deployment, dbMigrate);
      },
    },
    { name: "grants", run: () => grant(deployment) },
    { name: "apply", run: applyRest },
    {
      name: "release",
      run: async () => {
        const released = await shiftRelease(deployment, checkLock);
        await compat.finish((released?.moved ?? 0) > 0);
        return released?.summary;
      },
    },
    { name: "smoke", run: () => runSmokeRequest(deployment) },
  ];
}

async function rollBack(
  deployment: Deployment,
  checkLock: () => Promise<void>,
): Promise<CommandResult> {
  const { createCompatSteps } = await import("../deploy/compat_step.ts");
  const { beginRollback } = createCompatSteps(deployment);
  const report = await runSteps(
    [
      {
        name: "rollback",
        run: async () => {
          await initState(deployment);
          return await rollBackRelease(deployment, beginRollback);
        },
      },
      { name: "smoke", run: () => runSmokeRequest(deployment) },
    ],
    deployment.context.output,
    { beforeStep: checkLock },
  );
  return finish(deployment, report);
}

/** Prints how to continue after a failure, and the result for `--json`. */
function finish(
  { context: { options, output }, stage, prefix }: Deployment,
  { steps, failed }: StepReport,
  shown?: ShownPlan,
  exitCode: ExitCode = failed === undefined ? ExitCode.Done : ExitCode.Found,
): CommandResult {
  // after the smoke request everything is deployed: its message says what to do
  if (failed !== undefined && failed !== "smoke") {
    const kind = ["plan", "rollback"].filter((name) => options[name] === true)
      .map((name) => ` --${name}`).join("");
    output.line(`Then run again: trellis deploy --stage ${stage.name}${kind}`);
  }
  const plan = shown?.changes ?? null;
  return { exitCode, stage: stage.name, prefix, steps, plan };
}
