import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
  UsageError,
} from "../terminal/command.ts";
import { printTable } from "../terminal/text_table.ts";
import type { PlannedSource } from "../infra/sources.ts";
import { readStage, STAGE_OPTION } from "../stages/stage_name.ts";
import { generateSecret, openSecretValues, type SecretValues } from "../secrets/secret_values.ts";
import { formatDiagnostic } from "../terminal/generated_report.ts";

/** The command `trellis secrets list`. */
export const secretsList: Command = {
  name: "secrets list",
  summary: "Lists the secrets and parameters of a stage, and which have no value yet.",
  description: ["Reads names only, never values."],
  options: [STAGE_OPTION],
  examples: [["trellis secrets list --stage dev", "what is missing"]],
  exitCodes: {
    [ExitCode.Done]: "All have a value.",
    [ExitCode.Found]: "A value or a secret is missing.",
  },
  run: list,
};

async function list(context: CommandContext): Promise<CommandResult> {
  const { output } = context;
  const found = await readStageSecrets(context);
  if ("exitCode" in found) return found;
  const { stage, values } = found;
  const sources = [...found.sources, ...found.logins];
  const states = await Promise.all(sources.map((source) => values.find(source)));
  const exitCode = states.every((state) => state === "set") ? ExitCode.Done : ExitCode.Found;
  if (sources.length === 0) output.line("No function reads a secret or parameter.");
  else {
    const rows = sources.map((source, index) => [
      source.variable,
      values.getName(source),
      states[index],
      source.users.join(", "),
    ]);
    printTable(output, ["name", "in AWS", "value", "functions"], rows);
  }
  return {
    exitCode,
    stage,
    secrets: sources.map((source, index) => ({
      name: source.variable,
      service: source.service,
      target: values.getName(source),
      state: states[index],
      functions: source.users,
    })),
  };
}

/** The command `trellis secrets set`. */
export const secretsSet: Command = {
  name: "secrets set",
  summary: "Puts the value of a secret or parameter of a stage.",
  description: [
    "Reads the value from standard input, so that it is neither in the history of the shell nor in the\n" +
    "list of processes, and puts it into AWS Secrets Manager or the SSM Parameter Store with the\n" +
    "official client. Terraform never sees it. A line end after the value is removed.",
    "Functions use a new value after the time limit of loadSources, five minutes by default.",
  ],
  args: [{ name: "name", description: "The variable's name: AUTH_SECRET." }],
  options: [
    STAGE_OPTION,
    { name: "generate", description: "Put 32 random bytes in hexadecimal, and print nothing." },
  ],
  examples: [
    ["trellis secrets set AUTH_SECRET --stage dev --generate", "a random value"],
    ["trellis secrets set GITHUB_SECRET --stage prod < secret.txt", "the content of a file"],
  ],
  exitCodes: {
    [ExitCode.Found]: "No function reads the variable, or the secret does not exist yet.",
    [ExitCode.Usage]: "The command line is invalid, or there is no value.",
  },
  run: set,
};

async function set(context: CommandContext): Promise<CommandResult> {
  const { args: [name], options, output } = context;
  const found = await readStageSecrets(context);
  if ("exitCode" in found) return found;
  const { stage, sources, values } = found;
  const source = sources.find(({ variable }) => variable === name);
  const fail = (error: string): CommandResult => {
    output.error(error);
    return { exitCode: ExitCode.Found, name, stage, error };
  };
  if (source === undefined) {
    const known = sources.map(({ variable }) => variable).join(", ") || "none";
    return fail(`No function reads ${name} from a secret or parameter. Known names: ${known}`);
  }
  if (source.existing !== undefined) {
    return fail(
      `${name} is ${source.existing}, which does not belong to this project: put it there`,
    );
  }
  const value = options.generate === true ? generateSecret() : await readValue(context, name);
  if (!await values.put(source, value)) {
    return fail(
      `The secret ${
        values.getName(source)
      } does not exist yet: run trellis deploy --stage ${stage}`,
    );
  }
  output.line(`${values.getName(source)}: value put`);
  return {
    exitCode: ExitCode.Done,
    name,
    stage,
    service: source.service,
    target: values.getName(source),
  };
}

async function readValue(context: CommandContext, name: string): Promise<string> {
  const text = (await context.readInput(`Value of ${name}, then Ctrl-D:`)).replace(/\r?\n$/, "");
  if (text === "") {
    throw new UsageError(`There is no value on standard input: trellis secrets set ${name} < file`);
  }
  return text;
}

/** The secrets and parameters of one stage. */
interface StageSecrets {
  readonly stage: string;
  readonly sources: readonly PlannedSource[];
  /** Addresses of single functions, which `trellis deploy` puts. */
  readonly logins: readonly PlannedSource[];
  readonly values: SecretValues;
}

/**
 * Reads which secrets and parameters the functions of the project need in a stage.
 *
 * @param context The command, with the option `--stage`.
 * @returns They, or the result of the command after the errors of the sources were printed.
 */
async function readStageSecrets(
  context: CommandContext,
): Promise<StageSecrets | CommandResult> {
  const { root, options, output } = context;
  const stage = readStage(options);
  const [{ planFiles }, { getStageRegion, resolveStage }] = await Promise.all([
    import("../infra/plan_files.ts"),
    import("../stages/stage_settings.ts"),
  ]);
  const { errors, projectName, secrets, logins, config } = await planFiles({
    root,
    options,
    output,
  });
  if (errors.length > 0) {
    for (const error of errors) output.error(formatDiagnostic(error));
    return { exitCode: ExitCode.Found, errors };
  }
  const region = getStageRegion(resolveStage(config.infra, projectName, stage));
  return {
    stage,
    sources: secrets,
    logins,
    values: openSecretValues(`${projectName}-${stage}`, region),
  };
}
