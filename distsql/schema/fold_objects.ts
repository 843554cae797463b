import { readName } from "../../sql/sql_name.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import {
  type DeclaredSchema,
  type DeclaredSequence,
  findObject,
  getKey,
  hasIndex,
  type ObjectName,
  type ViewSource,
  withEntry,
} from "./declared_schema.ts";
import { columnsNamed } from "./expression_columns.ts";
import { chooseRelationName, isRelationName, nameKeys } from "./names.ts";
import { readPart, toObjectName, type WrittenName } from "./read_object.ts";
import {
  changeTable,
  rekeySequence,
  rekeyView,
  renameTable,
  type SchemaDraft,
} from "./schema_draft.ts";
import type { TableConstraintType, TableIndex } from "./table_schema.ts";

/** Applies CREATE INDEX; an index without a name gets PostgreSQL's generated one. */
export function foldCreateIndex(schema: SchemaDraft, reader: StatementReader): void {
  const isUnique = reader.is(1, "UNIQUE");
  const on = reader.find("ON", isUnique ? 3 : 2);
  const written = readName(reader, reader.skip(on + 1, "ONLY"));
  const table = findObject(schema.tables, written);
  if (on < 0 || table === undefined) return;
  const open = reader.find("(", written.end);
  const close = reader.closing(open);
  const include = reader.find("INCLUDE", close + 1);
  const included = include < 0 ? [] : reader.listIn(include + 1);
  const keys = reader.listIn(open);
  const columns = nameKeys(reader, [...keys, ...included]);
  const parts = { schema: table.schema, table: table.name, columns, label: "idx" };
  const given = indexName(reader, isUnique ? 3 : 2, on);
  if (given !== undefined && isRelationName(schema, table.schema, given)) return;
  const known = new Set(table.columns.map((column) => column.name));
  const isPlain = reader.find("WHERE", close) < 0 &&
    keys.every(([from]) => reader.isName(from) && !reader.is(reader.nameEnd(from), "("));
  const index: TableIndex = {
    name: given ?? chooseRelationName(schema, parts),
    unique: isUnique,
    definition: reader.text(written.end, reader.size),
    columns: columnsNamed(reader, open, reader.size, known),
    ...isPlain ? { keys: keys.map(([from]) => readPart(reader, from)) } : {},
    valid: true,
  };
  changeTable(schema, getKey(table), ({ indexes }) => ({ indexes: [...indexes, index] }));
}

/** Returns the name before ON, after CONCURRENTLY, ASYNC and IF NOT EXISTS. */
function indexName(reader: StatementReader, from: number, on: number): string | undefined {
  let at = from;
  const isKeyword = reader.is(at, "CONCURRENTLY") || (reader.is(at, "ASYNC") && on > at + 1);
  if (isKeyword) at++;
  at = reader.skip(at, "IF", "NOT", "EXISTS");
  return at < on ? readName(reader, at).name : undefined;
}

/** Applies CREATE and ALTER SEQUENCE. */
export function foldSequence(schema: SchemaDraft, reader: StatementReader): void {
  const start = reader.find("SEQUENCE", 1) + 1;
  const written = readName(
    reader,
    reader.skip(reader.skip(start, "IF", "NOT", "EXISTS"), "IF", "EXISTS"),
  );
  if (reader.is(0, "CREATE")) {
    const name = toObjectName(written);
    if (isRelationName(schema, name.schema, name.name)) return;
    const ownedBy = getOwner(schema, reader, written.end);
    schema.sequences = withEntry(schema.sequences, { ...name, ownedBy, origin: "statement" });
    return;
  }
  const found = findObject(schema.sequences, written);
  if (found === undefined) return;
  if (reader.find("OWNED", written.end) < 0) return foldRenameRelation(schema, reader);
  const ownedBy = getOwner(schema, reader, written.end);
  schema.sequences = withEntry(schema.sequences, { ...found, ownedBy });
}

/** Returns the column of OWNED BY; `undefined` for NONE, and for an unknown table. */
export function getOwner(
  schema: DeclaredSchema,
  reader: StatementReader,
  from: number,
): DeclaredSequence["ownedBy"] {
  const at = reader.find("OWNED", from) + 2;
  if (at < 2 || reader.is(at, "NONE")) return undefined;
  const end = reader.nameEnd(at);
  const name: WrittenName = end - at >= 5
    ? { schema: readPart(reader, end - 5), name: readPart(reader, end - 3) }
    : { schema: undefined, name: readPart(reader, end - 3) };
  const table = findObject(schema.tables, name);
  return table && { table: getKey(table), column: readPart(reader, end - 1) };
}

