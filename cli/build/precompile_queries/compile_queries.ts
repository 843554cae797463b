import { getPackageName, toBareSpecifier } from "../../analysis/package_specifier.ts";
import { listLoadedModules } from "../../analysis/loaded_modules.ts";
import { Project } from "../../analysis/project.ts";
import { Slicer } from "../../analysis/schema_slice.ts";
import type { ts } from "../../analysis/typescript.ts";
import { isTrellis } from "../../analysis/values.ts";
import { createPackageLoader, type PackageLoader } from "../../openapi/package_loader.ts";
import { runSlice, SliceError } from "../../openapi/run_slice.ts";
import type { ModulePaths } from "../module_paths.ts";
import { type LeanSources, readLean } from "../lean/read_lean.ts";
import { findTrellisImport, type TrellisImport } from "../trellis_import.ts";
import { ChangedConstants } from "./changed_constants.ts";
import { type DrizzleModules, NotCompiled } from "./codecs.ts";
import { describeStatement, type StatementSource } from "./describe_statement.ts";
import { findStatements, type QueryModuleSource, type SourceStatement } from "./find_statements.ts";
import { renderStatement } from "./statement_code.ts";
import { withoutClock } from "./without_clock.ts";

/** The statements of a project that are compiled ahead of time. */
export interface CompiledQueries {
  /** Modules of the project with statements, by path. */
  readonly sources: ReadonlyMap<string, QueryModuleSource>;
  /** Code of modules by the key of their statement. */
  readonly modules: ReadonlyMap<string, string>;
  /** Reasons why statements are left to drizzle, with their positions. */
  readonly reasons: readonly string[];
  readonly trellis: TrellisImport;
  /** The sources as they are bundled without drizzle. */
  readonly lean: LeanSources;
}

/** Options of {@link compileQueries}. */
export interface CompileQueriesOptions {
  readonly root: string;
  /** The functions. */
  readonly files: readonly string[];
  readonly paths: ModulePaths;
}

/**
 * Compiles the statements of prepared queries. Only the builders and the constants that they need
 * are evaluated, without a connection.
 *
 * @param options The functions.
 * @returns The statements; `undefined` if the functions do not use this package.
 */
export async function compileQueries(
  { root, files, paths }: CompileQueriesOptions,
): Promise<CompiledQueries | undefined> {
  const project = new Project(root);
  const modules = listLoadedModules(project, files, (path) => paths.getPackage(path) === undefined);
  const sources = modules.map((module) => findStatements(project, module))
    .filter(({ statements, left }) => statements.length + left.length > 0);
  const trellis = findTrellisImport(project, modules);
  if (trellis === undefined) return undefined;
  const changed = new ChangedConstants(project, modules);
  const written = await evaluate(project, sources.flatMap((each) => each.statements), changed);
  const code = new Map<string, string>();
  const leanCode = new Map<string, string>();
  const reasons = sources.flatMap(({ left }) => left).map(({ node, message }) =>
    `${project.getPath(node)}:${project.getLine(node)}: ${message}`
  );
  for (const [key, result] of written) {
    if (result instanceof Error) reasons.push(result.message);
    else {
      code.set(key, renderStatement(result));
      leanCode.set(key, renderStatement(result, key));
    }
  }
  const byPath = new Map(sources.map((source) => [source.module.path, source]));
  const statements = sources.flatMap((each) => each.statements).filter(({ key }) => code.has(key));
  const drizzle = await loadDrizzle(createPackageLoader(), trellis.importer);
  const lean = await readLean({ project, modules, statements, changed, drizzle, code: leanCode });
  reasons.push(...lean.reasons);
  return { sources: byPath, modules: code, reasons, trellis, lean };
}

/** Evaluates statements. Returns their descriptions, or the reason why there is none, by key. */
async function evaluate(
  project: Project,
  statements: readonly SourceStatement[],
  changed: ChangedConstants,
): Promise<Map<string, StatementSource | Error>> {
  if (statements.length === 0) return new Map();
  const slicer = new Slicer(project, "prepared queries");
  const units = statements.map(({ node, client }) => slicer.addFunction(node, client));
  const load = createPackageLoader();
  const drizzle = await loadDrizzle(load, statements[0].node.getSourceFile().fileName);
  const slice = withoutClock(slicer.finish());
  return await runSlice(slice, onlyDrizzle(load), (values) => {
    return new Map(statements.map((statement, index): [string, StatementSource | Error] => {
      const { key, node } = statement;
      try {
        const change = changed.find(node);
        if (change !== undefined) throw new NotCompiled(describeChange(project, change));
        const build = values.getValue(units[index]) as (db: unknown) => unknown;
        return [key, describeStatement(build, drizzle)];
      } catch (error) {
        return [key, new Error(explain(project, statement, error as Error))];
      }
    }));
  });
}

function describeChange(project: Project, change: ts.Node): string {
  return `${project.getPath(change)}:${project.getLine(change)} changes a value that it uses`;
}

/** Returns the position of a statement with the reason why it is not compiled. */
function explain(project: Project, { node, name }: SourceStatement, error: Error): string {
  const location = error instanceof SliceError
    ? error.location
    : { file: project.getPath(node), line: project.getLine(node) };
  return `${location.file}:${location.line}: ${name}: ${error.message}`;
}

async function loadDrizzle(load: PackageLoader, from: string): Promise<DrizzleModules> {
  const [core, pg] = await Promise.all([
    load("drizzle-orm", from),
    load("drizzle-orm/pg-core", from),
  ]);
  return { core, pg } as unknown as DrizzleModules;
}

/** Refuses packages other than drizzle, whose functions may give other values at run time. */
function onlyDrizzle(load: PackageLoader): PackageLoader {
  return async function loadDrizzleOnly(specifier, from) {
    const name = getPackageName(toBareSpecifier(specifier));
    if (name === "drizzle-orm" || isTrellis(name)) return await load(specifier, from);
    throw new Error("trellis build evaluates no code of other packages");
  };
}
