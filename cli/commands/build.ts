import { createHash } from "node:crypto";
import { existsSync, realpathSync, writeFileSync } from "node:fs";
import { resolve, sep } from "node:path";
import { gzipSync } from "node:zlib";
import { isInsideFolder } from "../files/inside_folder.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { Bundle } from "../build/bundle_batch.ts";
import { readBundledProject } from "../build/bundled_project.ts";
import type { OutputFolder } from "../build/output_folder.ts";
import { sumByPackage } from "../build/sizes.ts";
import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
} from "../terminal/command.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { findFunctionFiles, type FunctionFile } from "../discovery/function_files.ts";
import type { Output } from "../terminal/output.ts";
import { readProject } from "../config/read_project.ts";
import type { ManifestFacts } from "../build/read_statements.ts";
import { type BuiltFunction, printReport } from "../build/build_report.ts";

/** The command `trellis build`. */
export const build: Command = {
  name: "build",
  packages: ["acorn", "esbuild"],
  summary: "Bundles each function into one deployable file.",
  description: [
    "Writes dist/<Function>/index.mjs: a minified, tree-shaken ES module that exports `handler`, with\n" +
    "its source map. Optional parts of the package (database drivers, the auth library) are included\n" +
    "only in functions whose sources use them. Builds are reproducible.",
    "With build.precompile in the configuration, schemas are compiled into plain code, and zod is in\n" +
    "dist/<Function>/schemas.cjs, which is loaded for values that do not fit.",
    "In a project with migrations it also writes dist/release.json: the statements and grants of each\n" +
    "function, for check compat of a later release.",
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
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { options, output } = context;
  const [{ bundleFunctions }, { openOutputFolder }] = await Promise.all([
    import("../build/bundle.ts"),
    import("../build/output_folder.ts"),
  ]);
  const { config } = await readProject(context);
  // resolvers return real paths, so relative paths must be based on the real path of the project
  const root = realpathSync(context.root);
  const functions = findFunctionFiles(resolve(root, config.functionsDir), config);
  const names = functions.map(({ name }) => name);
  checkSettings(config, names, root);

  const isCheck = options.check === true;
  const dir = resolve(root, config.build.dir);
  const target = openOutputFolder(
    dir,
    config.build.sourceMaps === "apart" ? `${dir}.maps` : dir,
  );
  try {
    const unmanaged = isCheck ? [] : target.unmanagedFiles(names);
    if (unmanaged.length > 0) return reportUnmanaged(output, unmanaged, config.build.dir);
    // beside the bundling, because it runs in another process
    const checking = checkLoaded(root, config, functions);
    checking.catch(() => {});
    const built: BuiltFunction[] = [];
    const errors = await bundleFunctions({
      root,
      functions,
      settings: config.build,
      withImage: listWithImage(config),
      readProject: () => readBundledProject(root, config),
      onBundle: (bundle) =>
        built.push(toBuiltFunction(bundle, config, isCheck ? undefined : target)),
      onProgress: (done, total) => output.progress("Bundling functions", done, total),
    });
    output.endProgress();
    const { warnings, statements } = await checking;
    for (const warning of warnings) output.warn(warning);
    built.sort((a, b) => a.name < b.name ? -1 : 1);
    const removed = isCheck || errors.length > 0 ? [] : target.commit(names);
    if (!isCheck && errors.length === 0) await writeManifest(root, config, statements);
    return printReport(output, {
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

/** What is known of functions that were loaded. */
interface LoadedFacts {
  /** What each function sends to the database, by its name. */
  readonly statements: ReadonlyMap<string, ManifestFacts>;
  /** What could not be checked. */
  readonly warnings: readonly string[];
}

/**
 * Checks what is only known of functions that are loaded: the options of the auth library, and the statements.
 *
 * @throws {ConfigurationError} If one of them is refused.
 */
async function checkLoaded(
  root: string,
  config: ResolvedConfig,
  functions: readonly FunctionFile[],
): Promise<LoadedFacts> {
  const [{ checkAuthTables }, { checkStatements }] = await Promise.all([
    import("../auth_schema/check_tables.ts"),
    import("../build/check_statements.ts"),
  ]);
  const unchecked = await checkAuthTables(root, config);
  const { functions: statements, warning } = await checkStatements({ root, functions });
  return { statements, warnings: [unchecked, warning].filter((each) => each !== undefined) };
}

/** Writes what the release needs of the schema, if the project has migrations. */
async function writeManifest(
  root: string,
  { database, permissions, build: { dir } }: ResolvedConfig,
  functions: ReadonlyMap<string, ManifestFacts>,
): Promise<void> {
  const folder = resolve(root, database.migrationsDir);
  if (!existsSync(folder)) return;
  const [{ readMigrationFolder }, { createManifest, MANIFEST_FILE }] = await Promise.all([
    import("../../database/migrations/folder.ts"),
    import("../releases/release_manifest.ts"),
  ]);
  const tags = readMigrationFolder(folder).files.map(({ tag }) => tag);
  const manifest = createManifest(tags, functions, resolve(root, permissions.dir));
  writeFileSync(resolve(root, dir, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`);
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
  const isInside = (path: string) => isInsideFolder(resolve(root, build.dir), path);
  if (isInside(root) || isInside(resolve(root, functionsDir))) {
    throw new ConfigurationError(
      `build.dir is ${build.dir}, which contains the sources: use a separate folder`,
    );
  }
}

function listWithImage({ infra: { functions } }: ResolvedConfig): Set<string> {
  return new Set(Object.keys(functions).filter((name) => functions[name].image !== undefined));
}

function toBuiltFunction(
  { name, source, code, map, files, modules, parts, unreadProvider, zodMessages, schemas }: Bundle,
  config: ResolvedConfig,
  target?: OutputFolder,
): BuiltFunction {
  const { budgets, dir } = config.build;
  const bytes = byteLength(code);
  const budgetBytes = Object.hasOwn(budgets, name) ? budgets[name] : budgets["*"];
  const packages = sumByPackage(modules);
  const usesDatabase = packages.some((each) => each.name === "drizzle-orm");
  const compiled = schemas !== undefined && "code" in schemas ? schemas : undefined;
  return {
    name,
    source,
    path: `${dir.split(sep).join("/").replace(/\/$/, "")}/${name}/index.mjs`,
    change: target?.stage(name, code, map, compiled, files) ?? "unchanged",
    bytes,
    gzipBytes: gzipSync(code).length,
    mapBytes: map === undefined ? 0 : byteLength(map),
    sha256: createHash("sha256").update(code).digest("hex"),
    budgetBytes,
    isOver: budgetBytes !== undefined && bytes > budgetBytes,
    providers: usesDatabase ? parts.providers : [],
    packages,
    modules,
    unreadProvider,
    zodMessages,
    ...describeSchemas(schemas),
  };
}

function describeSchemas(
  use: Bundle["schemas"],
): Pick<BuiltFunction, "compiledSchemas" | "schemasBytes" | "notCompiled"> {
  if (use === undefined) return {};
  return "reason" in use
    ? { notCompiled: use.reason }
    : { compiledSchemas: use.keys, schemasBytes: byteLength(use.code) };
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

function reportUnmanaged(output: Output, unmanaged: readonly string[], dir: string): CommandResult {
  const errors = unmanaged.map((name) => ({
    file: `${dir}/${name}/index.mjs`,
    line: 1,
    column: 1,
    message: "was not generated by trellis build (its first line is " +
      "different). Move it, or change build.dir",
  }));
  for (const { file, message } of errors) output.error(`${file} ${message}`);
  output.line("Nothing was written.");
  return {
    exitCode: ExitCode.Found,
    functions: [],
    removed: [],
    errors,
    warnings: [],
  };
}