/** Applies CREATE VIEW. */
export function foldCreateView(schema: SchemaDraft, reader: StatementReader): void {
  const view = reader.find("VIEW", 1);
  const at = reader.skip(view + 1, "IF", "NOT", "EXISTS");
  const written = readName(reader, at);
  const name = toObjectName(written);
  if (at > view + 1 && isRelationName(schema, name.schema, name.name)) return;
  schema.views = withEntry(schema.views, {
    ...name,
    sources: readSources(schema, reader, written.end),
    text: reader.text(0, reader.size),
  });
}

function isDeclared(schema: DeclaredSchema, name: WrittenName): boolean {
  return (findObject(schema.tables, name) ?? findObject(schema.views, name)) !== undefined;
}

/** Returns the relations that a view names, with all of their columns that it names. */
function readSources(schema: DeclaredSchema, reader: StatementReader, from: number): ViewSource[] {
  const found = new Set<string>();
  const names = new Set<string>();
  let readsAll = false;
  for (let at = from; at < reader.size; at = Math.max(reader.nameEnd(at), at + 1)) {
    readsAll ||= reader.is(at, "*");
    const end = reader.nameEnd(at);
    const isAfterFrom = reader.is(at - 1, "FROM") || reader.is(at - 1, "JOIN");
    const isRelation = isAfterFrom && isDeclared(schema, readName(reader, at));
    // a qualifier of a column is not a column itself
    if (end > at && !isRelation) names.add(readPart(reader, end - 1));
    for (let last = at + 1; last <= end; last += 2) {
      const name = {
        schema: last - at >= 3 ? readPart(reader, last - 3) : undefined,
        name: readPart(reader, last - 1),
      };
      const relation = findObject(schema.tables, name) ?? findObject(schema.views, name);
      if (relation) found.add(getKey(relation));
    }
  }
  return [...found].map((relation) => ({ relation, columns: [...names], readsAll }));
}

/**
 * Applies ALTER TABLE, VIEW, INDEX or SEQUENCE … RENAME TO for other relations than tables:
 * PostgreSQL accepts any kind.
 */
export function foldRenameRelation(schema: SchemaDraft, reader: StatementReader): void {
  const written = readName(reader, reader.skip(2, "IF", "EXISTS"));
  const isRename = reader.is(written.end, "RENAME", "TO");
  const isMove = reader.is(written.end, "SET", "SCHEMA");
  if (!isRename && !isMove) return;
  const target = readPart(reader, written.end + 2);
  const from = toObjectName(written);
  const to = isRename ? { schema: from.schema, name: target } : { schema: target, name: from.name };
  if (findObject(schema.tables, written)) {
    if (isRename) renameTable(schema, getKey(from), target);
  } else if (findObject(schema.sequences, written)) rekeySequence(schema, getKey(from), to);
  else if (findObject(schema.views, written)) rekeyView(schema, getKey(from), to);
  else if (isRename) renameIndex(schema, from, target);
}

/** Renames an index, or the constraint that owns it. */
function renameIndex(schema: SchemaDraft, from: ObjectName, name: string): void {
  const isIt = (one: { name: string; type?: TableConstraintType }): boolean =>
    one.name === from.name && (one.type === undefined || hasIndex(one.type));
  const rename = <T extends { name: string }>(one: T): T => isIt(one) ? { ...one, name } : one;
  const table = [...schema.tables.values()].find(({ schema, indexes, constraints }) =>
    schema === from.schema && [...indexes, ...constraints].some(isIt)
  );
  if (table === undefined) return;
  changeTable(schema, getKey(table), ({ indexes, constraints }) => ({
    indexes: indexes.map(rename),
    constraints: constraints.map(rename),
  }));
}

/** Applies CREATE STATISTICS. */
export function foldCreateStatistics(schema: SchemaDraft, reader: StatementReader): void {
  const name = readName(reader, reader.skip(2, "IF", "NOT", "EXISTS"));
  const from = reader.find("FROM", name.end);
  const table = from < 0 ? undefined : findObject(schema.tables, readName(reader, from + 1));
  if (table === undefined) return;
  const statistics = [...table.statistics, toObjectName(name, table.schema)];
  changeTable(schema, getKey(table), () => ({ statistics }));
}
