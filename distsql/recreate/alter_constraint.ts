import { columnsNamed } from "../schema/expression_columns.ts";
import { chooseName, CONSTRAINT_LABELS } from "../schema/names.ts";
import { readName } from "../../sql/sql_name.ts";
import { isNotValid, type TableConstraint as Constraint } from "../syntax/table_constraint.ts";
import { parseStatement, type StatementReader } from "../../sql/statement_reader.ts";
import { formatForeignKey, parseForeignKey, stripNotValid } from "../schema/foreign_key.ts";
import { createStatementError } from "./recreation_error.ts";
import type {
  TableColumn,
  TableConstraint,
  TableConstraintType,
  TableSchema,
} from "../schema/table_schema.ts";

/** Table that an ALTER TABLE changes. */
export interface TableChange {
  /** The table; changed in place. */
  readonly schema: TableSchema;
  /** The statement. */
  readonly reader: StatementReader;
  /** True if USING also converts values whose type stays the same. */
  readonly convertsAlways: boolean;
}

/** Returns the column with that name. */
export function findColumn(schema: TableSchema, name: string): TableColumn {
  const column = schema.columns.find((one) => one.name === name);
  if (column === undefined) {
    const names = schema.columns.map((one) => one.name).join(", ");
    throw createStatementError(
      schema,
      `column ${JSON.stringify(name)} does not exist; the table has ${names}`,
    );
  }
  return column;
}

/** Returns the constraint with that name. */
export function findConstraint(schema: TableSchema, name: string): TableConstraint {
  const constraint = schema.constraints.find((one) => one.name === name);
  if (constraint === undefined) {
    const names = schema.constraints.map((one) => one.name).join(", ") || "none";
    throw createStatementError(
      schema,
      `constraint ${JSON.stringify(name)} does not exist; the table has ${names}`,
    );
  }
  return constraint;
}

/** Adds a constraint, with PostgreSQL's generated name if it has none. */
export function pushConstraint(
  schema: TableSchema,
  constraint: Omit<TableConstraint, "name"> & { name?: string },
): void {
  const { type, columns } = constraint;
  if (type === "primary_key") {
    if (schema.constraints.some((one) => one.type === "primary_key")) {
      throw createStatementError(
        schema,
        "the table already has a primary key: drop it in the same statement",
      );
    }
    for (const name of columns) findColumn(schema, name).notNull = true;
  } else if (type === "unique" || type === "foreign_key") {
    for (const name of columns) findColumn(schema, name);
  }
  const taken = new Set([...schema.constraints, ...schema.indexes].map((one) => one.name));
  const parts = {
    table: schema.name,
    columns: type === "primary_key" ? [] : columns,
    label: CONSTRAINT_LABELS[type],
  };
  const name = constraint.name ?? chooseName(parts, (name) => taken.has(name));
  if (taken.has(name)) {
    throw createStatementError(
      schema,
      `a constraint or index ${JSON.stringify(name)} already exists`,
    );
  }
  schema.constraints.push({ ...constraint, name });
}

/**
 * Adds a foreign key.
 *
 * @param schema The table.
 * @param text Its definition, without name and NOT VALID.
 * @param facts Its name, and whether existing rows are validated.
 * @param column The column, if the definition is part of one.
 */
export function pushForeignKey(
  schema: TableSchema,
  text: string,
  facts: { readonly name: string | undefined; readonly validated: boolean },
  column?: string,
): void {
  const parts = parseForeignKey(text, column);
  pushConstraint(schema, {
    ...facts,
    type: "foreign_key",
    columns: parts.columns,
    definition: formatForeignKey(parts),
    references: { schema: parts.schema, table: parts.table, columns: parts.targets },
  });
}

/** Applies ADD constraint. */
export function addConstraint({ schema, reader }: TableChange, read: Constraint): void {
  const { to } = read;
  const name = read.name?.name;
  if (read.kind === "not_null") {
    const column = findColumn(schema, read.columns[0].name);
    column.notNull = true;
    if (name !== undefined) column.notNullName = name;
    return;
  }
  const type = read.kind;
  if (type === "unknown") {
    throw createStatementError(schema, "the constraint to add cannot be parsed");
  }
  const validated = !isNotValid(reader, read);
  const text = stripNotValid(reader.text(read.bodyFrom, to));
  if (read.usesIndex) return takeOverIndex(schema, reader, read, type);
  if (type === "foreign_key") return pushForeignKey(schema, text, { name, validated });
  const columns = type === "check"
    ? columnsIn(schema, text)
    : read.columns.map((column) => column.name);
  pushConstraint(schema, { name, type, columns, definition: text, validated });
}

/** Applies ADD UNIQUE or PRIMARY KEY USING INDEX: the constraint replaces the index. */
function takeOverIndex(
  schema: TableSchema,
  reader: StatementReader,
  { bodyFrom, to, name }: Constraint,
  type: TableConstraintType,
): void {
  const indexAt = reader.find("INDEX", bodyFrom, to) + 1;
  const indexName = readName(reader, indexAt);
  const index = schema.indexes.find((one) => one.name === indexName.name);
  if (index === undefined || !index.unique || index.keys === undefined) {
    throw createStatementError(
      schema,
      `${JSON.stringify(indexName.name)} is not a unique index over plain columns and all rows`,
    );
  }
  schema.indexes.splice(schema.indexes.indexOf(index), 1);
  const list = index.definition.slice(index.definition.indexOf("("));
  const kind = type === "primary_key" ? "PRIMARY KEY" : "UNIQUE";
  const definition = `${kind} ${list} ${reader.text(indexName.end, to)}`.trim();
  pushConstraint(schema, {
    name: name?.name ?? index.name,
    type,
    columns: index.keys,
    definition,
    validated: true,
  });
}

/** Returns the columns whose names occur in an expression. */
export function columnsIn(schema: TableSchema, text: string): string[] {
  const reader = parseStatement(text);
  const names = new Set(schema.columns.map((column) => column.name));
  return columnsNamed(reader, 0, reader.size, names);
}
