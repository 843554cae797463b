import { isTableConstraint } from "../rules/table_constraint.ts";
import type { StatementReader } from "../statement_reader.ts";
import {
  type DeclaredSchema,
  type DeclaredTable,
  findObject,
  getKey,
  hasIndex,
  withEntry,
} from "./declared_schema.ts";
import { addColumn } from "./fold_column.ts";
import { isRelationName } from "./names.ts";
import { addConstraints, type PendingConstraint, readPending } from "./pending_constraint.ts";
import { finishTable } from "./finish_table.ts";
import { readObject, readPart, toObjectName } from "./read_object.ts";

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
      key.kind === "unique" && one.kind !== "exclude" &&
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
 * @param state The schema before.
 * @param reader The statement.
 * @param at Position of the table's name, or of IF NOT EXISTS before it.
 * @param names Receives the generated names, by the position of the constraint.
 */
export function foldCreateTable(
  state: DeclaredSchema,
  reader: StatementReader,
  at: number,
  names: Map<number, string>,
): DeclaredSchema {
  const nameAt = reader.skip(at, "IF", "NOT", "EXISTS");
  const written = readObject(reader, nameAt);
  const name = toObjectName(written);
  if (nameAt > at && isRelationName(state, name.schema, name.name)) return state;
  const isPlain = reader.key(written.end) === "(" &&
    !reader.is(reader.next(written.end), "INHERITS");
  const table: DeclaredTable = {
    ...name,
    columns: [],
    constraints: [],
    indexes: [],
    statistics: [],
    isComplete: isPlain,
  };
  const key = getKey(table);
  state = { ...state, tables: withEntry(state.tables, table) };
  if (reader.key(written.end) !== "(") return state;
  const pending: PendingConstraint[] = [];
  for (const [from, to] of reader.list(written.end + 1, reader.closing(written.end))) {
    if (reader.key(from) === "LIKE") state = copyColumns(state, key, reader, from, to);
    else if (isTableConstraint(reader, from)) {
      const constraint = readPending(state, reader, from, to, table);
      if (constraint) pending.push(constraint);
      else state = setNotNull(state, key, readPart(reader, to - 1));
    } else {
      const added = addColumn(state, key, reader, from, to);
      state = added.state;
      pending.push(...added.pending);
    }
  }
  const checks = pending.filter((one) => one.kind === "check");
  const keys = pending.filter((one) => hasIndex(one.kind))
    .toSorted((a, b) => Number(b.kind === "primary_key") - Number(a.kind === "primary_key"));
  const foreignKeys = pending.filter((one) => one.kind === "foreign_key");
  const ordered = [...checks, ...mergeKeys(keys, reader), ...foreignKeys];
  return finishTable(addConstraints(state, key, ordered, reader, names), key);
}

function setNotNull(state: DeclaredSchema, key: string, column: string): DeclaredSchema {
  const table = state.tables.get(key)!;
  const columns = table.columns.map((one) => one.name === column ? { ...one, notNull: true } : one);
  return { ...state, tables: withEntry(state.tables, { ...table, columns }) };
}

/** Copies the columns of `LIKE other`; for an unknown table the result is incomplete. */
function copyColumns(
  state: DeclaredSchema,
  key: string,
  reader: StatementReader,
  from: number,
  to: number,
): DeclaredSchema {
  const table = state.tables.get(key)!;
  const source = findObject(state.tables, readObject(reader, from + 1));
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
    ? source?.constraints.filter((one) => one.kind === "check") ?? []
    : [];
  const after: DeclaredTable = {
    ...table,
    columns: [...table.columns, ...columns],
    constraints: [...table.constraints, ...checks],
    isComplete: table.isComplete && source !== undefined && source.isComplete && !has("IDENTITY") &&
      !has("INDEXES"),
  };
  return { ...state, tables: withEntry(state.tables, after) };
}
