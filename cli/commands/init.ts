import { basename, relative, resolve } from "node:path";
import process from "node:process";
import type { Command, CommandContext, CommandResult } from "../terminal/command.ts";
import { ExitCode } from "../terminal/command.ts";
import { summarizeList } from "../terminal/generated_report.ts";
import {
  DATABASE_NAMES,
  type DatabaseName,
  getProjectCommands,
  type ProjectRuntime,
  readPackageManager,
  TEMPLATE_NAMES,
  type TemplateName,
} from "../init/project_choices.ts";
import { listExistingFiles, writeProject } from "../init/write_project.ts";
import { findConfigFile } from "../discovery/config_file.ts";

/** The command `trellis init`. */
export const init: Command = {
  name: "init",
  summary: "Creates a project with routes, a table, sign-up, sessions and tests.",
  description: [
    "Writes a small API to an empty folder: a health route, a table with declared queries and a\n" +
    "migration, a test, and scripts for the commands of this CLI. It installs nothing.",
    "notes: notes of users, with sign-up, sign-in and sign-out. api: notes without accounts. accounts:\n" +
    "notes, and accounts with verification and password reset by mail. jobs: orders with a background\n" +
    "job and a POST that clients can repeat. empty: a health route, and no tables.",
    "Every project is developed and tested on an embedded PostgreSQL. --database chooses what it is\n" +
    "deployed to: postgres is any server by its address, aurora-dsql a cluster of the project, neon a\n" +
    "database at Neon, rds-data an Aurora cluster behind the Data API. Without it, the command asks on\n" +
    "a terminal, and takes postgres elsewhere.",
    "A folder that contains anything except .git is not changed. With --ci a project gets the workflow\n" +
    "and infra-ci/, if it has neither.",
  ],
  args: [{
    name: "folder",
    description: "The new folder. Default: the working directory.",
    isOptional: true,
  }],
  options: [{
    name: "template",
    value: "name",
    values: TEMPLATE_NAMES,
    description: `${listNames(TEMPLATE_NAMES)}. Default: ${TEMPLATE_NAMES[0]}.`,
  }, {
    name: "database",
    value: "name",
    values: DATABASE_NAMES,
    description: `${listNames(DATABASE_NAMES)}. Default: ${DATABASE_NAMES[0]}.`,
  }, {
    name: "yes",
    description: "Take the defaults instead of asking.",
  }, {
    name: "runtime",
    value: "name",
    values: ["node", "deno"],
    description: "node or deno. Default: the current runtime.",
  }, {
    name: "ci",
    description: "Also write a workflow of GitHub that deploys dev, prod and previews.",
  }],
  examples: [
    ["trellis init my-api", "create a project in my-api/"],
    ["trellis init my-api --template empty --database neon", "without an example, for Neon"],
    ["trellis init my-api --template accounts", "with verification and password reset by mail"],
    ["trellis init my-api --runtime deno", "create a project for Deno"],
    ["trellis init my-api --ci", "with continuous deployment"],
    ["trellis init --ci", "in a project: add continuous deployment"],
  ],
  exitCodes: {
    [ExitCode.Found]: "The folder is not empty, or has a workflow; nothing was written.",
  },
  run,
};

/** Lists names in a sentence: `a, b or c`. */
function listNames(names: readonly string[]): string {
  return `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}

async function run(context: CommandContext): Promise<CommandResult> {
  const { root, cwd, args, options, output } = context;
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
  const database = await chooseDatabase(context);
  const manager = readPackageManager(process.env.npm_config_user_agent);
  const files = createProjectFiles(name, runtime, {
    template,
    database,
    manager,
    withCi: options.ci === true,
  });
  writeProject(folder, files);

  const { install, test, run: task } = getProjectCommands(runtime, manager);
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
    database,
    files: [...files.keys()],
    next,
  };
}

/**
 * Returns the database of the options; without one, asks for it on a terminal, where an empty answer is
 * the default.
 */
async function chooseDatabase(
  { options, output, canAsk, ask }: CommandContext,
): Promise<DatabaseName> {
  const [fallback] = DATABASE_NAMES;
  if (options.database !== undefined) return options.database as DatabaseName;
  if (options.yes === true || !canAsk) return fallback;
  while (true) {
    const answer = await ask(`Database: ${listNames(DATABASE_NAMES)} [${fallback}] `);
    if (answer === undefined || answer === "") return fallback;
    const found = DATABASE_NAMES.find((name) => name === answer);
    if (found !== undefined) return found;
    output.note(`${JSON.stringify(answer)} is none of them`);
  }
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
