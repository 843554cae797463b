import { existsSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import type {
  PermissionGap,
  ValidatePermissionsResult,
} from "../../database/permissions/validate.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { type Command, type CommandContext, ExitCode } from "../command.ts";
import { databaseOptions } from "../database/database_options.ts";
import type { Output } from "../output.ts";

/** `trellis check permissions-fresh`. */
export const checkPermissionsFresh: Command = {
  name: "check permissions-fresh",
  summary: "Compares what a database grants with the permission files.",
  description: [
    "Missing: the files declare it and the database lacks it; a function will fail there. Run applyPermissions.\n" +
    "Surplus: a role of the files may do what no file declares. It breaks nothing, and is more than the function needs: the\n" +
    "REVOKE that takes it away is shown.",
    "Only catalogs are read, which every role may read. ${NAME} in the files is taken from the environment, as for\n" +
    "applyPermissions. Whether the files fit the sources is told by generate permissions --check; check all does both.",
  ],
  options: [
    {
      name: "permissions",
      value: "folder",
      description: "The folder of the files; permissions.dir without it.",
    },
    {
      name: "allow-surplus",
      description: "Name what is granted beyond the files, and let it pass.",
    },
    ...databaseOptions(),
  ],
  examples: [
    [
      "trellis check permissions-fresh",
      "the project's database, as DATABASE_URL and trellis.config.ts name it",
    ],
    [
      "trellis check permissions-fresh --endpoint abc123.dsql.eu-central-1.on.aws",
      "after a deployment to Aurora DSQL",
    ],
  ],
  exitCodes: {
    [ExitCode.Done]: "The database grants what the files declare.",
    [ExitCode.Found]: "Something is missing, or is granted that no file declares.",
    [ExitCode.Usage]: "The command line is wrong.",
    [ExitCode.Failed]:
      "It could not run: no files, no database, no answer, or a variable of the files is not set.",
  },
  run,
};

async function run({ options, root, output }: CommandContext): Promise<ExitCode> {
  const [{ readConfig }, { requireDatabase }, { validatePermissions }, { closing, reaching }] =
    await Promise.all([
      import("../analysis/read_config.ts"),
      import("../database/database_target.ts"),
      import("../../database/permissions/validate.ts"),
      import("../database/reaching.ts"),
    ]);
  const config = readConfig(root, options.config as string | undefined);
  const folder = (options.permissions as string | undefined) ?? config.permissions.dir;
  const permissionsFolder = resolve(root, folder);
  if (!existsSync(permissionsFolder)) {
    throw new ConfigurationError(
      `There is no folder ${folder}: run trellis generate permissions, or give --permissions`,
    );
  }
  const { config: database, label } = requireDatabase({
    options,
    settings: config.database,
    env: process.env,
    root,
  });
  const result = await closing(
    database,
    () => reaching(label, () => validatePermissions({ permissionsFolder, database })),
  );
  const isFound = result.gaps.length > 0 ||
    (result.surpluses.length > 0 && options["allow-surplus"] !== true);
  const exitCode = isFound ? ExitCode.Found : ExitCode.Done;
  report(output, result, label);
  output.result({
    command: "check permissions-fresh",
    exitCode,
    database: label,
    gaps: result.gaps,
    surpluses: result.surpluses.map((gap) => ({ ...gap, revoke: getRevoke(gap) })),
    unchecked: result.unchecked,
  });
  return exitCode;
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
        ? output.green("grants what the files declare")
        : `${gaps.length} missing, ${surpluses.length} surplus`),
  );
}

function getRevoke(
  { kind, role, privilege, objectType, object, column, arn }: PermissionGap,
): string {
  const name = (text: string) => `"${text.replaceAll('"', '""')}"`;
  if (kind === "iam") {
    return `AWS IAM REVOKE ${name(role)} FROM '${(arn ?? "").replaceAll("'", "''")}';`;
  }
  const from = role === "PUBLIC" ? "PUBLIC" : name(role);
  const dot = (object ?? "").indexOf(".");
  const on = dot < 0
    ? name(object ?? "")
    : `${name(object!.slice(0, dot))}.${name(object!.slice(dot + 1))}`;
  const what = column === undefined ? privilege : `${privilege} (${name(column)})`;
  return `REVOKE ${what} ON ${(objectType ?? "table").toUpperCase()} ${on} FROM ${from};`;
}
