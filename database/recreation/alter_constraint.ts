import { deriveName, getName, readName } from "../distsql/sql_name.ts";
import {
  isNotValid,
  readTableConstraint,
  type TableConstraintKind,
} from "../distsql/rules/table_constraint.ts";
import type { StatementReader } from "../distsql/statement_reader.ts";
import { formatForeignKey, parseForeignKey, stripNotValid } from "./foreign_key.ts";
import { RecreationError } from "./recreation_error.ts";
import { readSql } from "./sql_text.ts";
import type {
  TableColumn,
  TableConstraint,
  TableConstraintType,
  TableSchema,
} from "./table_schema.ts";

function refuse(schema: TableSchema, why: string): RecreationError {
  return new RecreationError(`${schema.name}: ${why}`, { reason: "statement", table: schema.name });
}

/** The column of that name. */
export function findColumn(schema: TableSchema, name: string): TableColumn {
  const column = schema.columns.find((one) => one.name === name);
  if (column === undefined) {
    const names = schema.columns.map((one) => one.name).join(", ");
    throw refuse(schema, `there is no column ${JSON.stringify(name)}; there are ${names}`);
  }
  return column;
}

/** The constraint of that name. */
export function findConstraint(schema: TableSchema, name: string): TableConstraint {
  const constraint = schema.constraints.find((one) => one.name === name);
  if (constraint === undefined) {
    const names = schema.constraints.map((one) => one.name).join(", ") || "none";
    throw refuse(schema, `there is no constraint ${JSON.stringify(name)}; there are ${names}`);
  }
  return constraint;
}

/** PostgreSQL's word at the end of a constraint's name. */
const LABELS: Readonly<Record<TableConstraintType, string>> = {
  primary_key: "pkey",
  unique: "key",
  check: "check",
  foreign_key: "fkey",
  exclude: "excl",
};

/** Puts a constraint to the others, under PostgreSQL's name when it has none. */
export function pushConstraint(
  schema: TableSchema,
  constraint: Omit<TableConstraint, "name"> & { name?: string },
): void {
  const { type, columns } = constraint;
  if (type === "primary_key") {
    if (schema.constraints.some((one) => one.type === "primary_key")) {
      throw refuse(schema, "the table has a primary key: drop it in the same statement");
    }
    for (const name of columns) findColumn(schema, name).notNull = true;
  } else if (type === "unique" || type === "foreign_key") {
    for (const name of columns) findColumn(schema, name);
  }
  const taken = new Set([...schema.constraints, ...schema.indexes].map((one) => one.name));
  const joined = type === "primary_key" ? "" : columns.join("_");
  let name = constraint.name ?? deriveName(schema.name, joined, LABELS[type]);
  for (let i = 1; constraint.name === undefined && taken.has(name); i++) {
    name = deriveName(schema.name, joined, `${LABELS[type]}${i}`);
  }
  if (taken.has(name)) {
    throw refuse(schema, `there is a constraint or index ${JSON.stringify(name)} already`);
  }
  schema.constraints.push({ ...constraint, name });
}

const TYPES: Readonly<Partial<Record<TableConstraintKind, TableConstraintType>>> = {
  primary_key: "primary_key",
  unique: "unique",
  check: "check",
  foreign_key: "foreign_key",
  exclude: "exclude",
};

/** ADD constraint. */
export function addConstraint(
  schema: TableSchema,
  reader: StatementReader,
  from: number,
  to: number,
): void {
  const read = readTableConstraint(reader, from, to);
  const name = read.name?.name;
  if (read.kind === "not_null") {
    const column = findColumn(schema, read.columns[0].name);
    column.notNull = true;
    if (name !== undefined) column.notNullName = name;
    return;
  }
  const type = TYPES[read.kind];
  if (type === undefined) throw refuse(schema, "what is added is no constraint that is known");
  const validated = !isNotValid(reader, read);
  const text = stripNotValid(reader.text(read.bodyFrom, to));
  if (read.usesIndex) return takeOverIndex(schema, reader, read.bodyFrom, to, type, name);
  if (type === "foreign_key") {
    const parts = parseForeignKey(text);
    const references = { schema: parts.schema, table: parts.table, columns: parts.targets };
    const definition = formatForeignKey(parts);
    return pushConstraint(schema, {
      name,
      type,
      columns: parts.columns,
      definition,
      validated,
      references,
    });
  }
  const columns = type === "check"
    ? columnsIn(schema, text)
    : read.columns.map((column) => column.name);
  pushConstraint(schema, { name, type, columns, definition: text, validated });
}

/** ADD UNIQUE or PRIMARY KEY USING INDEX: the index goes, the constraint makes one of its own. */
function takeOverIndex(
  schema: TableSchema,
  reader: StatementReader,
  from: number,
  to: number,
  type: TableConstraintType,
  name: string | undefined,
): void {
  const indexAt = reader.find(new Set(["INDEX"]), from, to) + 1;
  const indexName = readName(reader, indexAt);
  const index = schema.indexes.find((one) => one.name === indexName.name);
  if (index === undefined || !index.unique || index.keys === undefined) {
    throw refuse(
      schema,
      `${JSON.stringify(indexName.name)} is no unique index of plain columns over all rows`,
    );
  }
  schema.indexes.splice(schema.indexes.indexOf(index), 1);
  const list = index.definition.slice(index.definition.indexOf("("));
  const definition = `${type === "primary_key" ? "PRIMARY KEY" : "UNIQUE"} ${list} ${
    reader.text(indexName.end, to)
  }`
    .trim();
  pushConstraint(schema, {
    name: name ?? index.name,
    type,
    columns: index.keys,
    definition,
    validated: true,
  });
}

/** The columns whose names stand in an expression. */
export function columnsIn(schema: TableSchema, text: string): string[] {
  const reader = readSql(text);
  const names = new Set<string>();
  for (let at = 0; at < reader.size; at++) {
    if (reader.isName(at) && reader.key(at + 1) !== "(" && reader.key(at - 1) !== "::") {
      names.add(getName(reader.token(at)!));
    }
  }
  return schema.columns.map((column) => column.name).filter((name) => names.has(name));
}
