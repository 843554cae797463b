import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { relative, resolve, sep } from "node:path";
import { gzipSync } from "node:zlib";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { Bundle } from "../build/bundle.ts";
import type { BundleError } from "../build/bundle_error.ts";
import type { BundleChange, OutputFolder } from "../build/output_folder.ts";
import type { SourcePosition } from "../build/provider_location.ts";
import { formatBytes, listLargestPackages, renderSizeTable } from "../build/size_table.ts";
import { type ModuleSize, type PackageSize, sumByPackage } from "../build/sizes.ts";
import { type Command, type CommandContext, ExitCode } from "../command.ts";
import type { ResolvedConfig } from "../config/config.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import type { Output } from "../output.ts";

/** The command `trellis build`. */
export const build: Command = {
  name: "build",
  summary: "Bundles each function into one deployable file.",
  description: [
    "Writes dist/<Function>/index.mjs: a minified, tree-shaken ES module that exports `handler`, with\n" +
    "its source map. Optional parts of the package (database drivers, the auth library) are included\n" +
    "only in functions whose sources use them. Builds are reproducible.",
    "Prints the size of each function and its largest packages. Bundles of deleted functions are\n" +
    "removed; files without the generated first line are never changed.",
    "Node.js projects are resolved like Node.js, with `paths` of tsconfig and `imports` of\n" +
    "package.json; Deno projects like Deno, with import maps, npm:, jsr: and https:.",
  ],
  options: [
    {
      name: "check",
      description: "Write nothing; exit with 1 if a function exceeds its budget (build.budgets).",
    },
    { name: "analyze", description: "Print the contents of each bundle by package and module." },
  ],
  examples: [
    ["trellis build", "write dist/<Function>/index.mjs for every function"],
    ["trellis build --check", "in CI: fail if a function exceeds its budget"],
    ["trellis build --analyze", "find out why a function is large"],
    ["trellis build --json | jq '.functions[] | .name, .bytes'", "sizes as JSON"],
  ],
  exitCodes: {
    [ExitCode.Done]: "Done; with --check: every function is within its budget.",
    [ExitCode.Found]: "A function cannot be bundled, an unmanaged file exists at an " +
      "output path, or (--check) a function exceeds its budget.",
    [ExitCode.Usage]: "The command line is invalid.",
    [ExitCode.Failed]: "It could not run: esbuild, a folder or a file is missing or not writable.",
  },
  run,
};

/** A bundle in the report, without its code. */
interface BuiltFunction {
  readonly name: string;
  readonly source: string;
  readonly path: string;
  readonly change: BundleChange;
  readonly bytes: number;
  readonly gzipBytes: number;
  readonly mapBytes: number;
  readonly sha256: string;
  readonly budgetBytes?: number;
  readonly isOver: boolean;
  readonly providers: readonly string[];
  readonly packages: readonly PackageSize[];
  readonly modules: readonly ModuleSize[];
  readonly unreadProvider?: SourcePosition;
}

