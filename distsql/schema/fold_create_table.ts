import { readName } from "../../sql/sql_name.ts";
import { readColumn } from "../syntax/column_definition.ts";
import { isTableConstraint, readTableConstraint } from "../syntax/table_constraint.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import { type DeclaredTable, findObject, getKey, hasIndex, withEntry } from "./declared_schema.ts";
import type { PendingConstraint } from "./change_table.ts";
import { addColumn } from "./fold_column.ts";
import { isRelationName } from "./names.ts";
import { addConstraints, finishTable, foldConstraint, type TableFold } from "./table_fold.ts";
import { toObjectName } from "./read_object.ts";
import { changeTable, type SchemaDraft } from "./schema_draft.ts";

/**
 * Drops the second of two unique keys on the same columns, as PostgreSQL does within one CREATE
 * TABLE.
 */
function mergeKeys(
  keys: readonly PendingConstraint[],
  reader: StatementReader,
): PendingConstraint[] {
  const merged: PendingConstraint[] = [];
  for (const key of keys) {
    const at = merged.findIndex((one) =>
      key.type === "unique" && one.type !== "exclude" &&
      one.columns.join("\0") === key.columns.join("\0") &&
      tail(one, reader) === tail(key, reader)
    );
    if (at < 0) merged.push(key);
    else if (merged[at].name === undefined && key.name !== undefined) {
      merged[at] = { ...merged[at], name: key.name };
    }
  }
  return merged;
}

/**
 * Returns the properties that distinguish two keys on the same columns: INCLUDE, NULLS NOT
 * DISTINCT, DEFERRABLE.
 */
function tail({ from, to }: PendingConstraint, reader: StatementReader): string {
  const words: string[] = [];
  for (let at = from + 1; at < to; at = reader.next(at)) {
    const key = reader.key(at);
    if (key === "KEY" || key === "(" || key === "") continue;
    words.push(key === "INCLUDE" ? reader.text(at, reader.next(at + 1)).toUpperCase() : key);
  }
  return words.filter((word) =>
    /^(?:INCLUDE|NULLS|NOT|DISTINCT|DEFERRABLE|INITIALLY|DEFERRED)/.test(word)
  ).join(" ");
}

/**
 * Adds the table of a CREATE TABLE. PostgreSQL generates the names of CHECKs first, then those of
 * the primary key, the unique keys and the foreign keys.
 *
 * @param schema The schema.
 * @param reader The statement.
 * @param at Position of the table's name, or of IF NOT EXISTS before it.
 * @param names Receives the generated names, by the position of the constraint.
 */
export function foldCreateTable(
  schema: SchemaDraft,
  reader: StatementReader,
  at: number,
  names: Map<number, string>,
): void {
  const nameAt = reader.skip(at, "IF", "NOT", "EXISTS");
  const written = readName(reader, nameAt);
  const open = written.end;
  const name = toObjectName(written);
  if (nameAt > at && isRelationName(schema, name.schema, name.name)) return;
  const hasColumns = reader.key(open) === "(";
  const table: DeclaredTable = {
    ...name,
    columns: [],
    constraints: [],
    indexes: [],
    statistics: [],
    isComplete: hasColumns && !reader.is(reader.next(open), "INHERITS"),
  };
  schema.tables = withEntry(schema.tables, table);
  if (!hasColumns) return;
  const fold: TableFold = { schema, reader, key: getKey(table), pending: [] };
  for (const [from, to] of reader.listIn(open)) {
    if (reader.key(from) === "LIKE") copyColumns(fold, from, to);
    else if (isTableConstraint(reader, from)) {
      foldConstraint(fold, readTableConstraint(reader, from, to));
    } else addColumn(fold, readColumn(reader, from, to));
  }
  const checks = fold.pending.filter((one) => one.type === "check");
  const keys = fold.pending.filter((one) => hasIndex(one.type))
    .toSorted((a, b) => Number(b.type === "primary_key") - Number(a.type === "primary_key"));
  const foreignKeys = fold.pending.filter((one) => one.type === "foreign_key");
  const pending = [...checks, ...mergeKeys(keys, reader), ...foreignKeys];
  addConstraints({ ...fold, pending }, names);
  finishTable(schema, fold.key);
}

/** Copies the columns of `LIKE other`; for an unknown table the result is incomplete. */
function copyColumns({ schema, reader, key }: TableFold, from: number, to: number): void {
  const source = findObject(schema.tables, readName(reader, from + 1));
  const including = new Set<string>();
  for (let at = from + 2; at < to; at++) {
    if (reader.is(at, "INCLUDING")) including.add(reader.key(at + 1));
  }
  const has = (what: string): boolean => including.has(what) || including.has("ALL");
  const columns = (source?.columns ?? []).map((column) => ({
    ...column,
    default: has("DEFAULTS") ? column.default : undefined,
    generated: has("GENERATED") ? column.generated : undefined,
    numbering: undefined,
    sequence: undefined,
    labelCheck: has("CONSTRAINTS") ? column.labelCheck : undefined,
  }));
  const checks = has("CONSTRAINTS")
    ? source?.constraints.filter((one) => one.type === "check") ?? []
    : [];
  const isWhole = source?.isComplete === true && !has("IDENTITY") && !has("INDEXES");
  changeTable(schema, key, (table) => ({
    columns: [...table.columns, ...columns],
    constraints: [...table.constraints, ...checks],
    isComplete: table.isComplete && isWhole,
  }));
}
