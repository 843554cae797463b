import { DatabaseOperation, type TablePermission } from "../../database/table_permission.ts";
import { AUTH_TABLES, getAuthOperations, getNeededColumns, PACKAGE_TABLES } from "./auth_tables.ts";
import { type Collection, createCollection } from "./collect.ts";
import { CALL, LOAD, type QueryDeclaration } from "./effects.ts";
import { parseTable } from "./required_constants.ts";
import { createEvaluator, type Evaluator, printTable, type TableName } from "./evaluate.ts";
import { openProject, type Project } from "./project.ts";
import { createLiteralReader, type LiteralReader } from "./literals.ts";
import { type AuthTable, reach, type Reached } from "./reach.ts";
import { TRELLIS } from "./resolve_module.ts";
import { getSerialColumns } from "./serial_columns.ts";
import { type DeclaredColumns, getAuthColumns, readTableColumns } from "./table_columns.ts";
import type { ts } from "./typescript.ts";

/** An operation that is limited to some columns. */
export interface ColumnGrant {
  readonly operation: DatabaseOperation;
  /** Column names in the database, sorted. */
  readonly columns: readonly string[];
}

/** The grants of a function on one table, and the queries that need them. */
export interface TableGrant {
  readonly table: TableName;
  /** In the order SELECT, INSERT, UPDATE, DELETE. */
  readonly operations: readonly DatabaseOperation[];
  /** Operations that are limited to columns; omitted if there are none. */
  readonly columns?: readonly ColumnGrant[];
  /** Sequences used by inserts. */
  readonly sequences: readonly TableName[];
  /** `listNotes (src/queries/notes.ts)`, sorted. */
  readonly neededBy: readonly string[];
}

/** The database permissions of a function. */
export interface FunctionPermissions {
  readonly name: string;
  /** Relative to the project. */
  readonly file: string;
  /** True if the function connects at all: a query without tables needs a role but no grants. */
  readonly usesDatabase: boolean;
  /** Sorted by table. */
  readonly tables: readonly TableGrant[];
}

