import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { readProjectConfig } from "../config/read_project.ts";
import { shareReads } from "../sources/share_reads.ts";
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

/** A stage that is opened. Nothing of it was read yet. */
export interface OpenStage {
  readonly context: CommandContext;
  readonly config: ResolvedConfig;
  /** Absolute path of the folder of Terraform's files. */
  readonly folder: string;
  readonly stage: ResolvedStage;
  /** Prefix of all names: `notes-dev`. */
  readonly prefix: string;
  readonly terraform: Terraform;
  readonly secrets: SecretValues;
}

/** What the steps of a deployment share. */
export interface Deployment extends OpenStage {
  /** What the functions need. */
  readonly plan: FilePlan;
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
 * Opens a stage, reads the functions of the project, and removes the saved plans of Terraform in the end.
 *
 * @param run Gets what the steps share.
 * @returns The result of `run`.
 */
export async function withDeployment<T>(
  context: CommandContext,
  stageName: string,
  run: (deployment: Deployment) => Promise<T>,
): Promise<T> {
  return await withStage(context, stageName, async (_opened, read) => await run(await read));
}

/**
 * Opens a stage as {@link withDeployment} does, for work that begins while the functions are read.
 *
 * @param run Gets the stage, and the deployment when the functions are read.
 * @returns The result of `run`.
 */
export async function withStage<T>(
  context: CommandContext,
  stageName: string,
  run: (opened: OpenStage, read: Promise<Deployment>) => Promise<T>,
): Promise<T> {
  return await shareReads(async () => {
    // imported on demand: help does not need the parser
    const [{ locateInfra, planFiles }, config] = await Promise.all([
      import("../infra/plan_files.ts"),
      readProjectConfig(context),
    ]);
    const { projectName, folder } = locateInfra(context.root, config);
    const stage = resolveStage(config.infra, projectName, stageName);
    checkVariables(folder, stage);
    const planned = begin(() => planFiles(context));
    try {
      const opened = await openStage({
        context,
        config,
        folder,
        stage,
        prefix: `${projectName}-${stageName}`,
      });
      try {
        return await run(opened, begin(async () => ({ ...opened, plan: await planned })));
      } finally {
        opened.terraform.discardPlans();
      }
    } finally {
      // nothing is left running
      await Promise.allSettled([planned]);
    }
  });
}

/** Begins work that is waited for later. */
export function begin<T>(work: () => Promise<T>): Promise<T> {
  const begun = work();
  begun.catch(() => {});
  return begun;
}

async function openStage(found: Omit<OpenStage, "terraform" | "secrets">): Promise<OpenStage> {
  const { context: { options, output }, folder, stage, prefix } = found;
  const terraform = await openTerraform({
    folder,
    stage,
    program: options.terraform as string | undefined,
    isUnlocking: options.unlock === true,
    onProgress: (line) => {
      if (/: (?:Creation|Modifications|Destruction) complete/.test(line)) output.note(`  ${line}`);
    },
  });
  return { ...found, terraform, secrets: openSecretValues(prefix, getStageRegion(stage)) };
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
export async function initState({ terraform, prefix, stage }: OpenStage): Promise<void> {
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
