import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
} from "../terminal/command.ts";
import { runCaptured } from "../terminal/run_captured.ts";
import type { FilePlan } from "../infra/plan_files.ts";
import { getStageRegion, type ResolvedStage, resolveStage } from "../stages/stage_settings.ts";
import { openSecretValues, type SecretValues } from "../secrets/secret_values.ts";
import { openTerraform, type SavedPlan, type Terraform } from "./terraform.ts";

/** What the steps of a deployment share. */
export interface Deployment {
  readonly context: CommandContext;
  readonly stage: ResolvedStage;
  /** Prefix of all names: `notes-dev`. */
  readonly prefix: string;
  readonly plan: FilePlan;
  readonly terraform: Terraform;
  readonly secrets: SecretValues;
}

/** A failed step; the message says what to do. */
export class StepError extends Error {
  override readonly name: string = "StepError";
}

/**
 * Runs a command as a step of a deployment.
 *
 * @returns Its result.
 * @throws {StepError} If it did not succeed. The message is what it printed.
 */
export async function runCommand(
  context: CommandContext,
  command: Command,
  options: CommandContext["options"],
): Promise<CommandResult> {
  const { exitCode, lines, result } = await runCaptured(command, context, options);
  if (exitCode !== ExitCode.Done) throw new StepError(lines.join("\n"));
  return result as CommandResult;
}

/**
 * Reads the project, prepares Terraform for a stage, and removes its saved plans in the end.
 *
 * @param run Gets what the steps share.
 * @returns The result of `run`.
 */
export async function withDeployment<T>(
  context: CommandContext,
  stageName: string,
  run: (deployment: Deployment) => Promise<T>,
): Promise<T> {
  // imported on demand: help does not need it
  const { shareLoads } = await import("../project/load_functions.ts");
  return await shareLoads(async () => {
    const deployment = await openDeployment(context, stageName);
    try {
      return await run(deployment);
    } finally {
      deployment.terraform.discardPlans();
    }
  });
}

async function openDeployment(context: CommandContext, stageName: string): Promise<Deployment> {
  const { root, options, output } = context;
  // imported on demand: help does not need the parser
  const { planFiles } = await import("../infra/plan_files.ts");
  const plan = await planFiles({ root, options, output });
  const { config: { infra }, projectName, folder } = plan;
  const stage = resolveStage(infra, projectName, stageName);
  checkVariables(folder, stage);
  const prefix = `${projectName}-${stageName}`;
  const terraform = await openTerraform({
    folder,
    stage,
    program: options.terraform as string | undefined,
    isUnlocking: options.unlock === true,
    onProgress: (line) => {
      if (/: (?:Creation|Modifications|Destruction) complete/.test(line)) output.note(`  ${line}`);
    },
  });
  const secrets = openSecretValues(prefix, getStageRegion(stage));
  return { context, stage, prefix, plan, terraform, secrets };
}

/** Variables of Terraform that only some projects need, with what needs them. */
const NEEDED_BY: Readonly<Record<string, string>> = {
  manage_api_gateway_account: "REST APIs and WebSocket APIs",
};

/**
 * Refuses values of variables that no file of the folder declares, as Terraform does in its plan.
 *
 * @param folder The folder of Terraform's files. Before they are generated, nothing is checked.
 * @throws {ConfigurationError} If there is one. The message says what to remove.
 */
export function checkVariables(folder: string, { name, variables }: ResolvedStage): void {
  const files = existsSync(folder) ? readdirSync(folder) : [];
  if (!files.includes("variables.tf") || files.some((file) => file.endsWith(".tf.json"))) return;
  const texts = files.filter((file) => file.endsWith(".tf"))
    .map((file) => readFileSync(join(folder, file), "utf8"));
  const declared = new Set(
    texts.flatMap((text) => [...text.matchAll(/^variable "([\w-]+)"/gm)].map(([, each]) => each)),
  );
  const unknown = Object.keys(variables).find((each) => !declared.has(each));
  if (unknown === undefined) return;
  const neededBy = NEEDED_BY[unknown];
  throw new ConfigurationError(
    `The stage ${name} sets the variable ${unknown}, which no file in ${
      basename(folder)
    } declares: remove it from ` +
      `infra.stages in trellis.config.ts${
        neededBy === undefined ? "" : `. Only ${neededBy} need it`
      }, or generate the files again`,
  );
}

/**
 * Prepares the state of the stage and refuses the state of another stage, even if it was created
 * before the generated files contained a check.
 *
 * @throws {StepError} If the state belongs to another stage.
 */
export async function initState({ terraform, prefix, stage }: Deployment): Promise<void> {
  await terraform.init();
  const { resource_prefix: found } = await terraform.readOutputs();
  if (found === undefined || found === prefix) return;
  throw new StepError(
    `The state of ${stage.name} contains the resources of ${found}, not of ${prefix}. ` +
      "Check infra.state and infra.projectName in trellis.config.ts; nothing was changed",
  );
}

/** Types that must exist before the database is prepared: roles for grants, secrets for values. */
const FOUNDATIONS: readonly string[] = [
  "aws_dsql_cluster",
  "aws_ecr_repository", // images are pushed before functions run them
  "aws_iam_role",
  "aws_secretsmanager_secret",
  "terraform_data", // the check of the stage
];

/**
 * Lists the resources that migrations, grants and values of secrets need: new ones, and changes of the
 * migration function.
 *
 * @param migrationModule Address of the migration function's module.
 * @returns Their addresses.
 */
export function listFoundations({ changes }: SavedPlan, migrationModule?: string): string[] {
  return changes.filter(({ address, type, actions }) => {
    const isForMigrations = migrationModule !== undefined &&
      address.startsWith(`${migrationModule}.`) && actions.join() !== "delete";
    return isForMigrations || FOUNDATIONS.includes(type) && actions.includes("create");
  }).map(({ address }) => address);
}

/** Calls a function for each item, for some at once: each has a connection to the database, or a new sandbox. */
export async function mapSome<Item, Result>(
  items: readonly Item[],
  fn: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE) {
    results.push(...await Promise.all(items.slice(at, at + AT_ONCE).map(fn)));
  }
  return results;
}

const AT_ONCE = 8;
