import { type CommandContext, UsageError } from "../terminal/command.ts";
import {
  describeChanges,
  type DescribedChange,
  renderChanges,
  summarizeApplied,
  summarizeChanges,
} from "./describe_plan.ts";
import {
  type Deployment,
  initState,
  listFoundations,
  type OpenStage,
  StepError,
} from "./deployment.ts";
import { findMigrationFunction } from "../infra/migration_function.ts";
import type { PlanRequest, SavedPlan } from "./terraform.ts";

const NO_TERMINAL = "No terminal is attached for a confirmation: use --yes";

/**
 * Throws if the plan cannot be confirmed, before the build and the plan take their time.
 *
 * @throws {UsageError} If neither a terminal is attached nor `--yes` is given.
 */
export function requireConfirmation({ canAsk, options }: CommandContext): void {
  if (!canAsk && options.yes !== true) throw new UsageError(NO_TERMINAL);
}

/** A plan that was shown. */
export interface ShownPlan {
  readonly saved: SavedPlan;
  readonly changes: readonly DescribedChange[];
  /** `3 to create, 1 to change, 0 to replace, 0 to destroy` */
  readonly summary: string;
}

/**
 * Prepares the state of the stage, and plans.
 *
 * @param prepared Ends when the state is prepared, if this has begun before.
 * @throws {StepError} If the state belongs to another stage.
 */
export async function planStage(
  opened: OpenStage,
  request: PlanRequest = {},
  prepared: Promise<unknown> = initState(opened),
): Promise<SavedPlan> {
  await prepared;
  return await opened.terraform.plan(request);
}

/** Prints what the reader of a plan should look at. */
export function showPlan({ context: { output } }: OpenStage, saved: SavedPlan): ShownPlan {
  const changes = describeChanges(saved.changes);
  for (const line of renderChanges(changes, output)) output.line(line);
  return { saved, changes, summary: summarizeChanges(changes) };
}

/**
 * Asks before anything changes. A plan that destroys needs a second permission where no terminal is
 * attached.
 *
 * @param plan The plan that was shown.
 * @returns True if the plan may be applied.
 * @throws {UsageError} If neither an answer nor `--yes` is given.
 */
export async function confirmPlan(
  { context, prefix }: OpenStage,
  { changes, summary }: ShownPlan,
): Promise<boolean> {
  const { options, output } = context;
  if (options.yes === true) return isPermitted(context, changes);
  const answer = await context.confirm(`Deploy ${prefix}: ${summary}?`);
  if (answer === undefined) {
    throw new UsageError(NO_TERMINAL);
  }
  if (!answer) output.line("Nothing was changed.");
  return answer;
}

function isPermitted(
  { options, output }: CommandContext,
  changes: readonly DescribedChange[],
): boolean {
  if (!changes.some(({ isDestructive }) => isDestructive) || options["allow-destroy"] === true) {
    return true;
  }
  output.line(
    `${output.red("stopped")} the plan destroys or replaces resources: read it, and add ` +
      "--allow-destroy if it is intended. Nothing was changed",
  );
  return false;
}

/** The steps that apply a plan in two parts. */
export interface ApplySteps {
  /** Creates what migrations, grants and values of secrets need. */
  applyFoundations(): Promise<string | undefined>;
  /** Applies the rest. */
  applyRest(): Promise<string | undefined>;
}

/**
 * Creates the steps that apply a plan.
 *
 * @param shown The plan that was shown.
 */
export function createApplySteps(
  { plan: { sources }, terraform }: Deployment,
  { saved }: ShownPlan,
): ApplySteps {
  const migrations = findMigrationFunction(sources.functions);
  let isPartlyApplied = false;
  return {
    async applyFoundations(): Promise<string | undefined> {
      const targets = listFoundations(saved, migrations && `module.fn_${migrations.id}`);
      if (targets.length === 0) return undefined;
      const part = await terraform.plan({ targets });
      await terraform.apply(part);
      isPartlyApplied = true;
      return summarizeApplied(part.changes);
    },
    async applyRest(): Promise<string | undefined> {
      const rest = isPartlyApplied ? await terraform.plan() : saved;
      if (rest.isEmpty) return undefined;
      refuseUnseen(rest, saved);
      await terraform.apply(rest);
      return summarizeApplied(rest.changes);
    },
  };
}

/** Refuses to destroy resources that the shown plan kept. */
function refuseUnseen(rest: SavedPlan, shown: SavedPlan): void {
  const expected = new Set(shown.changes.map(({ address }) => address));
  const unseen = rest.changes.filter(({ address, actions }) =>
    !expected.has(address) && actions.includes("delete")
  );
  if (unseen.length === 0) return;
  const names = unseen.map(({ address }) => address).join(", ");
  throw new StepError(
    `the plan now also destroys ${names}, which was not in the plan that was shown`,
  );
}
