import type { StatementReader } from "../statement_reader.ts";
import {
  type DeclaredConstraint,
  type DeclaredIndex,
  type DeclaredSchema,
  type DeclaredSequence,
  findObject,
  getKey,
  hasIndex,
  type ObjectName,
  type ViewSource,
  withEntry,
} from "./declared_schema.ts";
import { readStoredOrder, readViewColumns } from "../enum_order/stored_order.ts";
import { columnsNamed } from "./expression_columns.ts";
import { nameKeys } from "./index_names.ts";
import { chooseRelationName, isRelationName } from "./names.ts";
import { readObject, readPart, toObjectName, type WrittenName } from "./read_object.ts";
import { rekeySequence, rekeyView, renameTable } from "./table_changes.ts";

/** Applies CREATE INDEX; an index without a name gets PostgreSQL's generated one. */
export function foldCreateIndex(state: DeclaredSchema, reader: StatementReader): DeclaredSchema {
  const isUnique = reader.is(1, "UNIQUE");
  const on = reader.find("ON", isUnique ? 3 : 2);
  const written = readObject(reader, reader.skip(on + 1, "ONLY"));
  const table = findObject(state.tables, written);
  if (on < 0 || table === undefined) return state;
  const open = reader.find("(", written.end);
  const close = reader.closing(open);
  const include = reader.find("INCLUDE", close + 1);
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
  const start = reader.find("SEQUENCE", 1) + 1;
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
  if (reader.find("OWNED", written.end) < 0) return foldRenameRelation(state, reader);
  const after: DeclaredSequence = { ...found, ownedBy: getOwner(state, reader, written.end) };
  return { ...state, sequences: withEntry(state.sequences, after) };
}

/** Returns the column of OWNED BY. */
function getOwner(
  state: DeclaredSchema,
  reader: StatementReader,
  from: number,
): DeclaredSequence["ownedBy"] {
  const at = reader.find("OWNED", from) + 2;
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
  const view = reader.find("VIEW", 1);
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

/** Applies CREATE STATISTICS. */
export function foldCreateStatistics(
  state: DeclaredSchema,
  reader: StatementReader,
): DeclaredSchema {
  const name = readObject(reader, reader.skip(2, "IF", "NOT", "EXISTS"));
  const from = reader.find("FROM", name.end);
  const table = from < 0 ? undefined : findObject(state.tables, readObject(reader, from + 1));
  if (table === undefined) return state;
  const statistics = [...table.statistics, toObjectName(name, table.schema)];
  return { ...state, tables: withEntry(state.tables, { ...table, statistics }) };
}
