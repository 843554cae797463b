import type { StatementReader } from "../statement_reader.ts";
import {
  type DeclaredColumn,
  type DeclaredConstraint,
  type DeclaredIndex,
  type DeclaredSchema,
  type DeclaredSequence,
  findObject,
  getKey,
  hasIndex,
  mapValues,
  type ObjectName,
  type ViewSource,
  withEntry,
  withoutEntries,
} from "./declared_schema.ts";
import { readStoredOrder, readViewColumns } from "../enum_order/stored_order.ts";
import { columnsNamed } from "./expression_columns.ts";
import { nameKeys } from "./index_names.ts";
import { chooseRelationName, isRelationName } from "./names.ts";
import { readObject, readPart, toObjectName, type WrittenName } from "./read_object.ts";
import {
  dropColumn,
  dropTables,
  dropViewsOn,
  rekeySequence,
  rekeyView,
  renameTable,
} from "./table_changes.ts";

const ON: ReadonlySet<string> = new Set(["ON"]);
const OPEN: ReadonlySet<string> = new Set(["("]);
const INCLUDE: ReadonlySet<string> = new Set(["INCLUDE"]);
const SEQUENCE: ReadonlySet<string> = new Set(["SEQUENCE"]);
const OWNED: ReadonlySet<string> = new Set(["OWNED"]);
const VIEW: ReadonlySet<string> = new Set(["VIEW"]);
const FROM: ReadonlySet<string> = new Set(["FROM"]);

/** Applies CREATE INDEX; an index without a name gets PostgreSQL's generated one. */
export function foldCreateIndex(state: DeclaredSchema, reader: StatementReader): DeclaredSchema {
  const isUnique = reader.is(1, "UNIQUE");
  const on = reader.find(ON, isUnique ? 3 : 2);
  const written = readObject(reader, reader.skip(on + 1, "ONLY"));
  const table = findObject(state.tables, written);
  if (on < 0 || table === undefined) return state;
  const open = reader.find(OPEN, written.end);
  const close = reader.closing(open);
  const include = reader.find(INCLUDE, close + 1);
  const included = include < 0 ? [] : reader.list(include + 2, reader.closing(include + 1));
  const keys = [...reader.list(open + 1, close), ...included];
  const parts = {
    schema: table.schema,
    table: table.name,
    columns: nameKeys(reader, keys),
    label: "idx",
  };
  const given = indexName(reader, isUnique ? 3 : 2, on);
  if (given !== undefined && isRelationName(state, table.schema, given)) return state;
  const index: DeclaredIndex = {
    name: given ?? chooseRelationName(state, parts),
    isUnique,
    columns: columnsNamed(
      reader,
      open,
      reader.size,
      new Set(table.columns.map((column) => column.name)),
    ),
    text: reader.text(written.end, reader.size),
    ordersBy: readStoredOrder(reader, state, table, open, reader.size),
  };
  const after = { ...table, indexes: [...table.indexes, index] };
  return { ...state, tables: withEntry(state.tables, after) };
}

/** Returns the name before ON, after CONCURRENTLY, ASYNC and IF NOT EXISTS. */
function indexName(reader: StatementReader, from: number, on: number): string | undefined {
  let at = from;
  const isKeyword = reader.is(at, "CONCURRENTLY") || (reader.is(at, "ASYNC") && on > at + 1);
  if (isKeyword) at++;
  at = reader.skip(at, "IF", "NOT", "EXISTS");
  return at < on ? readObject(reader, at).name : undefined;
}

/** Applies CREATE and ALTER SEQUENCE. */
export function foldSequence(state: DeclaredSchema, reader: StatementReader): DeclaredSchema {
  const start = reader.find(SEQUENCE, 1) + 1;
  const written = readObject(
    reader,
    reader.skip(reader.skip(start, "IF", "NOT", "EXISTS"), "IF", "EXISTS"),
  );
  if (reader.is(0, "CREATE")) {
    const name = toObjectName(written);
    if (isRelationName(state, name.schema, name.name)) return state;
    const sequence: DeclaredSequence = {
      ...name,
      ownedBy: getOwner(state, reader, written.end),
      origin: "statement",
    };
    return { ...state, sequences: withEntry(state.sequences, sequence) };
  }
  const found = findObject(state.sequences, written);
  if (found === undefined) return state;
  if (reader.find(OWNED, written.end) < 0) return foldRenameRelation(state, reader);
  const after: DeclaredSequence = { ...found, ownedBy: getOwner(state, reader, written.end) };
  return { ...state, sequences: withEntry(state.sequences, after) };
}

/** Returns the column of OWNED BY. */
function getOwner(
  state: DeclaredSchema,
  reader: StatementReader,
  from: number,
): DeclaredSequence["ownedBy"] {
  const at = reader.find(OWNED, from) + 2;
  if (at < 2 || reader.is(at, "NONE")) return undefined;
  const end = reader.nameEnd(at);
  const name: WrittenName = end - at >= 5
    ? { schema: readPart(reader, end - 5), name: readPart(reader, end - 3), end }
    : { name: readPart(reader, end - 3), end };
  const table = findObject(state.tables, name);
  return table && { table: getKey(table), column: readPart(reader, end - 1) };
}

