import { readName } from "../../../sql/sql_name.ts";
import {
  type DeclaredColumn,
  type DeclaredTable,
  findObject,
} from "../../schema/declared_schema.ts";
import type { StatementReader } from "../../../sql/statement_reader.ts";
import type { StatementTranslation } from "../context/translation.ts";
import { isJsonType } from "./column_type.ts";

/**
 * Finds the declaration of a table by earlier statements.
 *
 * @param reader The statement.
 * @param at Position of the table's name.
 * @param t The translation, which has the declarations.
 * @returns The table before the statement; `undefined` if no earlier statement declared it.
 */
export function findTable(
  reader: StatementReader,
  at: number,
  t: StatementTranslation,
): DeclaredTable | undefined {
  return findObject(t.before.tables, readName(reader, at));
}

/** Finds a column of a declared table. */
export function findColumn(
  table: DeclaredTable | undefined,
  name: string,
): DeclaredColumn | undefined {
  return table?.columns.find((column) => column.name === name);
}

/** Checks whether a constraint is the table's primary key; for an unknown table, by its name. */
export function isPrimaryKey(table: DeclaredTable | undefined, name: string): boolean {
  const found = table?.constraints.find((constraint) => constraint.name === name);
  return found === undefined
    ? table === undefined && /_pkey$|_pk$/.test(name)
    : found.type === "primary_key";
}

/** Checks whether a column is part of its table's primary key. */
export function isInPrimaryKey(table: DeclaredTable | undefined, column: string): boolean {
  return table?.constraints.some(({ type, columns }) =>
    type === "primary_key" && columns.includes(column)
  ) === true;
}

/** Checks whether a column is a key of an index or constraint of the table. */
export function isKey(table: DeclaredTable | undefined, column: string): boolean {
  if (table === undefined) return false;
  const isOfConstraint = table.constraints.some(({ type, columns }) =>
    (type === "primary_key" || type === "unique") && columns.includes(column)
  );
  return isOfConstraint || table.indexes.some(({ columns }) => columns.includes(column));
}

/** Rejects columns of a known table that cannot be keys. */
export function refuseJsonKeys(
  table: DeclaredTable | undefined,
  columns: readonly string[],
  t: StatementTranslation,
): void {
  for (const name of columns) {
    const column = findColumn(table, name);
    const domain = column?.domain === undefined ? undefined : t.before.domains.get(column.domain);
    if (column === undefined || !isJsonType(domain?.type ?? column.type)) continue;
    t.refuse("index-json-key", `column ${name} of type ${column.type} in a key`, column.type);
  }
}
