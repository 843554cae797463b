import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
} from "../terminal/command.ts";
import { confirmRemote, YES_OPTION } from "../database/confirm_remote.ts";
import { databaseOptions } from "../database/database_options.ts";
import { findPermissions, PERMISSIONS_OPTION } from "../database/permissions_target.ts";

/** The command `trellis db apply-permissions`. */
export const dbApplyPermissions: Command = {
  name: "db apply-permissions",
  summary: "Creates the roles and grants of the permission files.",
  description: [
    "Runs the files that generate permissions wrote, at each deployment after db migrate and before\n" +
    "the new code; trellis deploy does it by itself. ${NAME} in the files is replaced from the\n" +
    "environment. A role or grant that exists is kept. check permissions-fresh shows what the\n" +
    "database has beside it.",
    "Asks for confirmation before it changes a remote database, with its host, name and role; --yes\n" +
    "confirms in advance.",
  ],
  options: [PERMISSIONS_OPTION, YES_OPTION, ...databaseOptions()],
  examples: [
    ["trellis db apply-permissions", "the database in DATABASE_URL or trellis.config.ts"],
    [
      "trellis db apply-permissions --endpoint abc123.dsql.eu-central-1.on.aws --yes",
      "Aurora DSQL, in a deployment",
    ],
  ],
  exitCodes: {
    [ExitCode.Done]: "Every statement has succeeded, or was not needed.",
    [ExitCode.Found]: "A statement failed: the message names it. The others were applied.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { output } = context;
  const [{ applyPermissions }, { withDatabase }] = await Promise.all([
    import("../../database/permissions/apply.ts"),
    import("../database/reaching.ts"),
  ]);
  const { permissionsFolder, target } = await findPermissions(context);
  const { config: database, label } = target;
  await confirmRemote(context, "Apply the permission files", { Target: target });
  const { applied, skipped, errors } = await withDatabase(
    target,
    () => applyPermissions({ permissionsFolder, database }),
  );
  for (const error of errors) output.line(`${output.red("failed")} ${error}`);
  output.line(`${output.bold(label)}: ${applied} applied, ${skipped} unchanged`);
  const exitCode = errors.length > 0 ? ExitCode.Found : ExitCode.Done;
  return { exitCode, database: label, applied, skipped, errors };
}
