import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
} from "../terminal/command.ts";
import { initState, withDeployment } from "../deploy/deployment.ts";
import { runSteps } from "../deploy/run_steps.ts";
import { withStageLock } from "../deploy/stage_lock.ts";
import { TERRAFORM_OPTIONS } from "../deploy/terraform.ts";
import { readStage, STAGE_OPTION } from "../stages/stage_name.ts";

/** The command `trellis db rotate`. */
export const dbRotate: Command = {
  name: "db rotate",
  packages: ["acorn", "esbuild"],
  summary: "Gives each function another password for PostgreSQL.",
  description: [
    "Each function has two logins with the grants of its role, and its secret has the address with one\n" +
    "of them. The command gives the other one another password, signs in with it, and puts the address\n" +
    "into the secret. Running functions read it within five minutes and go on with the login before\n" +
    "until then. That login keeps its password until the next rotation: after a leak, rotate a second\n" +
    "time ten minutes later.",
    "The database is the one of trellis deploy: that of DATABASE_URL, or the migration function's.",
  ],
  options: [STAGE_OPTION, ...TERRAFORM_OPTIONS],
  examples: [["trellis db rotate --stage prod", "another password for each function"]],
  exitCodes: {
    [ExitCode.Done]: "Each function has another password.",
    [ExitCode.Found]: "No function has a login of its own, or one was refused: its secret is kept.",
    [ExitCode.Failed]: "It could not run: Terraform is missing, or a deployment is running.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { output, options } = context;
  const stage = readStage(options);
  return await withDeployment(context, stage, async (deployment) => {
    const { prefix, plan: { logins } } = deployment;
    if (logins.length === 0) {
      const error = "No function has a login of its own: nothing was changed";
      output.error(error);
      return { exitCode: ExitCode.Found, stage, prefix, error };
    }
    const { grant } = await import("../deploy/database_steps.ts");
    const rotate = async () => {
      await initState(deployment);
      return await grant(deployment, { isRotation: true });
    };
    const { steps, failed } = await withStageLock(
      deployment,
      ({ check }) => runSteps([{ name: "rotate", run: rotate }], output, { beforeStep: check }),
    );
    return {
      exitCode: failed === undefined ? ExitCode.Done : ExitCode.Found,
      stage,
      prefix,
      steps,
    };
  });
}
