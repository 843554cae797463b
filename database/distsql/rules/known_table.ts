import {
  type DeclaredColumn,
  type DeclaredTable,
  findObject,
} from "../declared/declared_schema.ts";
import { readObject } from "../declared/read_object.ts";
import type { StatementReader } from "../statement_reader.ts";
import type { StatementTranslation } from "../translation.ts";
import { isJsonType } from "./column_type.ts";

/**
 * Finds what earlier statements declared about a table.
 *
 * @param reader The statement.
 * @param at Where the table's name is.
 * @param t The translation, which knows the earlier statements.
 * @returns The table before the statement; `undefined` when no earlier statement declared it.
 */
export function findTable(
  reader: StatementReader,
  at: number,
  t: StatementTranslation,
): DeclaredTable | undefined {
  return findObject(t.before.tables, readObject(reader, at));
}

/** Finds a column of a table that earlier statements declared. */
export function findColumn(
  table: DeclaredTable | undefined,
  name: string,
): DeclaredColumn | undefined {
  return table?.columns.find((column) => column.name === name);
}

/** Whether a constraint is the table's primary key; of a table that is not known, what its name says. */
export function isPrimaryKey(table: DeclaredTable | undefined, name: string): boolean {
  const found = table?.constraints.find((constraint) => constraint.name === name);
  return found === undefined
    ? table === undefined && /_pkey$|_pk$/.test(name)
    : found.kind === "primary_key";
}

/** Whether a column is in the primary key of its table. */
export function isInPrimaryKey(table: DeclaredTable | undefined, column: string): boolean {
  return table?.constraints.some(({ kind, columns }) =>
    kind === "primary_key" && columns.includes(column)
  ) === true;
}

/** Whether an index or a key of the table has a column as one of its keys. */
export function isKey(table: DeclaredTable | undefined, column: string): boolean {
  if (table === undefined) return false;
  const isOfConstraint = table.constraints.some(({ kind, columns }) =>
    (kind === "primary_key" || kind === "unique") && columns.includes(column)
  );
  return isOfConstraint || table.indexes.some(({ columns }) => columns.includes(column));
}

/** Refuses columns of a known table that cannot be keys. */
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
