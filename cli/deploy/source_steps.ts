import type { Command, CommandContext } from "../terminal/command.ts";
import { formatDiagnostic } from "../terminal/generated_report.ts";
import { type Deployment, runCommand, StepError } from "./deployment.ts";

/**
 * Checks that the sources have no errors and that generated files are up to date.
 *
 * @param generatePermissions The command that generates grants.
 * @returns One line about the result.
 * @throws {StepError} If a source has an error or a file is stale.
 */
export async function checkSources(
  deployment: Deployment,
  generatePermissions: Command,
): Promise<string> {
  const { plan } = deployment;
  if (plan.errors.length > 0) throw new StepError(plan.errors.map(formatDiagnostic).join("\n"));
  await runCommand(deployment.context, generatePermissions, {
    ...pickConfig(deployment),
    check: true,
  });
  const stale = plan.changes.filter(({ change }) => change !== "unchanged" && change !== "kept");
  if (stale.length > 0) {
    const others = stale.length > 1 ? `, and ${stale.length - 1} more` : "";
    throw new StepError(
      `${stale[0].path} is stale${others}: run trellis generate infra and commit the files`,
    );
  }
  return "generated files are up to date";
}

/**
 * Builds the bundles of all functions.
 *
 * @param build The command that builds functions.
 * @returns The summary of the build.
 * @throws {StepError} If a function cannot be built.
 */
export async function buildFunctions(
  deployment: Deployment,
  build: Command,
): Promise<string> {
  const { summary } = await runCommand(deployment.context, build, pickConfig(deployment));
  return String(summary);
}

function pickConfig({ context }: Deployment): CommandContext["options"] {
  return { config: context.options.config };
}
