import {
  type DeclaredColumn,
  type DeclaredSchema,
  type DeclaredTable,
  mapValues,
  withEntry,
} from "./declared_schema.ts";

/** Schema while a statement is applied to it. Its maps and their values are replaced, not changed. */
export type SchemaDraft = { -readonly [Kind in keyof DeclaredSchema]: DeclaredSchema[Kind] };

/** Changes some properties of a table; ignores an unknown one. */
export function changeTable(
  schema: SchemaDraft,
  key: string,
  change: (table: DeclaredTable) => Partial<DeclaredTable>,
): void {
  const table = schema.tables.get(key);
  if (table !== undefined) schema.tables = withEntry(schema.tables, { ...table, ...change(table) });
}

/** Changes some properties of a column. */
export function changeColumn(
  schema: SchemaDraft,
  key: string,
  name: string,
  change: Partial<DeclaredColumn>,
): void {
  changeTable(schema, key, ({ columns }) => ({
    columns: columns.map((column) => column.name === name ? { ...column, ...change } : column),
  }));
}

/** Replaces the columns of all tables. */
export function changeAllColumns(
  schema: SchemaDraft,
  change: (column: DeclaredColumn) => DeclaredColumn,
): void {
  schema.tables = mapValues(schema.tables, (table) => ({
    ...table,
    columns: table.columns.map(change),
  }));
}
