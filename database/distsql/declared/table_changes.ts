import {
  type DeclaredConstraint,
  type DeclaredSchema,
  type DeclaredSequence,
  type DeclaredTable,
  getKey,
  hasIndex,
  mapValues,
  type ObjectName,
  type ViewSource,
  withEntry,
  withoutEntries,
} from "./declared_schema.ts";

function changeConstraints(
  table: DeclaredTable,
  change: (one: DeclaredConstraint) => DeclaredConstraint,
): DeclaredTable {
  return table.constraints.length === 0
    ? table
    : { ...table, constraints: table.constraints.map(change) };
}

/** Moves a table to another key, and updates foreign keys and sequences. */
function rekeyTable(state: DeclaredSchema, key: string, name: ObjectName): DeclaredSchema {
  const table = state.tables.get(key);
  if (table === undefined) return state;
  const after = getKey(name);
  const tables = withEntry(withoutEntries(state.tables, [key]), { ...table, ...name });
  return {
    ...state,
    tables: mapValues(
      tables,
      (one) =>
        changeConstraints(
          one,
          (constraint) =>
            constraint.references?.table === key
              ? { ...constraint, references: { ...constraint.references, table: after } }
              : constraint,
        ),
    ),
    views: changeSources(state.views, key, (source) => ({ ...source, relation: after })),
    sequences: mapValues(
      state.sequences,
      (one) =>
        one.ownedBy?.table === key ? { ...one, ownedBy: { ...one.ownedBy, table: after } } : one,
    ),
  };
}

/** Renames a table. */
export function renameTable(state: DeclaredSchema, key: string, name: string): DeclaredSchema {
  const table = state.tables.get(key);
  return table === undefined ? state : rekeyTable(state, key, { schema: table.schema, name });
}

/** Moves a table with its sequences to another schema. */
export function moveTable(state: DeclaredSchema, key: string, schema: string): DeclaredSchema {
  const table = state.tables.get(key);
  if (table === undefined) return state;
  const owned = [...state.sequences.values()].filter((one) => one.ownedBy?.table === key);
  for (const sequence of owned) {
    state = rekeySequence(state, getKey(sequence), { schema, name: sequence.name });
  }
  return rekeyTable(state, key, { schema, name: table.name });
}

/** Moves a sequence to another key, and updates the columns that use it. */
export function rekeySequence(
  state: DeclaredSchema,
  key: string,
  name: ObjectName,
): DeclaredSchema {
  const sequence = state.sequences.get(key);
  if (sequence === undefined) return state;
  const after: DeclaredSequence = { ...sequence, ...name };
  return {
    ...state,
    sequences: withEntry(withoutEntries(state.sequences, [key]), after),
    tables: mapValues(state.tables, (table) => ({
      ...table,
      columns: table.columns.map((one) =>
        one.sequence === key ? { ...one, sequence: getKey(after) } : one
      ),
    })),
  };
}

/** Moves a view to another key, and updates the views that read it. */
export function rekeyView(state: DeclaredSchema, key: string, name: ObjectName): DeclaredSchema {
  const view = state.views.get(key);
  if (view === undefined) return state;
  const views = changeSources(
    state.views,
    key,
    (source) => ({ ...source, relation: getKey(name) }),
  );
  return { ...state, views: withEntry(withoutEntries(views, [key]), { ...view, ...name }) };
}

function getDropSequences(
  state: DeclaredSchema,
  key: string,
  column: string | undefined,
): DeclaredSchema {
  const owned = [...state.sequences].filter(([, one]) =>
    one.ownedBy?.table === key && (column === undefined || one.ownedBy.column === column)
  );
  if (owned.length === 0) return state;
  return { ...state, sequences: withoutEntries(state.sequences, owned.map(([name]) => name)) };
}

/** Drops the foreign keys that match a condition. */
function dropForeignKeys(
  tables: DeclaredSchema["tables"],
  isGone: (references: NonNullable<DeclaredConstraint["references"]>) => boolean,
): DeclaredSchema["tables"] {
  const stays = ({ references }: DeclaredConstraint): boolean =>
    references === undefined || !isGone(references);
  return mapValues(
    tables,
    (table) =>
      table.constraints.every(stays)
        ? table
        : { ...table, constraints: table.constraints.filter(stays) },
  );
}

