import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
} from "../terminal/command.ts";
import { finishGenerated } from "../terminal/finish_generated.ts";
import { count } from "../terminal/generated_report.ts";
import type { InfraFunction, TerraformVariable } from "../infra/infra_plan.ts";
import type { PlannedSource } from "../infra/sources.ts";

/** The command `trellis generate infra`. */
export const generateInfra: Command = {
  name: "generate infra",
  packages: ["acorn", "esbuild"],
  summary: "Generates Terraform for functions, triggers, variables and IAM policies.",
  description: [
    "Bundles every function and loads it in a process of its own, without the variables of the environment,\n" +
    "without the network and without a database. Timeout, memory, concurrency, storage, retries and\n" +
    "dead-letter queues come from the options of its handler, routes from file paths, and environment\n" +
    "variables from the code in its bundle (getRequiredEnv, getOptionalEnv, defineEnv, process.env). Other settings, such as the pattern of an event rule,\n" +
    "belong in infra of trellis.config.ts.",
    "Writes one file for each function and one for each kind of shared resource. Files without the\n" +
    "generated first line are never changed; stale generated files are removed. Values of secrets are\n" +
    "never written: trellis secrets set puts them into AWS Secrets Manager.",
    "If a function cannot be loaded, or a variable of the environment decides an option, file and line are\n" +
    "reported and nothing is written.",
  ],
  options: [
    { name: "check", description: "Write nothing; exit with 1 if a file is stale." },
    {
      name: "modules-path",
      value: "folder",
      description: "Folder of the Terraform modules. Default: the one in the package.",
    },
  ],
  examples: [
    ["trellis generate infra", "write infra/*.tf"],
    ["trellis generate infra --check", "in CI: fail if the files do not match the sources"],
    ["trellis generate infra --modules-path vendor/trellis", "use a copy of the modules"],
    ["trellis generate infra --json | jq '.variables'", "list the variables that Terraform needs"],
  ],
  exitCodes: {
    [ExitCode.Done]: "Done; with --check: every file is up to date.",
    [ExitCode.Found]:
      "Something cannot be determined or would be rejected by AWS, or (--check) a file is stale.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  // imported on demand: help does not need the parser
  const { planFiles } = await import("../infra/plan_files.ts");
  const plan = await planFiles(context);
  const { sources: { functions }, changes } = plan;
  const fileCount = changes.filter(({ change }) => change !== "removed").length;
  return finishGenerated(generateInfra, context, {
    ...plan,
    kept: "warning",
    summary: `${context.output.bold(count(functions.length, "function"))}, ${
      count(fileCount, "file")
    }`,
    result: {
      functions: functions.map(describeFunction),
      variables: plan.variables.map(describeVariable),
      secrets: plan.secrets.map(describeSource),
    },
  });
}

function describeFunction(fn: InfraFunction): object {
  const { name, kind, source, method, path, routeKey, options, variables } = fn;
  const environment = variables.map(({ name, isRequired }) => ({ name, isRequired }));
  const routes = fn.routes?.map(({ method, path, options }) => ({ method, path, options }));
  return { name, kind, file: source, method, path, routes, routeKey, options, environment };
}

function describeSource(source: PlannedSource): object {
  const { variable, service, existing, isSecret, isGenerated, users } = source;
  return { name: variable, service, existing, isSecret, isGenerated, users };
}

function describeVariable(variable: TerraformVariable): object {
  const { name, description, default: fallback, isSensitive } = variable;
  const isRequired = fallback === undefined;
  return { name, description, isRequired, isSensitive: isSensitive === true };
}
