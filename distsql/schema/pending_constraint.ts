import { readName } from "../../sql/sql_name.ts";
import type { ColumnClause, ColumnDefinition } from "../syntax/column_definition.ts";
import type { TableConstraint } from "../syntax/table_constraint.ts";
import {
  type DeclaredConstraint,
  type DeclaredTable,
  findObject,
  getKey,
  hasIndex,
} from "./declared_schema.ts";
import { columnsNamed } from "./expression_columns.ts";
import { chooseConstraintName, chooseKeyName, CONSTRAINT_LABELS } from "./names.ts";
import { readPart } from "./read_object.ts";
import { changeColumn, changeTable } from "./schema_draft.ts";
import { getTable, type PendingConstraint, type TableFold } from "./table_fold.ts";

/** Parses a REFERENCES clause; without columns it references the primary key. */
function readReferences(
  fold: TableFold,
  from: number,
  to: number,
): DeclaredConstraint["references"] {
  const { schema, reader } = fold;
  const at = reader.find("REFERENCES", from, to);
  if (at < 0) return undefined;
  const self = getTable(fold);
  const name = readName(reader, at + 1);
  const isSelf = name.name === self.name &&
    (name.schema === undefined || name.schema === self.schema);
  const table = isSelf ? self : findObject(schema.tables, name);
  if (table === undefined) return undefined;
  const columns = reader.key(name.end) === "("
    ? reader.listIn(name.end).map(([at]) => readPart(reader, at))
    : table.constraints.find((one) => one.kind === "primary_key")?.columns ?? [];
  return { table: getKey(table), columns };
}

/** Converts a table constraint; `undefined` for NOT NULL and for other elements. */
export function toPending(
  fold: TableFold,
  { kind, name, from, bodyFrom, to, columns }: TableConstraint,
): PendingConstraint | undefined {
  const { reader } = fold;
  if (kind === "not_null" || kind === "unknown") return undefined;
  const keys = columns.map((column) => column.name);
  const include = reader.find("INCLUDE", bodyFrom, to);
  const included = include < 0
    ? []
    : reader.listIn(include + 1).map(([at]) => readPart(reader, at));
  return {
    at: from,
    kind,
    name: name?.name,
    columns: keys,
    included,
    nameColumns: kind === "primary_key" ? [] : [...keys, ...included],
    references: readReferences(fold, bodyFrom, to),
    from: bodyFrom,
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
  fold: TableFold,
  column: ColumnDefinition,
): PendingConstraint[] {
  const { name } = column.name;
  const pending: PendingConstraint[] = [];
  for (const clause of column.clauses) {
    const kind = CLAUSE_KINDS[clause.kind];
    if (kind === undefined) continue;
    pending.push({
      at: clause.from,
      kind,
      name: clause.name?.name,
      columns: kind === "check" ? [] : [name],
      included: [],
      nameColumns: kind === "primary_key" ? [] : [name],
      references: readReferences(fold, clause.bodyFrom, clause.to),
      from: clause.bodyFrom,
      to: clause.to,
    });
  }
  return pending;
}

/** Adds the primary key's columns to a reference of a table to itself, once the key is known. */
function completeReferences(
  references: DeclaredConstraint["references"],
  table: DeclaredTable,
): DeclaredConstraint["references"] {
  if (references?.table !== getKey(table) || references.columns.length > 0) return references;
  const key = table.constraints.find(({ kind }) => kind === "primary_key");
  return { ...references, columns: key?.columns ?? [] };
}

/**
 * Adds the pending constraints to the table in order, each with its own or a generated name.
 *
 * @param fold The statement.
 * @param names Receives the generated names, by the position of the constraint.
 */
export function addConstraints(fold: TableFold, names: Map<number, string>): void {
  const { schema, reader, key } = fold;
  for (const one of fold.pending) {
    const table = schema.tables.get(key);
    if (table === undefined) return;
    const { kind, included, from, to } = one;
    const references = completeReferences(one.references, table);
    const known = new Set(table.columns.map((column) => column.name));
    const columns = kind === "check" ? columnsNamed(reader, from + 1, to, known) : one.columns;
    const checkNames = columns.length === 1 ? columns : [];
    const parts = {
      schema: table.schema,
      table: table.name,
      columns: kind === "check" ? checkNames : one.nameColumns,
      label: CONSTRAINT_LABELS[kind],
    };
    const name = one.name ?? (hasIndex(kind) ? chooseKeyName : chooseConstraintName)(schema, parts);
    if (one.name === undefined) names.set(one.at, name);
    const text = reader.text(from, to);
    const constraint = { name, kind, columns, included, references, text };
    const notNull = kind === "primary_key" ? columns : [];
    for (const column of notNull) changeColumn(schema, key, column, { notNull: true });
    changeTable(schema, key, ({ constraints }) => ({ constraints: [...constraints, constraint] }));
  }
}
