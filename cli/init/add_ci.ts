import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { findDenoConfig } from "../build/deno_graph.ts";
import { type CommandResult, ExitCode } from "../terminal/command.ts";
import { summarizeList } from "../terminal/generated_report.ts";
import { readProjectName } from "../infra/project_name.ts";
import type { Output } from "../terminal/output.ts";
import { CI_PATHS, ciFiles } from "./ci_files.ts";
import { type PackageManager, readPackageManager } from "./project_choices.ts";

/**
 * Adds the files of continuous deployment to a project that has none.
 *
 * @param folder Absolute path of the project.
 * @param output The output of the command.
 */
export async function addCi(folder: string, output: Output): Promise<CommandResult> {
  const present = CI_PATHS.filter((path) => existsSync(join(folder, path)));
  if (present.length > 0) {
    const error = `${folder} contains ${summarizeList(present)}. Nothing was written`;
    output.line(`${output.red("error")} ${error}`);
    return { exitCode: ExitCode.Found, folder, error, inTheWay: present };
  }
  // it needs packages that are not installed where a project was just created
  const { readConfig } = await import("../config/read_config.ts");
  const name = (await readConfig(folder)).infra.projectName ?? readProjectName(folder);
  const runtime = findDenoConfig(folder) === undefined ? "node" : "deno";
  const files = ciFiles(name, runtime, { manager: findPackageManager(folder) });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
    output.line(`created ${path}`);
  }
  printCiSteps(output, name);
  return { exitCode: ExitCode.Done, folder, name, files: CI_PATHS };
}

/** Returns the package manager that wrote the lock file of a project; without one, the one that runs this program. */
function findPackageManager(folder: string): PackageManager {
  const [, found] = LOCK_FILES.find(([file]) => existsSync(join(folder, file))) ?? [];
  return found ?? readPackageManager(process.env.npm_config_user_agent);
}

const LOCK_FILES: readonly (readonly [file: string, manager: PackageManager])[] = [
  ["package-lock.json", "npm"],
  ["pnpm-lock.yaml", "pnpm"],
  ["yarn.lock", "yarn"],
  ["bun.lock", "bun"],
  ["bun.lockb", "bun"],
];

/**
 * Prints what the workflow needs.
 *
 * @param output The output of the command.
 * @param name The project, if its configuration does not name the permissions boundary yet.
 */
export function printCiSteps(output: Output, name?: string): void {
  const boundary = name === undefined ? "" : `permissionsBoundary: "${name}-functions", `;
  output.line();
  output.line("The workflow needs:");
  output.line("  cd infra-ci && terraform init && terraform apply");
  output.line(`  in trellis.config.ts, infra: { ${boundary}state: { bucket, region } }`);
  output.line("  trellis generate infra");
  output.line(
    "  on GitHub: the environments plan, dev and prod, with AWS_REGION and AWS_DEPLOY_ROLE",
  );
  output.line("  without Aurora DSQL: the secret DATABASE_URL in dev and prod, for migrations");
  output.line("  for previews: an account of their own (the first lines of infra-ci/main.tf)");
}
