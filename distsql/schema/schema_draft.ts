import { removeColumn } from "./change_table.ts";
import {
  type DeclaredColumn,
  type DeclaredSchema,
  type DeclaredSequence,
  type DeclaredTable,
  getKey,
  hasIndex,
  isReferenceTo,
  mapValues,
  type ObjectName,
  type ViewSource,
  withEntry,
  withoutEntries,
} from "./declared_schema.ts";
import { isSameSet, pointForeignKey } from "./foreign_key.ts";
import type { TableConstraint } from "./table_schema.ts";

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

type References = NonNullable<TableConstraint["references"]>;

/** Changes the foreign keys that reference a table. */
function changeReferences(
  schema: SchemaDraft,
  key: string,
  change: (references: References) => References,
): void {
  const changeOne = (one: TableConstraint): TableConstraint => {
    if (!isReferenceTo(key, one)) return one;
    const references = change(one.references!);
    return { ...one, references, definition: pointForeignKey(one.definition, references) };
  };
  schema.tables = mapValues(
    schema.tables,
    (table) =>
      table.constraints.length === 0
        ? table
        : { ...table, constraints: table.constraints.map(changeOne) },
  );
}

/** Changes what views read of a relation. */
function changeSources(
  schema: SchemaDraft,
  relation: string,
  change: (source: ViewSource) => ViewSource,
): void {
  schema.views = mapValues(
    schema.views,
    (view) =>
      view.sources.some((source) => source.relation === relation)
        ? {
          ...view,
          sources: view.sources.map((one) => one.relation === relation ? change(one) : one),
        }
        : view,
  );
}

/** Changes the owner of the sequences that a table owns. */
function changeOwners(
  schema: SchemaDraft,
  key: string,
  change: (column: string) => DeclaredSequence["ownedBy"],
): void {
  schema.sequences = mapValues(
    schema.sequences,
    (one) => one.ownedBy?.table === key ? { ...one, ownedBy: change(one.ownedBy.column) } : one,
  );
}

/** Moves a table to another key, and updates foreign keys, views and sequences. */
function rekeyTable(schema: SchemaDraft, key: string, name: ObjectName): void {
  const after = getKey(name);
  const table = schema.tables.get(key)!;
  schema.tables = withEntry(withoutEntries(schema.tables, [key]), { ...table, ...name });
  changeReferences(
    schema,
    key,
    ({ columns }) => ({ schema: name.schema, table: name.name, columns }),
  );
  changeSources(schema, key, (source) => ({ ...source, relation: after }));
  changeOwners(schema, key, (column) => ({ table: after, column }));
}

/** Renames a table. */
export function renameTable(schema: SchemaDraft, key: string, name: string): void {
  const table = schema.tables.get(key);
  if (table !== undefined) rekeyTable(schema, key, { schema: table.schema, name });
}

/** Moves a table with its sequences to another schema. */
export function moveTable(draft: SchemaDraft, key: string, schema: string): void {
  const table = draft.tables.get(key);
  if (table === undefined) return;
  const owned = [...draft.sequences.values()].filter((one) => one.ownedBy?.table === key);
  for (const sequence of owned) {
    rekeySequence(draft, getKey(sequence), { schema, name: sequence.name });
  }
  rekeyTable(draft, key, { schema, name: table.name });
}

/** Moves a sequence to another key, and updates the columns that use it. */
export function rekeySequence(schema: SchemaDraft, key: string, name: ObjectName): void {
  const sequence = schema.sequences.get(key);
  if (sequence === undefined) return;
  const after = { ...sequence, ...name };
  schema.sequences = withEntry(withoutEntries(schema.sequences, [key]), after);
  changeAllColumns(
    schema,
    (one) => one.sequence === key ? { ...one, sequence: getKey(after) } : one,
  );
}

/** Moves a view to another key, and updates the views that read it. */
export function rekeyView(schema: SchemaDraft, key: string, name: ObjectName): void {
  const view = schema.views.get(key);
  if (view === undefined) return;
  changeSources(schema, key, (source) => ({ ...source, relation: getKey(name) }));
  schema.views = withEntry(withoutEntries(schema.views, [key]), { ...view, ...name });
}

/** Drops the sequences that a table or a column of it owns. */
function dropOwned(schema: SchemaDraft, key: string, column?: string): void {
  const owned = [...schema.sequences].filter(([, one]) =>
    one.ownedBy?.table === key && (column === undefined || one.ownedBy.column === column)
  );
  schema.sequences = withoutEntries(schema.sequences, owned.map(([name]) => name));
}

/** Drops the foreign keys that match a condition. */
function dropForeignKeys(schema: SchemaDraft, isGone: (one: TableConstraint) => boolean): void {
  const stays = (one: TableConstraint): boolean => !isGone(one);
  schema.tables = mapValues(
    schema.tables,
    (table) =>
      table.constraints.every(stays)
        ? table
        : { ...table, constraints: table.constraints.filter(stays) },
  );
}

/** Drops the foreign keys to a table whose columns are no longer covered by a unique key. */
export function dropUnsupported(schema: SchemaDraft, key: string): void {
  const table = schema.tables.get(key);
  if (table === undefined) return;
  const isKey = (columns: readonly string[]): boolean =>
    table.constraints.some((one) => hasIndex(one.type) && isSameSet(one.columns, columns)) ||
    table.indexes.some((one) => one.unique && columns.every((name) => one.columns.includes(name)));
  dropForeignKeys(schema, (one) => isReferenceTo(key, one) && !isKey(one.references!.columns));
}

/** Drops the views that read a relation or a column of it, including views on those views. */
export function dropViewsOn(schema: SchemaDraft, relation: string, column?: string): void {
  for (const [key, { sources }] of schema.views) {
    const reads = sources.some((source) =>
      source.relation === relation &&
      (column === undefined || source.readsAll || source.columns.includes(column))
    );
    if (!reads || !schema.views.has(key)) continue;
    schema.views = withoutEntries(schema.views, [key]);
    dropViewsOn(schema, key);
  }
}

/** Drops a column with its constraints, indexes, sequences and foreign keys. */
export function dropColumn(
  schema: SchemaDraft,
  key: string,
  name: string,
  cascades: boolean,
): void {
  if (!schema.tables.get(key)?.columns.some((column) => column.name === name)) return;
  changeTable(schema, key, (table) => {
    const after = { ...table };
    removeColumn(after, name);
    return after;
  });
  dropUnsupported(schema, key);
  dropOwned(schema, key, name);
  if (cascades) dropViewsOn(schema, key, name);
}

/** Renames a column, and updates constraints, indexes, views and sequences. */
export function renameColumn(schema: SchemaDraft, key: string, from: string, to: string): void {
  const renameOne = (name: string): string => name === from ? to : name;
  const rename = (names: readonly string[]): string[] => names.map(renameOne);
  changeReferences(
    schema,
    key,
    ({ columns, ...table }) => ({ ...table, columns: rename(columns) }),
  );
  changeSources(schema, key, (source) => ({ ...source, columns: rename(source.columns) }));
  changeOwners(schema, key, (column) => ({ table: key, column: renameOne(column) }));
}

/** Drops tables with their sequences and the foreign keys that reference them. */
export function dropTables(schema: SchemaDraft, keys: readonly string[], cascades: boolean): void {
  for (const key of keys) {
    dropOwned(schema, key);
    if (cascades) dropViewsOn(schema, key);
  }
  schema.tables = withoutEntries(schema.tables, keys);
  dropForeignKeys(schema, (one) => keys.some((key) => isReferenceTo(key, one)));
}
