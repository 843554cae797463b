import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { relative, resolve, sep } from "node:path";
import { gzipSync } from "node:zlib";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { Bundle, BundleFault } from "../build/bundle.ts";
import type { BundleChange, OutputFolder } from "../build/output_folder.ts";
import { describeHeavy, formatBytes, renderSizeTable } from "../build/size_table.ts";
import type { SourcePlace } from "../build/provider_place.ts";
import { byPackage, type ModuleSize, type PackageSize } from "../build/sizes.ts";
import { type Command, type CommandContext, ExitCode } from "../command.ts";
import type { ResolvedConfig } from "../config/config.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import type { Output } from "../output.ts";

/** `trellis build`. */
export const build: Command = {
  name: "build",
  summary: "Bundles each function into one file that can be deployed.",
  description: [
    "Writes dist/<Function>/index.mjs, an ES module that exports `handler`, minified and tree-shaken, with its source map beside\n" +
    "it. Of the package's optional parts (database drivers, the auth library) a function gets those that its sources call for.\n" +
    "The same sources give the same bytes.",
    "Prints the size of each function and what makes it heavy. Bundles of functions that are gone are removed; files without\n" +
    "the first line that says so are left alone.",
    "Projects of Node's resolve as Node does, with tsconfig's paths and package.json's imports; projects of Deno's as Deno\n" +
    "does, with import maps, npm:, jsr: and https:.",
  ],
  options: [
    {
      name: "check",
      description: "Write nothing; exit with 1 when a function is over its budget (build.budgets).",
    },
    { name: "analyze", description: "Print what each bundle is made of, by package and module." },
  ],
  examples: [
    ["trellis build", "write dist/<Function>/index.mjs for every function"],
    ["trellis build --check", "in CI: fail when a function is over its budget"],
    ["trellis build --analyze", "find out what makes a function heavy"],
    ["trellis build --json | jq '.functions[] | .name, .bytes'", "sizes for a program"],
  ],
  exitCodes: {
    [ExitCode.Done]: "Done; with --check: every function keeps to its budget.",
    [ExitCode.Found]:
      "A function cannot be bundled, a file of yours is in the way, or (--check) a function is over its budget.",
    [ExitCode.Usage]: "The command line is wrong.",
    [ExitCode.Failed]:
      "It could not run: esbuild, a folder or a file is missing or cannot be written.",
  },
  run,
};

/** A bundle as the report shows it; its text is not kept. */
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
  readonly unreadProvider?: SourcePlace;
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
  findFunctionFiles(functionsDir);
  // resolvers give real paths; beside a link to the project they would name other files
  const root = realpathSync(folder);
  const functions = findFunctionFiles(resolve(root, config.functionsDir));
  const names = functions.map(({ name }) => name);
  checkSettings(config, names, root);

  const isCheck = options.check === true;
  const dir = resolve(root, config.build.dir);
  const target = openOutputFolder(dir, config.build.sourceMaps === "apart" ? `${dir}.maps` : dir);
  try {
    const strangers = isCheck ? [] : target.strangers(names);
    if (strangers.length > 0) return reportStrangers(output, strangers, config.build.dir);
    const built: BuiltFunction[] = [];
    const faults = await bundleFunctions({
      root,
      functions,
      settings: config.build,
      onBundle: (bundle) => built.push(take(bundle, config, isCheck ? undefined : target)),
      onProgress: (done, total) => output.progress("Bundling functions", done, total),
    });
    output.endProgress();
    built.sort((a, b) => a.name < b.name ? -1 : 1);
    const removed = isCheck || faults.length > 0 ? [] : target.commit(names);
    return report(output, {
      built,
      faults,
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
      throw new ConfigurationError(`build.${setting} lists ${unknown}, which is no function`);
    }
  }
  const isInside = (path: string) => !relative(resolve(root, build.dir), path).startsWith("..");
  if (isInside(root) || isInside(resolve(root, functionsDir))) {
    throw new ConfigurationError(
      `build.dir is ${build.dir}, which holds the sources: give a folder of its own`,
    );
  }
}

function take(
  { name, source, code, map, modules, parts, unreadProvider }: Bundle,
  config: ResolvedConfig,
  target?: OutputFolder,
): BuiltFunction {
  const { budgets, dir } = config.build;
  const bytes = byteLength(code);
  const budgetBytes = Object.hasOwn(budgets, name) ? budgets[name] : budgets["*"];
  const packages = byPackage(modules);
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

function reportStrangers(output: Output, strangers: readonly string[], dir: string): ExitCode {
  const errors = strangers.map((name) => ({
    file: `${dir}/${name}/index.mjs`,
    line: 1,
    column: 1,
    message:
      "is not ours: its first line does not say that it was built. Move it away, or set build.dir",
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
  readonly faults: readonly BundleFault[];
  readonly removed: readonly string[];
  readonly config: ResolvedConfig;
  readonly functions: readonly FunctionFile[];
  readonly isCheck: boolean;
  readonly isAnalysis: boolean;
}

function report(
  output: Output,
  { built, faults, removed, config, functions, isCheck, isAnalysis }: Report,
): ExitCode {
  const over = built.filter(({ isOver }) => isOver);
  const warnings = findWarnings(built, config);
  const exitCode = faults.length > 0 || (isCheck && over.length > 0)
    ? ExitCode.Found
    : ExitCode.Done;
  output.result({
    command: "build",
    exitCode,
    functions: built.map(({ modules, unreadProvider: _, ...fn }) =>
      isAnalysis ? { ...fn, modules } : fn
    ),
    removed,
    errors: faults,
    warnings,
  });
  for (const warning of warnings) output.warn(warning);
  for (const { file, line, column, message } of faults) {
    output.line(
      `${output.red("error")} ${file === "" ? "" : `${file}:${line}:${column}: `}${message}`,
    );
  }
  if (faults.length > 0) {
    output.line("Nothing was written.");
    return exitCode;
  }
  for (const line of renderSizeTable(built, output.red)) output.line(line);
  if (isAnalysis) { for (const fn of built) analyse(output, fn); }
  output.line();
  for (const { name, bytes, budgetBytes, packages } of over) {
    const text = `${name} has ${bytes} bytes, ${
      bytes - budgetBytes!
    } over its budget of ${budgetBytes}: ${describeHeavy(packages, bytes)}`;
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

/** zod's messages in all languages come with its default namespace: about half of a small function. */
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
      `${nameSome(withLocales)} bundle zod's messages in all languages (${
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
    warnings.push(`${nameSome(withTests)} bundle @trellis/fn/testing or @trellis/fn/cli`);
  }
  if (build.databaseProviders?.includes("embedded-pg")) {
    warnings.push(
      "build.databaseProviders lists embedded-pg: @electric-sql/pglite cannot be bundled and must be installed beside",
    );
  }
  return warnings;
}

/** One warning for each place: many functions share a client. */
function findUnreadProviders(built: readonly BuiltFunction[]): string[] {
  const byPlace = new Map<string, BuiltFunction[]>();
  for (const fn of built) {
    if (fn.unreadProvider === undefined || fn.providers.length === 0) continue;
    const { file, line, column } = fn.unreadProvider;
    const place = `${file}:${line}:${column}`;
    byPlace.set(place, [...byPlace.get(place) ?? [], fn]);
  }
  return [...byPlace].map(([place, functions]) =>
    `${place}: the provider cannot be read here, so ${
      nameSome(functions)
    } bundle the installed drivers of ` +
    `${
      functions[0].providers.join(", ")
    }. Name the one you deploy in build.databaseProviders of trellis.config.ts`
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