async function run({ root: folder, options, output }: CommandContext): Promise<ExitCode> {
  const [{ readConfig }, { findFunctionFiles }, { bundleFunctions }, { openOutputFolder }] =
    await Promise.all([
      import("../analysis/read_config.ts"),
      import("../discovery/function_files.ts"),
      import("../build/bundle.ts"),
      import("../build/output_folder.ts"),
    ]);
  const config = readConfig(folder, options.config as string | undefined);
  const functionsDir = resolve(folder, config.functionsDir);
  findFunctionFiles(functionsDir, config);
  // resolvers return real paths, so relative paths must be based on the real path of the project
  const root = realpathSync(folder);
  const functions = findFunctionFiles(resolve(root, config.functionsDir), config);
  const names = functions.map(({ name }) => name);
  checkSettings(config, names, root);

  const isCheck = options.check === true;
  const dir = resolve(root, config.build.dir);
  const target = openOutputFolder(dir, config.build.sourceMaps === "apart" ? `${dir}.maps` : dir);
  try {
    const unmanaged = isCheck ? [] : target.unmanagedFiles(names);
    if (unmanaged.length > 0) return reportUnmanaged(output, unmanaged, config.build.dir);
    const built: BuiltFunction[] = [];
    const errors = await bundleFunctions({
      root,
      functions,
      settings: config.build,
      onBundle: (bundle) =>
        built.push(toBuiltFunction(bundle, config, isCheck ? undefined : target)),
      onProgress: (done, total) => output.progress("Bundling functions", done, total),
    });
    output.endProgress();
    built.sort((a, b) => a.name < b.name ? -1 : 1);
    const removed = isCheck || errors.length > 0 ? [] : target.commit(names);
    return report(output, {
      built,
      errors,
      removed,
      config,
      functions,
      isCheck,
      isAnalysis: options.analyze === true,
    });
  } finally {
    target.discard();
  }
}

function checkSettings(
  { functionsDir, build }: ResolvedConfig,
  names: readonly string[],
  root: string,
): void {
  const listed = { budgets: Object.keys(build.budgets), betterAuth: build.betterAuth };
  for (const [setting, listedNames] of Object.entries(listed)) {
    const unknown = listedNames.find((name) => name !== "*" && !names.includes(name));
    if (unknown !== undefined) {
      throw new ConfigurationError(`build.${setting}: ${unknown} does not match a function`);
    }
  }
  const isInside = (path: string) => !relative(resolve(root, build.dir), path).startsWith("..");
  if (isInside(root) || isInside(resolve(root, functionsDir))) {
    throw new ConfigurationError(
      `build.dir is ${build.dir}, which contains the sources: use a separate folder`,
    );
  }
}

