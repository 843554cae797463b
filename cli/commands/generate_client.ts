import { resolve } from "node:path";
import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
} from "../terminal/command.ts";
import type { ResolvedConfig } from "../config/config.ts";
import type { OpenApiDocument } from "../../validation/openapi/document.ts";
import { finishGenerated } from "../terminal/finish_generated.ts";
import { count } from "../terminal/generated_report.ts";
import { readOpenApi } from "../openapi/document_format.ts";
import type { OpenApiFinding } from "../openapi/schema_findings.ts";
import { readProject, readProjectConfig } from "../config/read_project.ts";

/** The command `trellis generate client`. */
export const generateClient: Command = {
  name: "generate client",
  packages: ["acorn", "esbuild"],
  withoutPackages: "from",
  summary: "Generates the types of all routes for createClient of @trellis/fn/client.",
  description: [
    "Builds the OpenAPI document in memory, as trellis generate openapi does, and converts it to types.\n" +
    "The file contains types only: the client has the same size for any number of routes.",
    "Writes api_types.ts, or client.file. Files that were not generated are never changed. trellis dev\n" +
    "updates the file while it runs.",
  ],
  options: [
    {
      name: "from",
      value: "file",
      description: "Read this OpenAPI document instead of the functions.",
    },
    { name: "check", description: "Write nothing; exit with 1 if a file is stale." },
  ],
  examples: [
    ["trellis generate client", "write api_types.ts"],
    ["trellis generate client --from ../api/openapi.json", "in the repository of a web page"],
    ["trellis generate client --check", "in CI: fail if the types do not match the sources"],
  ],
  exitCodes: {
    [ExitCode.Done]: "Done; with --check: the file is up to date.",
    [ExitCode.Found]:
      "A schema or option cannot be described, an unmanaged file exists at the output path, or (--check) the file is stale.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { root, options, output } = context;
  // imported on demand: help needs no zod
  const { planClientTypes } = await import("../client/client_types.ts");
  const { config, document, findings } = typeof options.from === "string"
    ? await readGiven(context, options.from)
    : await buildDocument(context);
  const paths = Object.keys(document.paths);
  return finishGenerated(generateClient, context, {
    errors: findings,
    changes: findings.length > 0 ? [] : planClientTypes(root, config.client.file, document),
    summary: output.bold(count(paths.length, "path")),
    result: { paths },
  });
}

interface Source {
  readonly config: ResolvedConfig;
  readonly document: OpenApiDocument;
  readonly findings: readonly OpenApiFinding[];
}

async function buildDocument(context: CommandContext): Promise<Source> {
  const { buildProjectDocument } = await import("../openapi/project_document.ts");
  const { config, functions } = await readProject(context);
  const build = () => buildProjectDocument(context.root, functions, config);
  return { config, ...await context.output.step("Reading functions", build) };
}

/** Reads a document. The project needs no functions then. */
async function readGiven(context: CommandContext, file: string): Promise<Source> {
  const config = await readProjectConfig(context);
  return { config, document: await readOpenApi(resolve(context.root, file)), findings: [] };
}
