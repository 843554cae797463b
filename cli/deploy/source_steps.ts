import type { Command, CommandContext } from "../terminal/command.ts";
import { explainMissing } from "../../env/optional_package.ts";
import { findMigrationFunction } from "../infra/migration_function.ts";
import { formatDiagnostic } from "../terminal/generated_report.ts";
import { OPTIONAL_PACKAGES } from "../terminal/optional_packages.ts";
import { type Deployment, type OpenStage, runCommand, StepError } from "./deployment.ts";

/** Loads a package by its name. */
export type LoadPackage = (name: string) => Promise<unknown>;

/**
 * Checks that the AWS clients of all steps are installed, so that a missing one stops a deployment before
 * anything has changed.
 *
 * @param load Loads a package; tests replace it.
 * @throws {ConfigurationError} If a package is missing.
 */
export async function requireClients(
  { plan: { config: { infra }, secrets, sources } }: Deployment,
  // JSR analyzes imports whose text is known up to a slash
  load: LoadPackage = (name) => import(`@aws-sdk/${name.slice("@aws-sdk/".length)}`),
): Promise<void> {
  const uses = (service: string) => secrets.some((source) => source.service === service);
  const isReleased = infra.release !== undefined;
  const hasFunction = findMigrationFunction(sources.functions) !== undefined;
  const needed: readonly (readonly [client: string, purpose: string, isNeeded: boolean])[] = [
    ["secrets-manager", "A deployment with secrets", uses("secretsmanager")],
    ["ssm", "A deployment with parameters", uses("ssm")],
    ["lambda", "A release with aliases", isReleased],
    ["cloudwatch", "A release with aliases", isReleased],
    ["lambda", "A deployment with a migration function", hasFunction],
  ];
  for (const [client, purpose] of needed.filter(([, , isNeeded]) => isNeeded)) {
    const name = `@aws-sdk/client-${client}`;
    await load(name).catch(explainMissing(OPTIONAL_PACKAGES, name, purpose));
  }
}

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
  opened: OpenStage,
  build: Command,
): Promise<string> {
  const { summary } = await runCommand(opened.context, build, pickConfig(opened));
  return String(summary);
}

function pickConfig({ context }: OpenStage): CommandContext["options"] {
  return { config: context.options.config };
}
