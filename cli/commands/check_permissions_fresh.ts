import type {
  PermissionGap,
  ValidatePermissionsResult,
} from "../../database/permissions/validate.ts";
import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
} from "../terminal/command.ts";
import { databaseOptions } from "../database/database_options.ts";
import { findPermissions, PERMISSIONS_OPTION } from "../database/permissions_target.ts";
import type { Output } from "../terminal/output.ts";
import { quoteLiteral, quoteName } from "../../sql/quote.ts";

/** The command `trellis check permissions-fresh`. */
export const checkPermissionsFresh: Command = {
  name: "check permissions-fresh",
  summary: "Compares the grants in a database with the permission files.",
  description: [
    "missing: a file declares a grant that the database lacks, so a function will fail. Run\n" +
    "trellis db apply-permissions.\n" +
    "surplus: a role has a grant that no file declares. Nothing breaks, but the function has more\n" +
    "rights than it needs. The matching REVOKE is printed.",
    "Reads catalogs only, which every role may read. ${NAME} in the files is replaced from the\n" +
    "environment, as in db apply-permissions. To compare the files with the sources, use\n" +
    "generate permissions --check; check all does both.",
  ],
  options: [
    PERMISSIONS_OPTION,
    {
      name: "allow-surplus",
      description: "Report surplus grants without failing.",
    },
    ...databaseOptions(),
  ],
  examples: [
    [
      "trellis check permissions-fresh",
      "the database in DATABASE_URL or trellis.config.ts",
    ],
    [
      "trellis check permissions-fresh --endpoint abc123.dsql.eu-central-1.on.aws",
      "after a deployment to Aurora DSQL",
    ],
  ],
  exitCodes: {
    [ExitCode.Done]: "The grants match the files.",
    [ExitCode.Found]: "A grant is missing, or no file declares it.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { options, output } = context;
  const [{ validatePermissions }, { withDatabase }] = await Promise.all([
    import("../../database/permissions/validate.ts"),
    import("../database/reaching.ts"),
  ]);
  const { permissionsFolder, target } = await findPermissions(context);
  const { config: database, label } = target;
  const result = await withDatabase(
    target,
    () => validatePermissions({ permissionsFolder, database }),
  );
  const isFound = result.gaps.length > 0 ||
    (result.surpluses.length > 0 && options["allow-surplus"] !== true);
  const exitCode = isFound ? ExitCode.Found : ExitCode.Done;
  report(output, result, label);
  return {
    exitCode,
    database: label,
    gaps: result.gaps,
    surpluses: result.surpluses.map((gap) => ({ ...gap, revoke: getRevoke(gap) })),
    unchecked: result.unchecked,
  };
}

function report(
  output: Output,
  { gaps, surpluses, unchecked }: ValidatePermissionsResult,
  label: string,
): void {
  for (const { message, source } of gaps) {
    output.line(`${output.red("missing")} ${message}${source === undefined ? "" : ` (${source})`}`);
  }
  for (const gap of surpluses) {
    output.line(`${output.yellow("surplus")} ${gap.message}: ${getRevoke(gap)}`);
  }
  for (const what of unchecked) output.warn(`${what} is not compared`);
  output.line(
    `${output.bold(label)}: ` +
      (gaps.length + surpluses.length === 0
        ? output.green("grants match the files")
        : `${gaps.length} missing, ${surpluses.length} surplus`),
  );
}

function getRevoke(
  { kind, role, privilege, objectType, object, column, arn }: PermissionGap,
): string {
  if (kind === "iam") {
    return `AWS IAM REVOKE ${quoteName(role)} FROM ${quoteLiteral(arn ?? "")};`;
  }
  const from = role === "PUBLIC" ? "PUBLIC" : quoteName(role);
  const dot = (object ?? "").indexOf(".");
  const on = dot < 0
    ? quoteName(object ?? "")
    : `${quoteName(object!.slice(0, dot))}.${quoteName(object!.slice(dot + 1))}`;
  const what = column === undefined ? privilege : `${privilege} (${quoteName(column)})`;
  return `REVOKE ${what} ON ${(objectType ?? "table").toUpperCase()} ${on} FROM ${from};`;
}