/** Drops the foreign keys to a table whose columns are no longer covered by a unique key. */
export function dropUnsupported(
  tables: DeclaredSchema["tables"],
  key: string,
): DeclaredSchema["tables"] {
  const table = tables.get(key);
  if (table === undefined) return tables;
  const sameSet = (a: readonly string[], b: readonly string[]): boolean =>
    a.length === b.length && a.every((name) => b.includes(name));
  return dropForeignKeys(tables, (references) => {
    if (references.table !== key) return false;
    const isKey = table.constraints.some((one) =>
      hasIndex(one.kind) && sameSet(one.columns, references.columns)
    );
    return !isKey &&
      !table.indexes.some((one) =>
        one.isUnique && references.columns.every((name) => one.columns.includes(name))
      );
  });
}

/** Drops the views that read a relation or one of its columns, including views on those views. */
export function dropViewsOn(
  state: DeclaredSchema,
  relation: string,
  column?: string,
): DeclaredSchema {
  for (const [key, { sources }] of state.views) {
    const reads = sources.some((source) =>
      source.relation === relation &&
      (column === undefined || source.readsAll || source.columns.includes(column))
    );
    if (!reads || !state.views.has(key)) continue;
    state = dropViewsOn({ ...state, views: withoutEntries(state.views, [key]) }, key);
  }
  return state;
}

/** Updates the columns that views read of a relation. */
function changeSources(
  views: DeclaredSchema["views"],
  relation: string,
  change: (source: ViewSource) => ViewSource,
): DeclaredSchema["views"] {
  return mapValues(views, (view) => {
    if (!view.sources.some((source) => source.relation === relation)) return view;
    return {
      ...view,
      sources: view.sources.map((one) => one.relation === relation ? change(one) : one),
    };
  });
}

/** Drops a column with its constraints, indexes, sequences and foreign keys. */
export function dropColumn(
  state: DeclaredSchema,
  key: string,
  name: string,
  cascades: boolean,
): DeclaredSchema {
  const table = state.tables.get(key);
  if (table === undefined || !table.columns.some((column) => column.name === name)) return state;
  const after: DeclaredTable = {
    ...table,
    columns: table.columns.filter((column) => column.name !== name),
    constraints: table.constraints.filter((one) =>
      !one.columns.includes(name) && !one.included.includes(name)
    ),
    indexes: table.indexes.filter((one) => !one.columns.includes(name)),
  };
  const tables = dropUnsupported(withEntry(state.tables, after), key);
  const dropped = getDropSequences({ ...state, tables }, key, name);
  return cascades ? dropViewsOn(dropped, key, name) : dropped;
}

/** Renames a column, and updates constraints, indexes and sequences. */
export function renameColumn(
  state: DeclaredSchema,
  key: string,
  from: string,
  to: string,
): DeclaredSchema {
  const table = state.tables.get(key);
  if (table === undefined) return state;
  const rename = (names: readonly string[]): string[] =>
    names.map((name) => name === from ? to : name);
  const after: DeclaredTable = {
    ...table,
    columns: table.columns.map((one) => one.name === from ? { ...one, name: to } : one),
    constraints: table.constraints.map((one) => ({
      ...one,
      columns: rename(one.columns),
      included: rename(one.included),
    })),
    indexes: table.indexes.map((one) => ({ ...one, columns: rename(one.columns) })),
  };
  const tables = mapValues(
    withEntry(state.tables, after),
    (one) =>
      changeConstraints(
        one,
        (constraint) =>
          constraint.references?.table === key
            ? {
              ...constraint,
              references: { table: key, columns: rename(constraint.references.columns) },
            }
            : constraint,
      ),
  );
  return {
    ...state,
    tables,
    views: changeSources(
      state.views,
      key,
      (source) => ({ ...source, columns: rename(source.columns) }),
    ),
    sequences: mapValues(
      state.sequences,
      (one) =>
        one.ownedBy?.table === key && one.ownedBy.column === from
          ? { ...one, ownedBy: { table: key, column: to } }
          : one,
    ),
  };
}

/** Drops tables with their sequences and the foreign keys that reference them. */
export function dropTables(
  state: DeclaredSchema,
  keys: readonly string[],
  cascades: boolean,
): DeclaredSchema {
  const gone = new Set(keys);
  for (const key of keys) state = getDropSequences(state, key, undefined);
  if (cascades) state = keys.reduce((schema, key) => dropViewsOn(schema, key), state);
  const tables = dropForeignKeys(
    withoutEntries(state.tables, keys),
    (references) => gone.has(references.table),
  );
  return { ...state, tables };
}
