import { resolve } from "node:path";
import { type Command, type CommandContext, ExitCode } from "../command.ts";
import { applyGeneratedFiles, type FileChange, toProjectPath } from "../generated_files.ts";
import { describePlace, getSome, reportChanges } from "../generated_report.ts";
import type { OpenApiFinding } from "../openapi/read_operations.ts";
import type { Output } from "../output.ts";

/** `trellis generate openapi`. */
export const generateOpenapi: Command = {
  name: "generate openapi",
  summary:
    "Writes one OpenAPI 3.1 document for all HTTP functions, from their schemas and options.",
  description: [
    "Reads every file of the folder api: the schemas of defineApiHandler (schema, querySchema, pathSchema, responseSchema), its\n" +
    "auth mode and its openapi option. Handlers are not loaded: of the sources only what the schemas are made of is evaluated,\n" +
    "so that no environment variable and no database is needed. Components have the names that the schemas are exported as.",
    "Writes openapi.json, with --html a reference page beside it that needs no network. A file that does not say that it is\n" +
    "generated is left alone.",
    "A schema that cannot be evaluated so, or that JSON cannot express, is named with file and line, and nothing is written.",
  ],
  options: [
    {
      name: "html",
      description:
        "Write a reference page too: openapi.html, or openapi.htmlFile of the configuration.",
    },
    { name: "check", description: "Write nothing; exit with 1 when a file is stale." },
  ],
  examples: [
    ["trellis generate openapi", "write openapi.json"],
    ["trellis generate openapi --html", "write openapi.json and openapi.html"],
    ["trellis generate openapi --check", "in CI: fail when the document does not fit the sources"],
    ["trellis generate openapi --json | jq '.operations[] | .method, .path'", "all operations"],
  ],
  exitCodes: {
    [ExitCode.Done]: "Done; with --check: every file is as it should be.",
    [ExitCode.Found]:
      "A schema or option cannot be described, a file of yours is in the way, or (--check) a file is stale.",
    [ExitCode.Usage]: "The command line is wrong.",
    [ExitCode.Failed]:
      "It could not run: a folder or file is missing, cannot be read or is not valid.",
  },
  run,
};

async function run({ root, options, output }: CommandContext): Promise<ExitCode> {
  // the parser and zod are loaded by who needs them, so that help comes at once
  const [
    { readConfig },
    { findFunctionFiles },
    { readOperations },
    { buildDocument },
    { createPackageLoader },
    { planOpenApiFiles, readInfo },
  ] = await Promise.all([
    import("../analysis/read_config.ts"),
    import("../discovery/function_files.ts"),
    import("../openapi/read_operations.ts"),
    import("../openapi/build_document.ts"),
    import("../openapi/package_loader.ts"),
    import("../openapi/openapi_files.ts"),
  ]);
  const config = readConfig(root, options.config as string | undefined);
  const { openapi } = config;
  const sources = await readOperations(
    root,
    findFunctionFiles(resolve(root, config.functionsDir)),
    (done, total) => output.progress("Reading functions", done, total),
  );
  output.endProgress();
  const { document, findings, warnings } = await buildDocument(
    sources,
    readInfo(root, openapi),
    openapi.servers,
    createPackageLoader(),
  );
  const errors = [...sources.findings, ...findings].sort(byPlace);
  const htmlFile = openapi.htmlFile ??
    (options.html ? openapi.file.replace(/\.json$/, ".html") : undefined);
  const changes = errors.length > 0 ? [] : planOpenApiFiles(root, document, {
    file: toProjectPath(root, openapi.file),
    ...(htmlFile !== undefined && { htmlFile: toProjectPath(root, htmlFile) }),
  });
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
  for (const warning of warnings) output.warn(describePlace(warning));
  if (sources.undescribed.length > 0) {
    output.warn(
      `${
        count(sources.undescribed.length, "function")
      } not made by defineApiHandler and left out: ` +
        getSome(sources.undescribed.map(({ file }) => file)),
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
    undescribed: sources.undescribed,
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
  for (const error of errors) output.line(`${output.red("error")} ${describePlace(error)}`);
  if (errors.length > 0) {
    return output.line(`Nothing was written: ${count(errors.length, "place")} cannot be described`);
  }
  const isBlocked = changes.some(({ change }) => change === "kept");
  // one file that is in the way keeps all from being written
  const told = isBlocked && !isCheck ? changes.filter(({ change }) => change === "kept") : changes;
  reportChanges(
    output,
    told,
    isCheck,
    (path) =>
      output.line(
        `${
          output.red("error")
        } ${path} is not ours: it does not say that it is generated. Move it away`,
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

function byPlace(one: OpenApiFinding, other: OpenApiFinding): number {
  if (one.file !== other.file) return one.file < other.file ? -1 : 1;
  return one.line - other.line || (one.message < other.message ? -1 : 1);
}