/** A message about a source location. */
export interface Finding {
  /** Relative to the project. */
  readonly file: string;
  readonly line: number;
  readonly message: string;
  /** Names of the functions that reach this code. */
  readonly functions: readonly string[];
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

const ORDER = [
  DatabaseOperation.Select,
  DatabaseOperation.Insert,
  DatabaseOperation.Update,
  DatabaseOperation.Delete,
];

/**
 * Finds the tables that each function can reach and the operations it performs on them. Static
 * analysis only.
 *
 * @param options The project and its functions.
 * @returns Grants by function, and the code that cannot be resolved.
 * @throws {SyntaxError} If a file cannot be parsed.
 */
export async function analysePermissions(options: AnalyseOptions): Promise<PermissionsAnalysis> {
  const project = openProject(options.root);
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
        "the file does not export a handler. Write export const handler = defineApiHandler({ … })(…)",
        name,
      );
      continue;
    }
    const roots = [collection.units.get(module.source, [LOAD]).unit, handler];
    const reached = reach(collection, evaluator, roots);
    for (const { node, message, subject } of reached.unresolved) {
      if (subject !== "environment") unresolved.add(node, message, name);
    }
    const outside = reach(collection, evaluator, roots, false);
    for (const { node, message } of findAccessesOutsideQueries(outside)) {
      missed.add(node, message, name);
    }
    for (const { node, message } of findSessionProblems(reached)) warnings.add(node, message, name);
    for (const [node, module] of reached.wrappers) missed.add(node, describeWrapper(module), name);
    for (const query of reached.queries) {
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
      usesDatabase: reached.queries.size > 0 || reached.auth.length > 0 || extra.length > 0,
      tables: toGrants(project, collection, reached, extra),
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

interface Entry {
  readonly table: TableName;
  /** Operations on the whole table. */
  readonly operations: Set<DatabaseOperation>;
  readonly columns: Map<DatabaseOperation, Set<string>>;
  readonly sequences: Map<string, TableName>;
  readonly neededBy: Set<string>;
}

function toGrants(
  project: Project,
  collection: Collection,
  reached: Reached,
  extra: readonly TablePermission[],
): TableGrant[] {
  const tables = new Map<string, Entry>();
  function add(table: TableName, operations: readonly DatabaseOperation[], reason: string): Entry {
    const key = printTable(table);
    let entry = tables.get(key);
    if (entry === undefined) {
      entry = {
        table,
        operations: new Set(),
        columns: new Map(),
        sequences: new Map(),
        neededBy: new Set(),
      };
      tables.set(key, entry);
    }
    for (const operation of operations.includes(DatabaseOperation.All) ? ORDER : operations) {
      entry.operations.add(operation);
    }
    entry.neededBy.add(reason);
    return entry;
  }
  for (const { query, table, operations, definition } of reached.grants) {
    const { name, node } = collection.queries[query];
    const entry = add(table, operations, `${name} (${project.getPath(node)})`);
    if (definition === undefined || !operations.includes(DatabaseOperation.Insert)) continue;
    for (const column of getSerialColumns(definition)) {
      const sequence = { schema: table.schema, name: `${table.name}_${column}_seq` };
      entry.sequences.set(sequence.name, sequence);
    }
  }
  const reader = createLiteralReader(project);
  for (const { need, why, node } of reached.auth) {
    for (
      const [model, operations] of Object.entries(
        getAuthOperations(need, reached.authTables.keys()),
      )
    ) {
      for (const authTable of reached.authTables.get(model) ?? [{ table: AUTH_TABLES[model] }]) {
        const entry = add(authTable.table, [], `${why} (${project.getPath(node)})`);
        const declared = readAuthTableColumns(reader, model, authTable);
        for (const operation of operations) {
          const columns = declared && getNeededColumns(need, model, operation, declared);
          if (columns === undefined) entry.operations.add(operation);
          else {entry.columns.set(
              operation,
              new Set([...entry.columns.get(operation) ?? [], ...columns]),
            );}
        }
      }
    }
  }
  for (const { table, operations } of extra) {
    add(parseTable(table), operations, "permissions.functions in trellis.config.ts");
  }
  return [...tables].sort(([a], [b]) => compare(a, b)).map(([, entry]) => toGrant(entry));
}

function toGrant({ table, operations, columns, sequences, neededBy }: Entry): TableGrant {
  const limited = ORDER.filter((operation) => columns.has(operation) && !operations.has(operation));
  return {
    table,
    operations: ORDER.filter((operation) => operations.has(operation) || columns.has(operation)),
    ...limited.length > 0 && {
      columns: limited.map((operation) => ({
        operation,
        columns: [...columns.get(operation)!].sort(compare),
      })),
    },
    sequences: [...sequences].sort(([a], [b]) => compare(a, b)).map(([, sequence]) => sequence),
    neededBy: [...neededBy].sort(compare),
  };
}

/** Returns the columns of an auth table; `undefined` if they cannot all be determined. */
function readAuthTableColumns(
  reader: LiteralReader,
  model: string,
  { table, definition }: AuthTable,
): DeclaredColumns | undefined {
  if (definition !== undefined) return readTableColumns(reader, definition);
  return table === AUTH_TABLES[model] ||
      table.name === AUTH_TABLES[model]?.name && table.schema === undefined
    ? getAuthColumns(model as Parameters<typeof getAuthColumns>[0])
    : undefined;
}

interface Problem {
  readonly node: ts.Node;
  readonly message: string;
}

function findAccessesOutsideQueries(outside: Reached): Problem[] {
  const accesses = outside.tableAccesses.map(({ node, table, operation }) => ({
    node,
    message:
      `table ${printTable(table)} is ${
        verb(operation)
      } outside a declared query, so no grant is generated: ` +
      "move it into a defineQuery that lists the table",
  }));
  const opaque = [...outside.opaque].map((node) => ({
    node,
    message:
      "the tables of this SQL are computed at run time: move it into a defineQuery that lists them",
  }));
  return [...accesses, ...opaque];
}

function describeWrapper(module: string): string {
  return `${module} depends on ${TRELLIS}, and packages are not analyzed: list its grants in ` +
    "permissions.functions of trellis.config.ts (an empty list if it needs none)";
}

function findSessionProblems(reached: Reached): Problem[] {
  const session = reached.auth.find(({ why }) => why === "auth: session");
  if (session === undefined || reached.isAuthConfigured) return [];
  return [{
    node: session.node,
    message:
      "auth is 'session', but no module that the function loads calls configureSessionAuth: requests will fail",
  }];
}

/** A problem in a query. */
interface QueryProblem extends Problem {
  readonly isMissed: boolean;
}

const accessesByQuery: WeakMap<QueryDeclaration, QueryProblem[]> = new WeakMap();

function findUndeclaredAccesses(
  collection: Collection,
  evaluator: Evaluator,
  query: QueryDeclaration,
): QueryProblem[] {
  const known = accessesByQuery.get(query);
  if (known !== undefined) return known;
  const declared = reach(collection, evaluator, [query.tables]);
  const body = query.fn === undefined ? [] : [collection.units.get(query.fn, [CALL]).unit];
  const problems: QueryProblem[] = [];
  accessesByQuery.set(query, problems);
  // without known tables a comparison is not possible
  if (declared.unresolved.some(({ subject }) => subject !== "environment")) return problems;
  const { tableAccesses, opaque } = reach(collection, evaluator, body, false);
  for (const node of opaque) {
    const message =
      `the tables of this SQL in ${query.name} are computed at run time: list all of them`;
    problems.push({ node, message, isMissed: declared.grants.length === 0 });
  }
  for (const { node, table, operation } of tableAccesses) {
    const name = printPublic(table);
    const grants = declared.grants.filter((grant) => printPublic(grant.table) === name);
    const isDeclared = grants.some(({ operations }) =>
      operation === undefined || operations.includes(operation)
    );
    if (isDeclared) continue;
    problems.push({
      node,
      isMissed: true,
      message: grants.length === 0
        ? `${query.name} uses table ${name}, which is missing in its tables`
        : `${query.name} needs ${operation} on table ${name}, which is missing in its tables`,
    });
  }
  return problems;
}

/** Formats a table name without `public`, the default schema. */
function printPublic({ schema, name }: TableName): string {
  return printTable(schema === "public" ? { name } : { schema, name });
}

function verb(operation: DatabaseOperation | undefined): string {
  return operation === undefined
    ? "used"
    : operation === DatabaseOperation.Select
    ? "read"
    : "written";
}

/** Collects findings with the functions that reach them. */
export interface Findings {
  add(node: ts.Node, message: string, functionName: string): void;
  /** Returns the findings, sorted by file, line and message. */
  list(): Finding[];
}

/**
 * Creates an empty list of findings.
 *
 * @param project The sources.
 */
export function createFindings(project: Project): Findings {
  const found = new Map<string, Finding & { functions: string[] }>();
  return {
    add(node, message, functionName): void {
      const file = project.getPath(node);
      const line = project.getLine(node);
      const key = `${file}\0${line}\0${message}`;
      const finding = found.get(key) ?? { file, line, message, functions: [] };
      if (!finding.functions.includes(functionName)) finding.functions.push(functionName);
      found.set(key, finding);
    },
    list: () =>
      [...found.values()].sort((a, b) =>
        compare(a.file, b.file) || a.line - b.line || compare(a.message, b.message)
      ),
  };
}

/** Compares strings independent of the locale. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
