import type { TablePermission } from "../../database/table_permission.ts";
import { PACKAGE_TABLES } from "./auth_tables.ts";
import { createCollection } from "./collect.ts";
import { LOAD, type QueryDeclaration } from "./effects.ts";
import { createEvaluator } from "./evaluate.ts";
import { createFindings, type Finding } from "./findings.ts";
import { Project } from "./project.ts";
import { reach } from "./reach.ts";
import { findUnknownSequences, getSequenceGrants, type SequenceGrant } from "./sequence_grants.ts";
import { getTableGrants, type TableGrant } from "./table_grants.ts";
import {
  describeWrapper,
  findAccessesOutsideQueries,
  findSessionProblems,
  findUndeclaredAccesses,
} from "./table_problems.ts";

/** The database permissions of a function. */
export interface FunctionPermissions {
  readonly name: string;
  /** Relative to the project. */
  readonly file: string;
  /** True if the function connects at all: a query without tables needs a role but no grants. */
  readonly usesDatabase: boolean;
  /** Sorted by table. */
  readonly tables: readonly TableGrant[];
  /** Sequences that SQL text names, sorted. */
  readonly sequences: readonly SequenceGrant[];
}

/** The result of the analysis. */
export interface PermissionsAnalysis {
  readonly functions: readonly FunctionPermissions[];
  /** Code that cannot be resolved: the grants of these functions may be incomplete. */
  readonly unresolved: readonly Finding[];
  /** Table accesses for which a grant is, or may be, missing. */
  readonly missed: readonly Finding[];
  /** Code that will fail at run time, and grants that are not needed. */
  readonly warnings: readonly Finding[];
  readonly fileCount: number;
  readonly queryCount: number;
}

/** Options of {@link analysePermissions}. */
export interface AnalyseOptions {
  /** Absolute path of the project's folder. */
  readonly root: string;
  /** The functions, with absolute paths. */
  readonly functions: readonly { readonly name: string; readonly file: string }[];
  /** Additional permissions by function name. */
  readonly extra?: Readonly<Record<string, readonly TablePermission[]>>;
  /** Called with the number of finished functions. */
  readonly onProgress?: (done: number, total: number) => void;
}

/**
 * Finds the tables that each function can reach and the operations it performs on them. Static
 * analysis only.
 *
 * @returns Grants by function, and the code that cannot be resolved.
 * @throws {SyntaxError} If a file cannot be parsed.
 */
export async function analysePermissions(options: AnalyseOptions): Promise<PermissionsAnalysis> {
  const project = new Project(options.root);
  const evaluator = createEvaluator(project, PACKAGE_TABLES);
  const collection = createCollection(project, evaluator);
  const unresolved = createFindings(project);
  const warnings = createFindings(project);
  const missed = createFindings(project);
  const functions: FunctionPermissions[] = [];
  const queries = new Set<QueryDeclaration>();

  for (const { name, file } of options.functions) {
    const module = project.read(file);
    const handler = collection.exportUnit(module, "handler");
    if (handler === undefined) {
      unresolved.add(
        module.source,
        "the file does not export a handler. Write export " +
          "const handler = defineApiHandler({ … })(…)",
        name,
      );
      continue;
    }
    const roots = [collection.units.get(module.source, [LOAD]).unit, handler];
    const reached = reach(collection, evaluator, roots);
    for (const { node, message, subject } of reached.list("unresolved")) {
      if (subject !== "environment") unresolved.add(node, message, name);
    }
    for (const { node, caller } of findUnknownSequences(reached)) {
      unresolved.add(
        node,
        `the sequence of ${caller}() is computed at run time, so no grant is generated: write its ` +
          "name in the SQL text",
        name,
      );
    }
    const sequences = getSequenceGrants(project, reached);
    const outside = reach(collection, evaluator, roots, false);
    for (const { node, message } of findAccessesOutsideQueries(outside)) {
      missed.add(node, message, name);
    }
    for (const { node, message } of findSessionProblems(evaluator, reached)) {
      warnings.add(node, message, name);
    }
    for (const { node, module } of reached.list("wrapper")) {
      missed.add(node, describeWrapper(module), name);
    }
    for (const { query } of reached.list("query")) {
      queries.add(query);
      for (
        const { node, message, isMissed } of findUndeclaredAccesses(collection, evaluator, query)
      ) {
        (isMissed ? missed : warnings).add(node, message, name);
      }
    }
    const extra = options.extra?.[name] ?? [];
    functions.push({
      name,
      file: project.getPath(module.source),
      usesDatabase: reached.usesDatabase() || sequences.length > 0 || extra.length > 0,
      tables: getTableGrants(project, collection, evaluator, reached, extra),
      sequences,
    });
    options.onProgress?.(functions.length, options.functions.length);
    // lets signals and timers run
    if (functions.length % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return {
    functions,
    unresolved: unresolved.list(),
    missed: missed.list(),
    warnings: warnings.list(),
    fileCount: project.fileCount,
    queryCount: queries.size,
  };
}
