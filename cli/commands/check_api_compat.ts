import { ConfigurationError } from "../../errors/http_errors.ts";
import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
  UsageError,
} from "../terminal/command.ts";
import { compareDocuments } from "../compat/compare_documents.ts";
import type { Change } from "../compat/operation_parts.ts";
import type { Json } from "../compat/schema_view.ts";
import { toProjectPath } from "../files/generated_files.ts";
import { formatDiagnostic } from "../terminal/generated_report.ts";
import { readOpenApi } from "../openapi/document_format.ts";
import type { Output } from "../terminal/output.ts";
import { runProgram } from "../programs/run_program.ts";
import { readProject } from "../config/read_project.ts";
import { existsSync } from "node:fs";
import { resolve } from "node:path";

/** The command `trellis check api-compat`. */
export const checkApiCompat: Command = {
  name: "check api-compat",
  packages: ["acorn", "esbuild"],
  summary: "Compares the API with another version, and reports what breaks clients.",
  description: [
    "Builds the OpenAPI document of the sources and compares it with the one in a commit, branch or\n" +
    "tag of git (openapi.file), or with a file. Nothing is written.",
    "A change is breaking if a request of an old client may be refused, or an answer of the new server\n" +
    "may not fit what an old client expects. New error statuses and unknown fields of answers are not\n" +
    "breaking. What cannot be compared, such as two patterns, is breaking unless it is the same.",
  ],
  options: [
    {
      name: "against",
      value: "version",
      description: "A revision of git or a file: main, v1.2.0, old/openapi.json.",
    },
  ],
  examples: [
    ["trellis check api-compat --against origin/main", "in a pull request"],
    ["trellis check api-compat --against released.json", "with a file"],
    [
      "trellis check api-compat --against v1.0.0 --json | jq '.changes[] | select(.isBreaking)'",
      "as JSON",
    ],
  ],
  exitCodes: {
    [ExitCode.Done]: "No change is breaking; the others are listed.",
    [ExitCode.Found]: "A change is breaking, or a schema or option cannot be described.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { root, options, output } = context;
  const { against } = options;
  if (typeof against !== "string" || against === "") {
    throw new UsageError("--against is missing: name a commit, branch or tag of git, or a file");
  }
  // imported on demand: help needs neither the parser nor zod
  const { buildProjectDocument } = await import("../openapi/project_document.ts");
  const { config, functions } = await readProject(context);
  const file = toProjectPath(root, config.openapi.file);
  const before = await readVersion(root, against, file);
  const { document, findings } = await output.step(
    "Reading functions",
    () => buildProjectDocument(root, functions, config),
  );
  for (const finding of findings) {
    output.error(formatDiagnostic(finding));
  }
  // the document as clients read it
  const after = JSON.parse(JSON.stringify(document));
  const changes = findings.length > 0 ? [] : compareDocuments(before, after);
  const breaking = changes.filter(({ isBreaking }) => isBreaking).length;
  const exitCode = breaking > 0 || findings.length > 0 ? ExitCode.Found : ExitCode.Done;
  if (findings.length === 0) report(output, changes, breaking, against);
  return { exitCode, against, changes, errors: findings };
}

function report(
  output: Output,
  changes: readonly Change[],
  breaking: number,
  against: string,
): void {
  for (const { operation, direction, isBreaking, message } of changes) {
    const kind = isBreaking ? output.red("breaking") : "compatible";
    output.line(`${kind} ${output.bold(operation)} (${direction}): ${message}`);
  }
  const compatible = changes.length - breaking;
  output.line(
    changes.length === 0
      ? `The API is the same as in ${against}`
      : `${breaking} breaking and ${compatible} compatible ${
        changes.length === 1 ? "change" : "changes"
      } since ${against}`,
  );
}

/**
 * Reads another version of the project's document.
 *
 * @param against A file, or a commit, branch or tag of git.
 * @param file The document within the project, for git.
 * @throws {ConfigurationError} If there is no such version, or it is no OpenAPI document.
 */
async function readVersion(root: string, against: string, file: string): Promise<Json> {
  const path = resolve(root, against);
  const document = existsSync(path)
    ? await readOpenApi(path)
    : await readOpenApi(file, await readFromGit(root, against, file), `${against}:${file}`);
  return { ...document };
}

async function readFromGit(root: string, reference: string, file: string): Promise<string> {
  // resolved first: a reference cannot be taken for an option
  const commit = await runGit(root, [
    "rev-parse",
    "--verify",
    "--quiet",
    "--end-of-options",
    `${reference}^{commit}`,
  ]);
  const text = commit && await runGit(root, ["show", `${commit.trim()}:./${file}`]);
  if (text !== undefined) return text;
  throw new ConfigurationError(
    `${JSON.stringify(reference)} is neither a file nor a version of git that contains ${file}`,
  );
}

async function runGit(root: string, args: readonly string[]): Promise<string | undefined> {
  const { exitCode, stdout } = await runProgram("git", args, { cwd: root });
  return exitCode === 0 ? stdout : undefined;
}
