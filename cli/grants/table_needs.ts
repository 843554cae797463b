import { groupBy } from "../../core/lists/group_by.ts";
import { DatabaseOperation } from "../../database/queries/table_permission.ts";
import { compareText } from "../project/findings.ts";
import type { SequencePrivilege } from "./sql_access.ts";
import { printTable, type TableName } from "./table_name.ts";

/** What a definition of a function needs of a table. */
export interface TableNeed {
  readonly table: TableName;
  readonly operations: readonly DatabaseOperation[];
  /** Operations that are limited to columns, besides. */
  readonly columns?: readonly ColumnGrant[];
  /** Sequences of the table's columns, which an INSERT uses. */
  readonly sequences?: readonly TableName[];
  /** `listNotes (src/queries/notes.ts)` */
  readonly reason: string;
}

/** What a definition of a function needs of a sequence that SQL names. */
export interface SequenceNeed {
  readonly sequence: TableName;
  readonly privilege: SequencePrivilege;
  readonly reason: string;
}

/** An operation that is limited to some columns. */
export interface ColumnGrant {
  readonly operation: DatabaseOperation;
  /** Column names in the database, sorted. */
  readonly columns: readonly string[];
}

/** The grants of a function on one table, and the queries that need them. */
export interface TableGrant extends Omit<TableNeed, "reason"> {
  /** In the order SELECT, INSERT, UPDATE, DELETE. */
  readonly operations: readonly DatabaseOperation[];
  /** Sequences used by inserts. */
  readonly sequences: readonly TableName[];
  /** `listNotes (src/queries/notes.ts)`, sorted. */
  readonly neededBy: readonly string[];
}

/** The grants of a function on one sequence, and the SQL that needs them. */
export interface SequenceGrant {
  readonly sequence: TableName;
  /** Sorted. */
  readonly privileges: readonly SequencePrivilege[];
  /** `nextval (src/queries/orders.ts)`, sorted. */
  readonly neededBy: readonly string[];
}

const ORDER = [
  DatabaseOperation.Select,
  DatabaseOperation.Insert,
  DatabaseOperation.Update,
  DatabaseOperation.Delete,
];

/** Returns the operations that a declaration names, `All` as the four. */
export function listOperations(operations: readonly DatabaseOperation[]): DatabaseOperation[] {
  return operations.includes(DatabaseOperation.All) ? ORDER : [...operations];
}

/** Merges the needs of a function to one grant for each table, sorted by table. */
export function mergeTableNeeds(needs: readonly TableNeed[]): TableGrant[] {
  const byTable = groupBy(needs, ({ table }) => printTable(table));
  return [...byTable].sort(([a], [b]) => compareText(a, b)).map(([, same]): TableGrant => {
    const whole = new Set(same.flatMap(({ operations }) => listOperations(operations)));
    const limits = same.flatMap(({ columns = [] }) => columns);
    const columns = ORDER.filter((operation) => !whole.has(operation)).flatMap((operation) => {
      const limited = limits.filter((limit) => limit.operation === operation);
      if (limited.length === 0) return [];
      const names = new Set(limited.flatMap((limit) => limit.columns));
      return [{ operation, columns: [...names].sort(compareText) }];
    });
    const sequences = new Map(
      same.flatMap((need) => need.sequences ?? []).map((each) => [printTable(each), each]),
    );
    return {
      table: same[0].table,
      operations: ORDER.filter((operation) =>
        whole.has(operation) || columns.some((each) => each.operation === operation)
      ),
      ...columns.length > 0 && { columns },
      sequences: [...sequences].sort(([a], [b]) => compareText(a, b)).map(([, each]) => each),
      neededBy: [...new Set(same.map(({ reason }) => reason))].sort(compareText),
    };
  });
}

/** Merges the needs of a function to one grant for each sequence, sorted by name. */
export function mergeSequenceNeeds(needs: readonly SequenceNeed[]): SequenceGrant[] {
  const bySequence = groupBy(needs, ({ sequence }) => printTable(sequence));
  return [...bySequence].sort(([a], [b]) => compareText(a, b)).map(([, same]) => ({
    sequence: same[0].sequence,
    privileges: [...new Set(same.map(({ privilege }) => privilege))].sort(),
    neededBy: [...new Set(same.map(({ reason }) => reason))].sort(compareText),
  }));
}
