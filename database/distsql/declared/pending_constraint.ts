import type { StatementReader } from "../statement_reader.ts";
import type { ColumnClause, ColumnDefinition } from "../rules/column_definition.ts";
import { readTableConstraint } from "../rules/table_constraint.ts";
import {
  type DeclaredConstraint,
  type DeclaredSchema,
  type DeclaredTable,
  findObject,
  getKey,
  hasIndex,
  withEntry,
} from "./declared_schema.ts";
import { readStoredOrder } from "../enum_order/stored_order.ts";
import { columnsNamed } from "./expression_columns.ts";
import { chooseConstraintName, chooseKeyName } from "./names.ts";
import { readObject, readPart } from "./read_object.ts";

/** Constraint of a statement that has no name yet. */
export interface PendingConstraint {
  /** Start of its definition, where `CONSTRAINT name` would be written. */
  readonly at: number;
  readonly kind: DeclaredConstraint["kind"];
  readonly name?: string;
  /** Columns of a key; those of a CHECK are determined when the table is complete. */
  readonly columns: readonly string[];
  readonly included: readonly string[];
  /** Columns in a generated name. */
  readonly nameColumns: readonly string[];
  readonly references?: DeclaredConstraint["references"];
  /** Start of the definition without its name. */
  readonly from: number;
  readonly to: number;
}

/** Parses a REFERENCES clause; without columns it references the primary key. */
function readReferences(
  state: DeclaredSchema,
  reader: StatementReader,
  from: number,
  to: number,
  self: DeclaredTable,
): DeclaredConstraint["references"] {
  const at = reader.find("REFERENCES", from, to);
  if (at < 0) return undefined;
  const name = readObject(reader, at + 1);
  const isSelf = name.name === self.name &&
    (name.schema === undefined || name.schema === self.schema);
  const table = isSelf ? self : findObject(state.tables, name);
  if (table === undefined) return undefined;
  const columns = reader.key(name.end) === "("
    ? reader.list(name.end + 1, reader.closing(name.end)).map(([at]) => readPart(reader, at))
    : table.constraints.find((one) => one.kind === "primary_key")?.columns ?? [];
  return { table: getKey(table), columns };
}

/** Parses a table constraint; `undefined` for NOT NULL and for other elements. */
export function readPending(
  state: DeclaredSchema,
  reader: StatementReader,
  from: number,
  to: number,
  table: DeclaredTable,
): PendingConstraint | undefined {
  const read = readTableConstraint(reader, from, to);
  if (read.kind === "not_null" || read.kind === "unknown") return undefined;
  const keys = read.columns.map((column) => readPart(reader, column.end - 1));
  const include = reader.find("INCLUDE", read.bodyFrom, to);
  const included = include < 0 ? [] : reader.list(include + 2, reader.closing(include + 1))
    .map(([at]) => readPart(reader, at));
  return {
    at: from,
    kind: read.kind,
    name: read.name && readPart(reader, read.name.end - 1),
    columns: keys,
    included,
    nameColumns: read.kind === "primary_key" ? [] : [...keys, ...included],
    references: readReferences(state, reader, read.bodyFrom, to, table),
    from: read.bodyFrom,
    to,
  };
}

const CLAUSE_KINDS: Readonly<Partial<Record<ColumnClause["kind"], DeclaredConstraint["kind"]>>> = {
  check: "check",
  unique: "unique",
  primary_key: "primary_key",
  references: "foreign_key",
};

/** Parses the constraints in the clauses of a column. */
export function readColumnPending(
  state: DeclaredSchema,
  reader: StatementReader,
  column: ColumnDefinition,
  table: DeclaredTable,
): PendingConstraint[] {
  const name = readPart(reader, column.name.end - 1);
  const pending: PendingConstraint[] = [];
  for (const clause of column.clauses) {
    const kind = CLAUSE_KINDS[clause.kind];
    if (kind === undefined) continue;
    pending.push({
      at: clause.from,
      kind,
      name: clause.name && readPart(reader, clause.name.end - 1),
      columns: kind === "check" ? [] : [name],
      included: [],
      nameColumns: kind === "primary_key" ? [] : [name],
      references: readReferences(state, reader, clause.bodyFrom, clause.to, table),
      from: clause.bodyFrom,
      to: clause.to,
    });
  }
  return pending;
}

const LABELS: Readonly<Record<DeclaredConstraint["kind"], string>> = {
  primary_key: "pkey",
  unique: "key",
  check: "check",
  foreign_key: "fkey",
  exclude: "excl",
};

/**
 * Adds constraints to a table in order, each with its own or a generated name.
 *
 * @param state The schema, which contains the table.
 * @param key Key of the table.
 * @param pending The constraints.
 * @param reader The statement.
 * @param names Receives the generated names, by the position of the constraint.
 */
export function addConstraints(
  state: DeclaredSchema,
  key: string,
  pending: readonly PendingConstraint[],
  reader: StatementReader,
  names: Map<number, string>,
): DeclaredSchema {
  for (const one of pending) {
    const table = state.tables.get(key);
    if (table === undefined) return state;
    const known = new Set(table.columns.map((column) => column.name));
    const isCheck = one.kind === "check";
    const columns = isCheck ? columnsNamed(reader, one.from + 1, one.to, known) : one.columns;
    const checkNames = columns.length === 1 ? columns : [];
    const nameColumns = isCheck ? checkNames : one.nameColumns;
    const parts = {
      schema: table.schema,
      table: table.name,
      columns: nameColumns,
      label: LABELS[one.kind],
    };
    const name = one.name ??
      (hasIndex(one.kind) ? chooseKeyName : chooseConstraintName)(state, parts);
    if (one.name === undefined) names.set(one.at, name);
    const text = reader.text(one.from, one.to);
    const { kind, included, references } = one;
    const ordersBy = kind === "check"
      ? readStoredOrder(reader, state, table, one.from, one.to)
      : [];
    const constraint = { name, kind, columns, included, references, text, ordersBy };
    const notNull = one.kind === "primary_key"
      ? table.columns.map((column) =>
        columns.includes(column.name) ? { ...column, notNull: true } : column
      )
      : table.columns;
    const after = { ...table, columns: notNull, constraints: [...table.constraints, constraint] };
    state = { ...state, tables: withEntry(state.tables, after) };
  }
  return state;
}
