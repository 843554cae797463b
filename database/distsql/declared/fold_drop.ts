import type { StatementReader } from "../statement_reader.ts";
import {
  type DeclaredColumn,
  type DeclaredSchema,
  findObject,
  getKey,
  mapValues,
  type ObjectName,
  withoutEntries,
} from "./declared_schema.ts";
import { readObject, toObjectName } from "./read_object.ts";
import { dropColumn, dropTables, dropViewsOn } from "./table_changes.ts";

function dropIndexes(state: DeclaredSchema, names: readonly ObjectName[]): DeclaredSchema {
  const tables = new Map(state.tables);
  for (const [key, table] of tables) {
    const indexes = table.indexes.filter((index) =>
      !names.some((name) => name.schema === table.schema && name.name === index.name)
    );
    if (indexes.length < table.indexes.length) tables.set(key, { ...table, indexes });
  }
  return { ...state, tables };
}

function dropSequences(state: DeclaredSchema, keys: readonly string[]): DeclaredSchema {
  const gone = new Set(keys);
  const tables = new Map([...state.tables].map(([key, table]) => [key, {
    ...table,
    columns: table.columns.map((one) =>
      one.sequence !== undefined && gone.has(one.sequence) && one.numbering !== "identity"
        ? { ...one, default: undefined, numbering: undefined, sequence: undefined }
        : one
    ),
  }]));
  return { ...state, tables, sequences: withoutEntries(state.sequences, keys) };
}

function dropStatistics(state: DeclaredSchema, names: readonly ObjectName[]): DeclaredSchema {
  const isDropped = (one: ObjectName): boolean =>
    names.some((name) => getKey(name) === getKey(one));
  const tables = [...state.tables].map(([key, table]) =>
    [key, { ...table, statistics: table.statistics.filter((one) => !isDropped(one)) }] as const
  );
  return { ...state, tables: new Map(tables) };
}

function dropSchemas(state: DeclaredSchema, names: readonly string[]): DeclaredSchema {
  const within = (map: ReadonlyMap<string, ObjectName>): string[] =>
    [...map].filter(([, object]) => names.includes(object.schema)).map(([key]) => key);
  const after = dropTables(state, within(state.tables), true);
  return {
    ...after,
    enums: withoutEntries(after.enums, within(after.enums)),
    domains: withoutEntries(after.domains, within(after.domains)),
    views: withoutEntries(after.views, within(after.views)),
    sequences: withoutEntries(after.sequences, within(after.sequences)),
  };
}

/** Drops the columns of all tables whose type is dropped with CASCADE. */
function dropTypes(
  state: DeclaredSchema,
  keys: readonly string[],
  cascades: boolean,
): DeclaredSchema {
  const gone = new Set(keys);
  const isGone = (key: string | undefined): boolean => key !== undefined && gone.has(key);
  for (const [key, { columns }] of cascades ? state.tables : []) {
    for (const { name, enum: type, domain } of columns) {
      if (isGone(type) || isGone(domain)) state = dropColumn(state, key, name, true);
    }
  }
  const withoutDefault = (column: DeclaredColumn): DeclaredColumn =>
    column.defaultEnums?.some(isGone)
      ? { ...column, default: undefined, defaultEnums: undefined }
      : column;
  const tables = cascades
    ? mapValues(state.tables, (table) => ({ ...table, columns: table.columns.map(withoutDefault) }))
    : state.tables;
  return {
    ...state,
    tables,
    enums: withoutEntries(state.enums, keys),
    domains: withoutEntries(state.domains, keys),
  };
}

/** Applies DROP of tables, views, indexes, sequences, types, domains and schemas. */
export function foldDrop(state: DeclaredSchema, reader: StatementReader): DeclaredSchema {
  const isMaterialized = reader.is(1, "MATERIALIZED");
  const kind = reader.key(isMaterialized ? 2 : 1);
  const start = reader.skip(reader.skip(isMaterialized ? 3 : 2, "CONCURRENTLY"), "IF", "EXISTS");
  const cascades = reader.is(reader.size - 1, "CASCADE");
  const end = cascades || reader.is(reader.size - 1, "RESTRICT") ? reader.size - 1 : reader.size;
  const written = reader.list(start, end).map(([from]) => readObject(reader, from));
  const keysIn = <T extends ObjectName>(map: ReadonlyMap<string, T>): string[] =>
    written.map((name) => findObject(map, name)).filter((one) => one !== undefined).map((one) =>
      getKey(one)
    );
  switch (kind) {
    case "TABLE":
      return dropTables(state, keysIn(state.tables), cascades);
    case "VIEW": {
      const after = { ...state, views: withoutEntries(state.views, keysIn(state.views)) };
      return cascades
        ? keysIn(state.views).reduce((schema, key) => dropViewsOn(schema, key), after)
        : after;
    }
    case "SEQUENCE":
      return dropSequences(state, keysIn(state.sequences));
    case "INDEX":
      return dropIndexes(state, written.map((name) => toObjectName(name)));
    case "STATISTICS":
      return dropStatistics(state, written.map((name) => toObjectName(name)));
    case "TYPE":
    case "DOMAIN":
      return dropTypes(state, [...keysIn(state.enums), ...keysIn(state.domains)], cascades);
    case "SCHEMA":
      return dropSchemas(state, written.map((name) => name.name));
    default:
      return state;
  }
}
