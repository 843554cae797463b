import { basename } from "node:path";
import type { Bundle } from "./bundle_batch.ts";
import type { BundleChange } from "./output_folder.ts";
import type { SourcePosition } from "../sources/source_positions.ts";
import type { PackageSize } from "./sizes.ts";
import { formatSourceError, type SourceError } from "../sources/build_error.ts";
import { type CommandResult, ExitCode } from "../terminal/command.ts";
import type { ResolvedConfig } from "../config/config.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { groupBy } from "../../core/lists/group_by.ts";
import { count, summarizeList } from "../terminal/generated_report.ts";
import type { Output } from "../terminal/output.ts";
import { renderTable } from "../terminal/text_table.ts";

/** A bundle in the report, without its code. */
export interface BuiltFunction
  extends Pick<Bundle, "name" | "source" | "modules" | "unreadProvider" | "zodMessages"> {
  readonly path: string;
  readonly change: BundleChange;
  readonly bytes: number;
  readonly gzipBytes: number;
  readonly mapBytes: number;
  readonly sha256: string;
  readonly budgetBytes?: number;
  /** True if the function exceeds its budget. */
  readonly isOver: boolean;
  readonly providers: readonly string[];
  readonly packages: readonly PackageSize[];
  /** The schemas that were compiled ahead of time: `src/note_schemas.ts#NoteInput`. */
  readonly compiledSchemas?: readonly string[];
  /** Size of the file with zod and these schemas. */
  readonly schemasBytes?: number;
  /** The reason why its schemas were not compiled. */
  readonly notCompiled?: string;
}

interface BuildReport {
  readonly built: readonly BuiltFunction[];
  readonly errors: readonly SourceError[];
  readonly removed: readonly string[];
  readonly config: ResolvedConfig;
  readonly functions: readonly FunctionFile[];
  readonly isCheck: boolean;
  readonly isAnalysis: boolean;
}

/** Prints the result of a build. */
export function printReport(
  output: Output,
  report: BuildReport,
): CommandResult {
  const { built, errors, removed, config, functions, isCheck, isAnalysis } = report;
  const over = built.filter(({ isOver }) => isOver);
  const warnings = findWarnings(built, config);
  const exitCode = errors.length > 0 || (isCheck && over.length > 0)
    ? ExitCode.Found
    : ExitCode.Done;
  const result = {
    exitCode,
    functions: built.map(({ modules, unreadProvider: _, zodMessages: __, ...fn }) =>
      isAnalysis ? { ...fn, modules } : fn
    ),
    removed,
    errors,
    warnings,
  };
  for (const warning of warnings) output.warn(warning);
  for (const error of errors) output.error(formatSourceError(error));
  if (errors.length > 0) {
    output.line("Nothing was written.");
    return result;
  }
  for (const line of renderSizeTable(built, output.red)) output.line(line);
  for (const line of renderSchemas(built)) output.line(line);
  if (isAnalysis) { for (const fn of built) printModules(output, fn); }
  output.line();
  for (const { name, bytes, budgetBytes, packages } of over) {
    const text = `${name} has ${bytes} bytes and exceeds its budget of ${budgetBytes} by ${
      bytes - budgetBytes!
    }: ${listLargestPackages(packages, bytes)} (${describeBudget(name, packages, config)})`;
    if (isCheck) output.error(text);
    else output.warn(text);
  }
  for (const name of removed) output.line(`removed ${config.build.dir}/${name}`);
  const total = built.reduce((sum, { bytes }) => sum + bytes, 0);
  const changed = built.filter(({ change }) => change !== "unchanged").length;
  const state = isCheck
    ? over.length === 0 ? output.green("within budget") : `${over.length} over budget`
    : changed === 0
    ? output.green("everything is up to date")
    : `${changed} written to ${config.build.dir}/`;
  const summary = `${output.bold(count(functions.length, "function"))}, ${
    formatBytes(total)
  }: ${state}`;
  output.line(summary);
  return { ...result, summary };
}

