import type { OpenApiDocument, OpenApiVersion } from "../../validation/openapi/document.ts";
import { compareLocations } from "../project/findings.ts";
import type { Place } from "../sources/source_positions.ts";
import type { Command, CommandContext, CommandResult } from "../terminal/command.ts";
import { ExitCode, UsageError } from "../terminal/command.ts";
import { finishGenerated } from "../terminal/finish_generated.ts";
import { toProjectPath } from "../files/generated_files.ts";
import { count, summarizeList } from "../terminal/generated_report.ts";
import { getDocumentFormat } from "../openapi/document_format.ts";
import type { Output } from "../terminal/output.ts";
import { readProject } from "../config/read_project.ts";

/** The command `trellis generate openapi`. */
export const generateOpenapi: Command = {
  name: "generate openapi",
  packages: ["acorn", "esbuild"],
  summary: "Generates an OpenAPI document of all HTTP functions.",
  description: [
    "Loads every function in api/ in a process of its own, without your environment, network and\n" +
    "database, and reads the options of its handler: schemas, responses, auth and openapi.\n" +
    "Components are named after the exports of the schemas.",
    "The routes that createAuthHandler serves come from better-auth's own OpenAPI plugin, with the options\n" +
    "of defineAuth.",
    "Writes openapi.json (YAML if openapi.file ends in .yaml). A file that was not generated is never changed.",
    "--try-it writes a folder for a static host: the reference page, which sends requests to the servers of\n" +
    "the document, with Swagger UI from the installed package swagger-ui-dist.",
    "If a schema cannot be expressed in JSON Schema, file and line are reported and\n" +
    "nothing is written.",
  ],
  options: [
    {
      name: "try-it",
      value: "folder",
      description: "Also write the reference page, which can send requests, to this folder.",
    },
    {
      name: "openapi-version",
      value: "version",
      values: ["3.1", "3.2"] satisfies OpenApiVersion[],
      description: "3.1 or 3.2. Default: openapi.openapiVersion, else 3.1.",
    },
    { name: "check", description: "Write nothing; exit with 1 if a file is stale." },
  ],
  examples: [
    ["trellis generate openapi", "write openapi.json"],
    ["trellis generate openapi --try-it public/reference", "a page for a static host"],
    ["trellis generate openapi --check", "in CI: fail if the document does not match the sources"],
    [
      "trellis generate openapi --json | jq '.operations[] | .method, .path'",
      "list all operations",
    ],
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
  const [{ buildProjectDocument }, { MARKER, planDocument }] = await Promise.all([
    import("../openapi/project_document.ts"),
    import("../openapi/openapi_files.ts"),
  ]);
  const version = options["openapi-version"] as OpenApiVersion | undefined;
  const tryIt = readTryIt(options);
  const { functions, config } = await readProject(context);
  const openapi = { ...config.openapi, ...version && { openapiVersion: version } };
  const { document, findings, warnings, undescribed } = await output.step(
    "Reading functions",
    () => buildProjectDocument(root, functions, { ...config, openapi }),
  );
  const errors = [...findings].sort(compareLocations);
  const file = toProjectPath(root, openapi.file);
  warnOmitted(output, undescribed);
  if (tryIt !== undefined && errors.length === 0) {
    const { writeTryItFolder } = await import("../openapi/try_it_folder.ts");
    await writeTryItFolder(root, tryIt, document);
  }
  const operations = listOperations(document);
  const components = Object.keys(document.components.schemas);
  return finishGenerated(generateOpenapi, context, {
    errors,
    warnings,
    changes: errors.length > 0
      ? []
      : [planDocument(root, document, file, MARKER, await getDocumentFormat(file))],
    summary: `${output.bold(count(operations.length, "operation"))}, ${
      count(components.length, "schema")
    }`,
    result: { operations, components, undescribed },
  });
}

function readTryIt(
  { check, "try-it": folder }: CommandContext["options"],
): string | undefined {
  if (folder === undefined) return undefined;
  if (check) throw new UsageError("--try-it writes files: use it without --check");
  if (folder === "") throw new UsageError("--try-it must name a folder");
  return String(folder);
}

function warnOmitted(output: Output, undescribed: readonly Place[]): void {
  if (undescribed.length === 0) return;
  output.warn(
    `${
      count(undescribed.length, "function")
    } not created by defineApiHandler or createAuthHandler and therefore omitted: ` +
      summarizeList(undescribed.map(({ file }) => file)),
  );
}

function listOperations({ paths }: OpenApiDocument): object[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operationId: (operation as { operationId: string }).operationId,
    }))
  );
}
