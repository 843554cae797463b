import { basename, relative, resolve } from "node:path";
import process from "node:process";
import { type Command, type CommandContext, ExitCode, UsageError } from "../command.ts";
import type { ProjectRuntime } from "../init/template.ts";

/** `trellis init`. */
export const init: Command = {
  name: "init",
  summary: "Makes a new project that runs: routes, a table, sign-up and sessions, a test.",
  description: [
    "Writes a small API into an empty folder: a health route, notes with a table and declared queries, sign-up, sign-in and\n" +
    "sign-out, migrations, tests, and scripts for the commands of this program. It asks nothing and installs nothing.",
    "A folder that holds anything but .git is left alone.",
  ],
  args: [{
    name: "folder",
    description: "The folder; it is made. The working directory without it.",
    isOptional: true,
  }],
  options: [{
    name: "runtime",
    value: "name",
    description: "node or deno; without it, the one that runs this.",
  }],
  examples: [
    ["trellis init my-api", "make a project in my-api/"],
    ["trellis init my-api --runtime deno", "the same for Deno"],
  ],
  exitCodes: {
    [ExitCode.Done]: "Done.",
    [ExitCode.Found]: "The folder is not empty; nothing was written.",
    [ExitCode.Usage]: "The command line is wrong.",
    [ExitCode.Failed]: "It could not run: the folder cannot be read or written.",
  },
  run,
};

const MANY = 5;

async function run({ root, cwd, args, options, output }: CommandContext): Promise<ExitCode> {
  const runtime = readRuntime(options.runtime as string | undefined);
  const folder = resolve(root, args[0] ?? ".");
  const name = toProjectName(basename(folder));
  const [{ projectFiles }, { filesInTheWay, writeProject }] = await Promise.all([
    import("../init/template.ts"),
    import("../init/write_project.ts"),
  ]);

  const inTheWay = filesInTheWay(folder);
  if (inTheWay.length > 0) {
    const named = inTheWay.slice(0, MANY).join(", ");
    const more = inTheWay.length > MANY ? ` and ${inTheWay.length - MANY} more` : "";
    const error =
      `${folder} is not empty: it holds ${named}${more}. Nothing was written: give a new or an empty folder`;
    output.line(`${output.red("error")} ${error}`);
    output.result({ command: "init", exitCode: ExitCode.Found, folder, error, inTheWay });
    return ExitCode.Found;
  }
  const files = projectFiles(name, runtime);
  writeProject(folder, files);

  const place = relative(cwd, folder);
  const next = [
    ...place === "" ? [] : [`cd ${/^[\w./-]+$/.test(place) ? place : JSON.stringify(place)}`],
    ...runtime === "node"
      ? ["npm install", "npm test", "npm run dev"]
      : ["deno task test", "deno task dev"],
  ];
  for (const path of files.keys()) output.line(`created ${path}`);
  output.line();
  output.line(`${output.bold(name)} is ready. Next:`);
  for (const line of next) output.line(`  ${line}`);
  output.result({
    command: "init",
    exitCode: ExitCode.Done,
    folder,
    name,
    runtime,
    files: [...files.keys()],
    next,
  });
  return ExitCode.Done;
}

function readRuntime(given: string | undefined): ProjectRuntime {
  if (given === "node" || given === "deno") return given;
  if (given !== undefined) throw new UsageError(`--runtime must be node or deno, got "${given}"`);
  return process.versions.deno === undefined ? "node" : "deno";
}

/** Names of resources begin with it: lower-case letters, digits and hyphens, at most 32. */
function toProjectName(folder: string): string {
  const name = folder.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^[^a-z]+/, "").slice(0, 32)
    .replace(/-$/, "");
  return name === "" ? "api" : name;
}