/** Names the setting of a budget, and what makes the function smaller. */
function describeBudget(
  name: string,
  packages: readonly PackageSize[],
  { build: { awsSdk, budgets } }: ResolvedConfig,
): string {
  const setting = `build.budgets${Object.hasOwn(budgets, name) ? `.${name}` : '["*"]'}`;
  const sdk = packages.filter((each) => /^@(?:aws-sdk|smithy)\//.test(each.name))
    .reduce((sum, { bytes }) => sum + bytes, 0);
  return sdk === 0 || awsSdk !== "bundle"
    ? setting
    : `${setting}; build.awsSdk: "runtime" leaves out ${formatBytes(sdk)} of the AWS SDK`;
}

function findWarnings(built: readonly BuiltFunction[], { build }: ResolvedConfig): string[] {
  const warnings = groupByPosition(built, ({ zodMessages }) => zodMessages).map((
    [position, functions],
  ) =>
    `${position}: this import brings zod's messages in all languages (${
      formatBytes(functions[0].zodMessages!.bytes)
    }) into ${nameSome(functions)}: write import * as z from "zod" instead of ` +
    `import { z } from "zod"`
  );
  warnings.push(...findUnreadProviders(built));
  const withTests = built.filter(({ modules }) =>
    modules.some((each) =>
      each.package === "@trellis/fn" && /(?:^|[/\\])(?:testing|cli)[/\\]/.test(each.path)
    )
  );
  if (withTests.length > 0) {
    warnings.push(
      `@trellis/fn/testing or @trellis/fn/cli is bundled into ${
        nameSome(withTests)
      }: import it in tests only`,
    );
  }
  if (build.databaseProviders?.includes("embedded-pg")) {
    warnings.push(
      "build.databaseProviders contains embedded-pg: " +
        "@electric-sql/pglite cannot be bundled and must be deployed separately",
    );
  }
  return warnings;
}

/** Returns one warning for each position: many functions share a client. */
function findUnreadProviders(built: readonly BuiltFunction[]): string[] {
  const unread = built.filter(({ providers }) => providers.length > 0);
  return groupByPosition(unread, ({ unreadProvider }) => unreadProvider).map((
    [position, functions],
  ) =>
    `${position}: the provider cannot be determined. The installed drivers of ` +
    `${functions[0].providers.join(", ")} are bundled into ${nameSome(functions)}. ` +
    "Set build.databaseProviders in trellis.config.ts to the provider you deploy"
  );
}

/** Groups functions by a position in the sources; those without one are left out. */
function groupByPosition(
  built: readonly BuiltFunction[],
  getPosition: (fn: BuiltFunction) => SourcePosition | undefined,
): [position: string, functions: BuiltFunction[]][] {
  const groups = groupBy(built, (fn) => {
    const { file, line, column } = getPosition(fn) ?? {};
    return file === undefined ? "" : `${file}:${line}:${column}`;
  });
  groups.delete("");
  return [...groups];
}

/** Returns the name of a schema, or the file and the line of one without a name. */
function toSchemaName(key: string): string {
  const at = key.lastIndexOf("#");
  const name = key.slice(at + 1);
  return /^\d/.test(name) ? `${basename(key.slice(0, at))}:${name.split(":")[0]}` : name;
}

/** Lists the functions with compiled schemas, and the reasons for others. */
function renderSchemas(built: readonly BuiltFunction[]): string[] {
  const lines = built.flatMap(({ name, compiledSchemas, schemasBytes = 0, notCompiled }) => {
    if (notCompiled !== undefined) return [`  ${name}: zod is included, ${notCompiled}`];
    if (compiledSchemas === undefined) return [];
    const names = compiledSchemas.map(toSchemaName).join(", ") || "none";
    return [`  ${name}: ${names} (zod on demand, ${formatBytes(schemasBytes)})`];
  });
  return lines.length === 0 ? [] : ["", "schemas compiled ahead of time:", ...lines];
}

function nameSome(functions: readonly BuiltFunction[]): string {
  return summarizeList(functions.map(({ name }) => name));
}

const LARGEST_MODULES = 10;

/** Prints the packages and the largest modules of a function. */
function printModules(output: Output, { name, bytes, packages, modules }: BuiltFunction): void {
  const share = (part: number) =>
    `${formatBytes(part).padStart(8)} ${(part / bytes * 100).toFixed(1).padStart(5)}%`;
  output.line();
  output.line(output.bold(name));
  for (const each of packages) output.line(`  ${share(each.bytes)}  ${each.name}`);
  output.line("  largest modules:");
  for (const each of modules.slice(0, LARGEST_MODULES)) {
    output.line(`  ${share(each.bytes)}  ${each.path}`);
  }
}

/** A row of the table. */
type SizeRow = Pick<BuiltFunction, "name" | "bytes" | "gzipBytes" | "packages" | "isOver">;

const MAX_PACKAGES = 3;
/** Packages below this share of a bundle are not listed. */
const MIN_SHARE = 0.05;

/**
 * Renders the sizes of bundles with their largest packages.
 *
 * @param rows One row for each function.
 * @param mark Highlights a row over its budget.
 * @returns Lines.
 */
export function renderSizeTable(
  rows: readonly SizeRow[],
  mark: (text: string) => string,
): string[] {
  const cells = rows.map(({ name, bytes, gzipBytes, packages }) => [
    name,
    formatBytes(bytes),
    formatBytes(gzipBytes),
    listLargestPackages(packages, bytes),
  ]);
  const header = ["function", "size", "gzip", "largest packages"];
  const lines = renderTable([header, ...cells], undefined, [1, 2]);
  return lines.map((line, at) => at > 0 && rows[at - 1].isOver ? mark(line) : line);
}

/**
 * Lists the largest packages of a bundle: `better-auth 402 kB, zod 88 kB`.
 *
 * @param packages Packages, largest first.
 * @param bytes The bundle's size.
 */
export function listLargestPackages(packages: readonly PackageSize[], bytes: number): string {
  const heavy = packages.filter((each) => each.bytes >= bytes * MIN_SHARE).slice(
    0,
    MAX_PACKAGES,
  );
  return heavy.map((each) => `${each.name} ${formatBytes(each.bytes)}`).join(", ");
}

/**
 * Formats a number of bytes: `1.2 MB`, `88 kB`. Uses decimal units, like Lambda's quotas and
 * package registries.
 */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 9950) return `${(bytes / 1000).toFixed(1)} kB`;
  if (bytes < 999_500) return `${Math.round(bytes / 1000)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
