import { basename, relative, resolve } from "node:path";
import process from "node:process";
import type { Command, CommandContext, CommandResult } from "../terminal/command.ts";
import { ExitCode } from "../terminal/command.ts";
import { summarizeList } from "../terminal/generated_report.ts";
import { TEMPLATE_NAMES, type TemplateName } from "../init/template_name.ts";
import { listExistingFiles, writeProject } from "../init/write_project.ts";
import { PROJECT_COMMANDS, type ProjectRuntime } from "../init/project_runtime.ts";
import { findConfigFile } from "../config/config_file.ts";

/** The command `trellis init`. */
export const init: Command = {
  name: "init",
  summary: "Creates a project with routes, a table, sign-up, sessions and tests.",
  description: [
    "Writes a small API to an empty folder: a health route, a table with declared queries and a\n" +
    "migration, a test, and scripts for the commands of this CLI. It asks no questions and installs\n" +
    "nothing.",
    "notes: notes of users, with sign-up, sign-in and sign-out. api: notes without accounts. accounts:\n" +
    "notes, and accounts with verification and password reset by mail. jobs: orders with a background\n" +
    "job and a POST that clients can repeat.",
    "A folder that contains anything except .git is not changed. With --ci a project gets the workflow\n" +
    "and infra-ci/, if it has neither.",
  ],
  args: [{
    name: "folder",
    description: "The folder, which is created. Default: the working directory.",
    isOptional: true,
  }],
  options: [{
    name: "template",
    value: "name",
    values: TEMPLATE_NAMES,
    description: `${TEMPLATE_NAMES.slice(0, -1).join(", ")} or ${
      TEMPLATE_NAMES.at(-1)
    }. Default: notes.`,
  }, {
    name: "runtime",
    value: "name",
    values: ["node", "deno"],
    description: "node or deno. Default: the current runtime.",
  }, {
    name: "ci",
    description:
      "Also write a workflow for GitHub that deploys dev, prod and previews of branches.",
  }],
  examples: [
    ["trellis init my-api", "create a project in my-api/"],
    ["trellis init my-api --template accounts", "with verification and password reset by mail"],
    ["trellis init my-api --runtime deno", "create a project for Deno"],
    ["trellis init my-api --ci", "with continuous deployment"],
    ["trellis init --ci", "in a project: add continuous deployment"],
  ],
  exitCodes: {
    [ExitCode.Done]: "Done.",
    [ExitCode.Found]: "The folder is not empty, or has a workflow; nothing was written.",
    [ExitCode.Failed]: "It could not run: the folder cannot be read or written.",
  },
  run,
};

async function run({ root, cwd, args, options, output }: CommandContext): Promise<CommandResult> {
  const own = process.versions.deno === undefined ? "node" : "deno";
  const runtime = (options.runtime ?? own) as ProjectRuntime;
  const template = (options.template ?? TEMPLATE_NAMES[0]) as TemplateName;
  const folder = resolve(root, args[0] ?? ".");
  const name = toProjectName(basename(folder));
  const { createProjectFiles } = await import("../init/template.ts");
  const existing = listExistingFiles(folder);
  if (options.ci === true && findConfigFile(folder) !== undefined) {
    const { addCi } = await import("../init/add_ci.ts");
    return addCi(folder, output);
  }
  if (existing.length > 0) {
    const error = `${folder} is not empty: it contains ${summarizeList(existing)}. ` +
      `Nothing was written. Use a new or empty folder`;
    output.error(error);
    return { exitCode: ExitCode.Found, folder, error, inTheWay: existing };
  }
  const files = createProjectFiles(name, runtime, { template, withCi: options.ci === true });
  writeProject(folder, files);

  const { install, test, run: task } = PROJECT_COMMANDS[runtime];
  const path = relative(cwd, folder);
  const next = [
    ...path === "" ? [] : [`cd ${/^[\w./-]+$/.test(path) ? path : JSON.stringify(path)}`],
    install,
    test,
    `${task} dev`,
  ];
  for (const path of files.keys()) output.line(`created ${path}`);
  output.line();
  output.line(`${output.bold(name)} is ready. Next:`);
  for (const line of next) output.line(`  ${line}`);
  if (options.ci === true) (await import("../init/add_ci.ts")).printCiSteps(output);
  return {
    exitCode: ExitCode.Done,
    folder,
    name,
    runtime,
    template,
    files: [...files.keys()],
    next,
  };
}

/**
 * Converts a folder name to a project name, the prefix of resource names: lower-case letters,
 * digits and hyphens, at most 32 characters.
 */
function toProjectName(folder: string): string {
  const name = folder.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^[^a-z]+/, "").slice(0, 32)
    .replace(/-$/, "");
  return name === "" ? "api" : name;
}