/** Applies CREATE VIEW. */
export function foldCreateView(state: DeclaredSchema, reader: StatementReader): DeclaredSchema {
  const view = reader.find(VIEW, 1);
  const at = reader.skip(view + 1, "IF", "NOT", "EXISTS");
  const written = readObject(reader, at);
  const name = toObjectName(written);
  if (at > view + 1 && isRelationName(state, name.schema, name.name)) return state;
  const isMaterialized = reader.is(view - 1, "MATERIALIZED");
  const sources = readSources(state, reader, written.end);
  const columns = state.enums.size > 0 ? readViewColumns(reader, state) : [];
  const ordersBy = readStoredOrder(reader, state, undefined);
  const declared = {
    ...name,
    isMaterialized,
    sources,
    text: reader.text(0, reader.size),
    columns,
    ordersBy,
  };
  return { ...state, views: withEntry(state.views, declared) };
}

function isDeclared(state: DeclaredSchema, name: WrittenName): boolean {
  return (findObject(state.tables, name) ?? findObject(state.views, name)) !== undefined;
}

/** Returns the relations that a view names, with all of their columns that it names. */
function readSources(state: DeclaredSchema, reader: StatementReader, from: number): ViewSource[] {
  const found = new Set<string>();
  const names = new Set<string>();
  let readsAll = false;
  for (let at = from; at < reader.size; at = Math.max(reader.nameEnd(at), at + 1)) {
    readsAll ||= reader.is(at, "*");
    const end = reader.nameEnd(at);
    const isAfterFrom = reader.is(at - 1, "FROM") || reader.is(at - 1, "JOIN");
    const isRelation = isAfterFrom && isDeclared(state, readObject(reader, at));
    // a qualifier of a column is not a column itself
    if (end > at && !isRelation) names.add(readPart(reader, end - 1));
    for (let last = at + 1; last <= end; last += 2) {
      const name = {
        schema: last - at >= 3 ? readPart(reader, last - 3) : undefined,
        name: readPart(reader, last - 1),
      };
      const relation = findObject(state.tables, name) ?? findObject(state.views, name);
      if (relation) found.add(getKey(relation));
    }
  }
  return [...found].map((relation) => ({ relation, columns: [...names], readsAll }));
}

/**
 * Applies ALTER TABLE, VIEW, INDEX or SEQUENCE … RENAME TO for other relations than tables:
 * PostgreSQL accepts any kind.
 */
export function foldRenameRelation(state: DeclaredSchema, reader: StatementReader): DeclaredSchema {
  const written = readObject(reader, reader.skip(2, "IF", "EXISTS"));
  const isRename = reader.is(written.end, "RENAME", "TO");
  const isMove = reader.is(written.end, "SET", "SCHEMA");
  if (!isRename && !isMove) return state;
  const target = readPart(reader, written.end + 2);
  const from = toObjectName(written);
  const to = isRename ? { schema: from.schema, name: target } : { schema: target, name: from.name };
  if (findObject(state.tables, written)) {
    return isRename ? renameTable(state, getKey(from), target) : state;
  }
  if (findObject(state.sequences, written)) return rekeySequence(state, getKey(from), to);
  if (findObject(state.views, written)) return rekeyView(state, getKey(from), to);
  return isRename ? renameIndex(state, from, target) : state;
}

/** Renames an index, or the constraint that owns it. */
function renameIndex(state: DeclaredSchema, from: ObjectName, name: string): DeclaredSchema {
  const isIt = (one: { name: string; kind?: DeclaredConstraint["kind"] }): boolean =>
    one.name === from.name && (one.kind === undefined || hasIndex(one.kind));
  for (const table of state.tables.values()) {
    const has = table.schema === from.schema && [...table.indexes, ...table.constraints].some(isIt);
    if (!has) continue;
    const rename = <T extends { name: string }>(one: T): T => isIt(one) ? { ...one, name } : one;
    const after = {
      ...table,
      indexes: table.indexes.map(rename),
      constraints: table.constraints.map(rename),
    };
    return { ...state, tables: withEntry(state.tables, after) };
  }
  return state;
}

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

/** Applies CREATE STATISTICS. */
export function foldCreateStatistics(
  state: DeclaredSchema,
  reader: StatementReader,
): DeclaredSchema {
  const name = readObject(reader, reader.skip(2, "IF", "NOT", "EXISTS"));
  const from = reader.find(FROM, name.end);
  const table = from < 0 ? undefined : findObject(state.tables, readObject(reader, from + 1));
  if (table === undefined) return state;
  const statistics = [...table.statistics, toObjectName(name, table.schema)];
  return { ...state, tables: withEntry(state.tables, { ...table, statistics }) };
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
