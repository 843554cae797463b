import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
} from "../terminal/command.ts";
import { renderTable } from "../database/text_table.ts";
import { readStageSecrets } from "../secrets/read_secrets.ts";
import { STAGE_OPTION } from "../stages/stage_name.ts";

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
    [ExitCode.Failed]: "AWS could not be reached or refused the request.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { output } = context;
  const found = await readStageSecrets(context);
  if ("exitCode" in found) return found;
  const { stage, sources, values } = found;
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
    for (const line of renderTable([["name", "in AWS", "value", "functions"], ...rows])) {
      output.line(line);
    }
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
