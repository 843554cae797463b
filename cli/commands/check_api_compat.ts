import type { Command, CommandContext, CommandResult } from "../command.ts";
import { ExitCode, UsageError } from "../command.ts";
import { compareDocuments } from "../compat/compare_documents.ts";
import type { Change } from "../compat/operation_parts.ts";
import { readVersion } from "../compat/read_version.ts";
import { toProjectPath } from "../generated_files.ts";
import { formatDiagnostic } from "../generated_report.ts";
import type { Output } from "../output.ts";
import { readProject } from "../read_project.ts";

/** The command `trellis check api-compat`. */
export const checkApiCompat: Command = {
  name: "check api-compat",
  summary: "Compares the API with another version and reports changes that break clients.",
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
      description: "A commit, branch or tag of git, or a file: main, v1.2.0, old/openapi.json.",
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
    [ExitCode.Failed]:
      "It could not run: the version or a folder is missing, or a file is invalid.",
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
  const { document, findings } = await buildProjectDocument(root, functions, config);
  for (const finding of findings) {
    output.line(`${output.red("error")} ${formatDiagnostic(finding)}`);
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
