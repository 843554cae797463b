import { DatabaseOperation, type TablePermission } from "../../database/table_permission.ts";
import { AUTH_SCHEMA_MAPPING } from "../../auth/schema.ts";
import { AUTH_TABLES, getAuthOperations, getNeededColumns, needsTable } from "./auth_tables.ts";
import { listMountedRoutes, MAIL_ROUTES } from "./auth_route_tables.ts";
import { JOB_OPERATIONS, JOBS_TABLE } from "./collect_jobs.ts";
import type { Collection } from "./collect.ts";
import { compareText } from "./findings.ts";
import type { Project } from "./project.ts";
import type { EffectByKind, Reached } from "./reached.ts";
import { readStatementTables } from "./statement_tables.ts";
import { getSerialColumns } from "./serial_columns.ts";
import { type DeclaredColumns, getAuthColumns, readTableColumns } from "./table_columns.ts";
import { type Evaluator, parseTable, printTable, type TableName } from "./values.ts";

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

const ORDER = [
  DatabaseOperation.Select,
  DatabaseOperation.Insert,
  DatabaseOperation.Update,
  DatabaseOperation.Delete,
];

interface Entry {
  readonly table: TableName;
  /** Operations on the whole table. */
  readonly operations: Set<DatabaseOperation>;
  readonly columns: Map<DatabaseOperation, Set<string>>;
  readonly sequences: Map<string, TableName>;
  readonly neededBy: Set<string>;
}

/**
 * Returns the grants of a function, sorted by table.
 *
 * @param extra Permissions of the configuration.
 */
export function getTableGrants(
  project: Project,
  collection: Collection,
  evaluator: Evaluator,
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
  const statements = reached.list("query").flatMap(({ query }) =>
    query.tables === undefined ? readStatementTables(collection, evaluator, query).grants : []
  );
  for (
    const { query, table, operations, definition } of [...reached.list("grant"), ...statements]
  ) {
    const { name, node } = collection.queries[query];
    const entry = add(table, operations, `${name} (${project.getPath(node)})`);
    if (definition === undefined || !operations.includes(DatabaseOperation.Insert)) continue;
    for (const column of getSerialColumns(definition)) {
      const sequence = { schema: table.schema, name: `${table.name}_${column}_seq` };
      entry.sequences.set(sequence.name, sequence);
    }
  }
  const authTables = reached.getAuthTables();
  const hiddenFields = reached.getHiddenFields();
  for (const { need, why, node, routes, isCalled } of reached.list("auth")) {
    const patterns = reached.has("auth-hooks") ? undefined : routes;
    if (need === "routes" && reached.has("auth-mails") && mayMail(patterns)) {
      add(JOBS_TABLE, JOB_OPERATIONS.enqueue, `mails of ${why} (${project.getPath(node)})`);
    }
    const needed = Object.entries(
      getAuthOperations(need, authTables.keys(), {
        hasLimits: reached.has("auth-limits") && isCalled !== true,
        isExtended: reached.has("auth-extended"),
        patterns,
      }),
    );
    for (const [model, operations] of needed) {
      if (operations.length === 0) continue;
      const known = AUTH_TABLES[model];
      for (const authTable of authTables.get(model) ?? (known ? [{ table: known }] : [])) {
        const declared = readAuthTableColumns(evaluator, model, authTable);
        if (!needsTable(need, model, declared)) continue;
        const entry = add(authTable.table, [], `${why} (${project.getPath(node)})`);
        for (const operation of operations) {
          const columns = declared &&
            getNeededColumns(need, model, operation, declared, hiddenFields);
          addColumns(entry, operation, columns);
        }
      }
    }
  }
  for (const { need, why, node } of reached.list("jobs")) {
    add(JOBS_TABLE, JOB_OPERATIONS[need], `${why} (${project.getPath(node)})`);
  }
  for (const { table, operations } of extra) {
    add(parseTable(table), operations, "permissions.functions in trellis.config.ts");
  }
  return [...tables].sort(([a], [b]) => compareText(a, b)).map(([, entry]) => toGrant(entry));
}

/** Checks whether the mounted routes can send mails. */
function mayMail(patterns: readonly string[] | undefined): boolean {
  return patterns === undefined ||
    listMountedRoutes(patterns).some((route) => MAIL_ROUTES.includes(route));
}

/** Adds an operation on some columns, or on the whole table. */
function addColumns(
  entry: Entry,
  operation: DatabaseOperation,
  columns: readonly string[] | undefined,
): void {
  if (columns === undefined) return void entry.operations.add(operation);
  entry.columns.set(operation, new Set([...entry.columns.get(operation) ?? [], ...columns]));
}

function toGrant({ table, operations, columns, sequences, neededBy }: Entry): TableGrant {
  const limited = ORDER.filter((operation) => columns.has(operation) && !operations.has(operation));
  return {
    table,
    operations: ORDER.filter((operation) => operations.has(operation) || columns.has(operation)),
    ...limited.length > 0 && {
      columns: limited.map((operation) => ({
        operation,
        columns: [...columns.get(operation)!].sort(compareText),
      })),
    },
    sequences: [...sequences].sort(([a], [b]) => compareText(a, b)).map(([, sequence]) => sequence),
    neededBy: [...neededBy].sort(compareText),
  };
}

/** Returns the columns of an auth table; `undefined` if they cannot all be determined. */
function readAuthTableColumns(
  evaluator: Evaluator,
  model: string,
  { table, definition }: Pick<EffectByKind<"auth-table">, "table" | "definition">,
): DeclaredColumns | undefined {
  if (definition !== undefined) return readTableColumns(evaluator, definition);
  if (!Object.hasOwn(AUTH_SCHEMA_MAPPING, model)) return undefined;
  return table === AUTH_TABLES[model] ||
      table.name === AUTH_TABLES[model]?.name && table.schema === undefined
    ? getAuthColumns(model as Parameters<typeof getAuthColumns>[0])
    : undefined;
}