function toBuiltFunction(
  { name, source, code, map, modules, parts, unreadProvider }: Bundle,
  config: ResolvedConfig,
  target?: OutputFolder,
): BuiltFunction {
  const { budgets, dir } = config.build;
  const bytes = byteLength(code);
  const budgetBytes = Object.hasOwn(budgets, name) ? budgets[name] : budgets["*"];
  const packages = sumByPackage(modules);
  return {
    name,
    source,
    path: `${dir.split(sep).join("/").replace(/\/$/, "")}/${name}/index.mjs`,
    change: target?.stage(name, code, map) ?? "unchanged",
    bytes,
    gzipBytes: gzipSync(code).length,
    mapBytes: map === undefined ? 0 : byteLength(map),
    sha256: createHash("sha256").update(code).digest("hex"),
    budgetBytes,
    isOver: budgetBytes !== undefined && bytes > budgetBytes,
    providers: packages.some((each) => each.name === "drizzle-orm") ? parts.providers : [],
    packages,
    modules,
    unreadProvider,
  };
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

function reportUnmanaged(output: Output, unmanaged: readonly string[], dir: string): ExitCode {
  const errors = unmanaged.map((name) => ({
    file: `${dir}/${name}/index.mjs`,
    line: 1,
    column: 1,
    message: "was not generated by trellis build (its first line is " +
      "different). Move it, or change build.dir",
  }));
  for (const { file, message } of errors) output.line(`${output.red("error")} ${file} ${message}`);
  output.line("Nothing was written.");
  output.result({
    command: "build",
    exitCode: ExitCode.Found,
    functions: [],
    removed: [],
    errors,
    warnings: [],
  });
  return ExitCode.Found;
}

interface Report {
  readonly built: readonly BuiltFunction[];
  readonly errors: readonly BundleError[];
  readonly removed: readonly string[];
  readonly config: ResolvedConfig;
  readonly functions: readonly FunctionFile[];
  readonly isCheck: boolean;
  readonly isAnalysis: boolean;
}

function report(
  output: Output,
  { built, errors, removed, config, functions, isCheck, isAnalysis }: Report,
): ExitCode {
  const over = built.filter(({ isOver }) => isOver);
  const warnings = findWarnings(built, config);
  const exitCode = errors.length > 0 || (isCheck && over.length > 0)
    ? ExitCode.Found
    : ExitCode.Done;
  output.result({
    command: "build",
    exitCode,
    functions: built.map(({ modules, unreadProvider: _, ...fn }) =>
      isAnalysis ? { ...fn, modules } : fn
    ),
    removed,
    errors,
    warnings,
  });
  for (const warning of warnings) output.warn(warning);
  for (const { file, line, column, message } of errors) {
    output.line(
      `${output.red("error")} ${file === "" ? "" : `${file}:${line}:${column}: `}${message}`,
    );
  }
  if (errors.length > 0) {
    output.line("Nothing was written.");
    return exitCode;
  }
  for (const line of renderSizeTable(built, output.red)) output.line(line);
  if (isAnalysis) { for (const fn of built) analyse(output, fn); }
  output.line();
  for (const { name, bytes, budgetBytes, packages } of over) {
    const text = `${name} has ${bytes} bytes and exceeds its budget of ${budgetBytes} by ${
      bytes - budgetBytes!
    }: ${listLargestPackages(packages, bytes)}`;
    if (isCheck) output.line(`${output.red("error")} ${text}`);
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
  output.line(`${output.bold(`${functions.length} functions`)}, ${formatBytes(total)}: ${state}`);
  return exitCode;
}

/**
 * Messages of zod in all languages. The default export includes them, which is about half of a
 * small function.
 */
const LOCALE = /[/\\]v4[/\\]locales[/\\](?!en\.|index\.)/;

function findWarnings(built: readonly BuiltFunction[], { build }: ResolvedConfig): string[] {
  const warnings: string[] = [];
  const withLocales = built.filter(({ modules }) =>
    modules.some(({ path }) => /[/\\]zod[/\\]/.test(path) && LOCALE.test(path))
  );
  if (withLocales.length > 0) {
    const bytes = withLocales[0].modules.filter(({ path }) => LOCALE.test(path)).reduce(
      (sum, each) => sum + each.bytes,
      0,
    );
    warnings.push(
      `${nameSome(withLocales)} include zod's messages in all languages (${
        formatBytes(bytes)
      } each): write ` +
        `import * as z from "zod" instead of import { z } from "zod"`,
    );
  }
  warnings.push(...findUnreadProviders(built));
  const withTests = built.filter(({ modules }) =>
    modules.some((each) =>
      each.package === "@trellis/fn" && /(?:^|[/\\])(?:testing|cli)[/\\]/.test(each.path)
    )
  );
  if (withTests.length > 0) {
    warnings.push(`${nameSome(withTests)} include @trellis/fn/testing or @trellis/fn/cli`);
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
  const byPosition = new Map<string, BuiltFunction[]>();
  for (const fn of built) {
    if (fn.unreadProvider === undefined || fn.providers.length === 0) continue;
    const { file, line, column } = fn.unreadProvider;
    const position = `${file}:${line}:${column}`;
    byPosition.set(position, [...byPosition.get(position) ?? [], fn]);
  }
  return [...byPosition].map(([position, functions]) =>
    `${position}: the provider cannot be determined. The installed drivers of ` +
    `${functions[0].providers.join(", ")} are bundled into ${nameSome(functions)}. ` +
    "Set build.databaseProviders in trellis.config.ts to the provider you deploy"
  );
}

const MANY = 5;

function nameSome(functions: readonly BuiltFunction[]): string {
  const names = functions.slice(0, MANY).map(({ name }) => name).join(", ");
  return functions.length > MANY ? `${names} and ${functions.length - MANY} more` : names;
}

const LARGEST_MODULES = 10;

function analyse(output: Output, { name, bytes, packages, modules }: BuiltFunction): void {
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
