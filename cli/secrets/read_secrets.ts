import { type CommandContext, type CommandResult, ExitCode } from "../terminal/command.ts";
import { formatDiagnostic } from "../terminal/generated_report.ts";
import type { PlannedSource } from "../infra/sources.ts";
import { readStage } from "../stages/stage_name.ts";
import { openSecretValues, type SecretValues } from "./secret_values.ts";

/** The secrets and parameters of one stage. */
export interface StageSecrets {
  readonly stage: string;
  /** `notes-dev` */
  readonly prefix: string;
  readonly sources: readonly PlannedSource[];
  readonly values: SecretValues;
}

/**
 * Reads which secrets and parameters the functions of the project need in a stage.
 *
 * @param context The command, with the option `--stage`.
 * @returns They, or the result of the command after the errors of the sources were printed.
 */
export async function readStageSecrets(
  context: CommandContext,
): Promise<StageSecrets | CommandResult> {
  const { root, options, output } = context;
  const stage = readStage(options);
  const [{ planFiles }, { getStageRegion, resolveStage }] = await Promise.all([
    import("../infra/plan_files.ts"),
    import("../stages/stage_settings.ts"),
  ]);
  const { errors, projectName, secrets, config } = await planFiles({ root, options, output });
  if (errors.length > 0) {
    for (const error of errors) output.line(`${output.red("error")} ${formatDiagnostic(error)}`);
    return { exitCode: ExitCode.Found, errors };
  }
  const prefix = `${projectName}-${stage}`;
  const region = getStageRegion(resolveStage(config.infra, projectName, stage));
  return { stage, prefix, sources: secrets, values: openSecretValues(prefix, region) };
}
