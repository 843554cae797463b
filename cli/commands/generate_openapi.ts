import { extname, resolve } from "node:path";
import { type Command, type CommandContext, ExitCode, UsageError } from "../command.ts";
import { isOpenApiVersion } from "../config/openapi.ts";
import { applyGeneratedFiles, type FileChange, toProjectPath } from "../generated_files.ts";
import { formatDiagnostic, reportChanges, summarizeList } from "../generated_report.ts";
import type { OpenApiFinding } from "../openapi/read_operations.ts";
import type { Output } from "../output.ts";

/** The command `trellis generate openapi`. */
export const generateOpenapi: Command = {
  name: "generate openapi",
  summary: "Generates an OpenAPI document of all HTTP functions.",
  description: [
    "Reads every file in api/: the schemas of defineApiHandler (schema, querySchema, pathSchema,\n" +
    "responseSchema), its auth mode and its openapi option. Handlers are not loaded: only the code\n" +
    "that defines schemas is evaluated, so no environment variables and no database are needed.\n" +
    "Components are named after the exports of the schemas.",
    "The routes that createAuthHandler serves come from better-auth's own OpenAPI plugin: the modules\n" +
    "that call configureSessionAuth are loaded, without a database and with placeholders for variables\n" +
    "that are not set.",
    "Writes openapi.json (YAML if openapi.file ends in .yaml), and with --html a self-contained reference page. Files that were not\n" +
    "generated are never changed.",
    "If a schema cannot be evaluated or expressed in JSON Schema, file and line are reported and\n" +
    "nothing is written.",
  ],
  options: [
    {
      name: "html",
      description: "Also write a reference page: openapi.html, or openapi.htmlFile.",
    },
    {
      name: "openapi-version",
      value: "version",
      description: "3.1 or 3.2. Default: openapi.openapiVersion, else 3.1.",
    },
    { name: "check", description: "Write nothing; exit with 1 if a file is stale." },
  ],
  examples: [
    ["trellis generate openapi", "write openapi.json"],
    ["trellis generate openapi --html", "write openapi.json and openapi.html"],
    ["trellis generate openapi --check", "in CI: fail if the document does not match the sources"],
    [
      "trellis generate openapi --json | jq '.operations[] | .method, .path'",
      "list all operations",
    ],
  ],
  exitCodes: {
    [ExitCode.Done]: "Done; with --check: every file is up to date.",
    [ExitCode.Found]:
      "A schema or option cannot be described, an unmanaged file exists at an output path, or (--check) a file is stale.",
    [ExitCode.Usage]: "The command line is invalid.",
    [ExitCode.Failed]: "It could not run: a folder or file is missing, unreadable or invalid.",
  },
  run,
};

async function run({ root, options, output }: CommandContext): Promise<ExitCode> {
  // imported on demand: help needs neither the parser nor zod
  const [
    { readConfig },
    { findFunctionFiles },
    { buildProjectDocument },
    { planOpenApiFiles },
    { getDocumentFormat },
  ] = await Promise.all([
    import("../analysis/read_config.ts"),
    import("../discovery/function_files.ts"),
    import("../openapi/project_document.ts"),
    import("../openapi/openapi_files.ts"),
    import("../openapi/document_format.ts"),
  ]);
  const version = options["openapi-version"];
  if (version !== undefined && !isOpenApiVersion(version)) {
    throw new UsageError(
      `--openapi-version must be 3.1 or 3.2, got ${JSON.stringify(version)}`,
    );
  }
  const given = readConfig(root, options.config as string | undefined);
  const config = version === undefined
    ? given
    : { ...given, openapi: { ...given.openapi, openapiVersion: version } };
  const { openapi } = config;
  const { document, findings, warnings, undescribed } = await buildProjectDocument(
    root,
    findFunctionFiles(resolve(root, config.functionsDir), config),
    config,
    (done, total) => output.progress("Reading functions", done, total),
  );
  output.endProgress();
  const errors = [...findings].sort(compareLocations);
  const htmlFile = openapi.htmlFile ??
    (options.html ? openapi.file.slice(0, -extname(openapi.file).length) + ".html" : undefined);
  const changes = errors.length > 0 ? [] : planOpenApiFiles(root, document, {
    file: toProjectPath(root, openapi.file),
    ...(htmlFile !== undefined && { htmlFile: toProjectPath(root, htmlFile) }),
  }, await getDocumentFormat(openapi.file));
  const isStale = changes.some(({ change }) => change !== "unchanged");
  const isBlocked = changes.some(({ change }) => change === "kept");
  if (!options.check && !isBlocked) applyGeneratedFiles(root, changes);
  const exitCode = errors.length > 0 || isBlocked || (options.check && isStale)
    ? ExitCode.Found
    : ExitCode.Done;

  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operationId: (operation as { operationId: string }).operationId,
    }))
  );
  for (const warning of warnings) output.warn(formatDiagnostic(warning));
  if (undescribed.length > 0) {
    output.warn(
      `${
        count(undescribed.length, "function")
      } not created by defineApiHandler or createAuthHandler and therefore omitted: ` +
        summarizeList(undescribed.map(({ file }) => file)),
    );
  }
  report(
    output,
    { operations: operations.length, components: Object.keys(document.components.schemas).length },
    errors,
    changes,
    options.check === true,
  );
  output.result({
    command: "generate openapi",
    exitCode,
    operations,
    components: Object.keys(document.components.schemas),
    files: changes.map(({ path, change }) => ({ path, change })),
    errors,
    warnings,
    undescribed,
  });
  return exitCode;
}

function report(
  output: Output,
  counts: { readonly operations: number; readonly components: number },
  errors: readonly OpenApiFinding[],
  changes: readonly FileChange[],
  isCheck: boolean,
): void {
  for (const error of errors) output.line(`${output.red("error")} ${formatDiagnostic(error)}`);
  if (errors.length > 0) {
    return output.line(`Nothing was written: ${count(errors.length, "error")}`);
  }
  const isBlocked = changes.some(({ change }) => change === "kept");
  // if one file is not ours, nothing is written
  const shown = isBlocked && !isCheck ? changes.filter(({ change }) => change === "kept") : changes;
  reportChanges(
    output,
    shown,
    isCheck,
    (path) =>
      output.line(
        `${output.red("error")} ${path} was not generated by this command. Move it`,
      ),
  );
  const state = changes.every(({ change }) => change === "unchanged")
    ? output.green("everything is up to date")
    : isBlocked
    ? "nothing was written"
    : isCheck
    ? "run trellis generate openapi"
    : "done";
  output.line(
    `${output.bold(count(counts.operations, "operation"))}, ${
      count(counts.components, "schema")
    }: ${state}`,
  );
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

function compareLocations(one: OpenApiFinding, other: OpenApiFinding): number {
  if (one.file !== other.file) return one.file < other.file ? -1 : 1;
  return one.line - other.line || (one.message < other.message ? -1 : 1);
}
