import { type Command, ExitCode } from "../command.ts";
import { build } from "../commands/build.ts";
import { generatePermissions } from "../commands/generate_permissions.ts";
import { runCaptured } from "../database/run_captured.ts";
import { formatDiagnostic } from "../generated_report.ts";
import { type Deployment, StepError } from "./deployment.ts";

/**
 * Checks that the sources have no errors and that generated files are up to date.
 *
 * @returns One line about the result.
 * @throws {StepError} If a source has an error or a file is stale.
 */
export async function checkSources(deployment: Deployment): Promise<string> {
  const { plan } = deployment;
  if (plan.errors.length > 0) throw new StepError(plan.errors.map(formatDiagnostic).join("\n"));
  await runCommand(deployment, generatePermissions, { check: true });
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
 * @returns The summary of `trellis build`.
 * @throws {StepError} If a function cannot be built.
 */
export async function buildFunctions(deployment: Deployment): Promise<string> {
  const lines = await runCommand(deployment, build, {});
  return lines.at(-1) ?? "";
}

/** Runs a command as a step: its output is the message of a failure. */
async function runCommand(
  { context }: Deployment,
  command: Command,
  options: Readonly<Record<string, boolean>>,
): Promise<readonly string[]> {
  const { config } = context.options;
  const { exitCode, lines } = await runCaptured(command, context, { ...options, config });
  if (exitCode !== ExitCode.Done) throw new StepError(lines.join("\n"));
  return lines;
}
