import type { StatementReader } from "../../sql/statement_reader.ts";
import type { TableConstraint } from "../syntax/table_constraint.ts";
import {
  addConstraint,
  type PendingConstraint,
  readConstraint,
  takeOverIndex,
} from "./change_table.ts";
import {
  type DeclaredColumn,
  type DeclaredTable,
  DEFAULT_SCHEMA,
  findObject,
  hasIndex,
} from "./declared_schema.ts";
import { pointForeignKey, referencesItself } from "./foreign_key.ts";
import { chooseConstraintName, chooseKeyName, chooseName } from "./names.ts";
import { changeTable, type SchemaDraft } from "./schema_draft.ts";

/** CREATE TABLE or ALTER TABLE that is applied to a schema. */
export interface TableFold {
  /** Schema, which is changed. */
  readonly schema: SchemaDraft;
  /** The statement. */
  readonly reader: StatementReader;
  /** Key of the table. */
  readonly key: string;
  /** Receives the constraints, which get their names when all of them are known. */
  readonly pending: PendingConstraint[];
}

/** Returns the table in its current state. */
export function getTable({ schema, key }: TableFold): DeclaredTable {
  return schema.tables.get(key)!;
}

/** Adds a table constraint to the pending ones; NOT NULL is applied at once. */
export function foldConstraint(fold: TableFold, constraint: TableConstraint): void {
  const { reader, pending } = fold;
  const table = getTable(fold);
  if (constraint.kind === "not_null") {
    const column = table.columns.find(({ name }) => name === constraint.columns[0].name);
    if (column !== undefined) column.notNull = true;
    return;
  }
  const added = constraint.usesIndex
    ? takeOverIndex(table, reader, constraint)
    : readConstraint(reader, constraint);
  if (added !== undefined) pending.push(added);
}

/** Completes a foreign key: with the schema, and with the primary key if it names no columns. */
function complete(fold: TableFold, one: PendingConstraint): PendingConstraint {
  if (one.references === undefined) return one;
  const self = getTable(fold);
  const { schema, table, columns } = one.references;
  const target = referencesItself({ schema, table }, self)
    ? self
    : findObject(fold.schema.tables, { schema, name: table });
  const key = target?.constraints.find(({ type }) => type === "primary_key");
  const references = {
    schema: target?.schema ?? schema ?? DEFAULT_SCHEMA,
    table,
    columns: columns.length > 0 ? columns : key?.columns ?? [],
  };
  return { ...one, references, definition: pointForeignKey(one.definition, references) };
}

/**
 * Adds the pending constraints to the table in order, each with its own or a generated name.
 *
 * @param fold The statement.
 * @param names Receives the generated names, by the position of the constraint.
 */
export function addConstraints(fold: TableFold, names: Map<number, string>): void {
  const { schema, reader } = fold;
  for (const one of fold.pending) {
    const table = getTable(fold);
    const choose = hasIndex(one.type) ? chooseKeyName : chooseConstraintName;
    const name = addConstraint(
      table,
      reader,
      complete(fold, one),
      (parts) => choose(schema, { ...parts, schema: table.schema }),
    );
    if (one.name === undefined) names.set(one.at, name);
  }
}

function lacksCheckName(column: DeclaredColumn): boolean {
  return column.enum !== undefined && column.labelCheck === undefined;
}

/**
 * Names the CHECKs of a table's enum columns that have none yet: `table_column_enum`, with a number
 * if a constraint has that name.
 */
export function finishTable(schema: SchemaDraft, key: string): void {
  if (!schema.tables.get(key)?.columns.some(lacksCheckName)) return;
  changeTable(schema, key, (table) => {
    const taken = new Set([
      ...table.constraints.map((one) => one.name),
      ...table.columns.flatMap((one) => one.labelCheck ?? []),
    ]);
    const columns = table.columns.map((column) => {
      if (!lacksCheckName(column)) return column;
      const parts = { table: table.name, columns: [column.name], label: "enum" };
      const name = chooseName(parts, (name) => taken.has(name));
      taken.add(name);
      return { ...column, labelCheck: name };
    });
    return { columns };
  });
}
