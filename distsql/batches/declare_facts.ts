import { keywordSet } from "../../sql/list_words.ts";
import { readPart } from "../schema/read_object.ts";
import { type ColumnClause, readColumn } from "../translate/rules/column_definition.ts";
import {
  isTableConstraint,
  readTableConstraint,
  type TableConstraint,
} from "../translate/rules/table_constraint.ts";
import { deriveName, type QualifiedName, readName } from "../../sql/sql_name.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import { RESERVED_WORDS } from "./known_functions.ts";
import {
  findKey,
  findTable,
  type ForeignKeyAction,
  newTable,
  readView,
  type SchemaFacts,
  type TableFacts,
} from "./schema_facts.ts";

/**
 * Adds to the facts what a statement declares, because planning also covers changes of tables that
 * an earlier migration creates. Effects that are not tracked, such as DROP VIEW, leave the facts
 * unchanged: that may reject a change but never allows one.
 *
 * @param facts The facts before the statement; changed in place.
 * @param reader The statement.
 */
export function declareFacts(facts: SchemaFacts, reader: StatementReader): void {
  if (reader.is(0, "CREATE")) declareCreated(facts, reader);
  else if (reader.is(0, "ALTER", "TABLE")) declareAltered(facts, reader);
  else if (reader.is(0, "DROP", "TABLE")) dropTables(facts, reader);
  else if (reader.is(0, "DROP", "INDEX")) dropIndexes(facts, reader);
  else if (reader.is(0, "ALTER", "VIEW")) renameView(facts, reader);
}

const OBJECTS: ReadonlySet<string> = keywordSet("TABLE INDEX VIEW FUNCTION PROCEDURE AGGREGATE");

function skipExists(reader: StatementReader, at: number): number {
  return reader.skip(reader.skip(at, "IF", "EXISTS"), "IF", "NOT", "EXISTS");
}

function declareCreated(facts: SchemaFacts, reader: StatementReader): void {
  const object = reader.find(OBJECTS, 1);
  const at = skipExists(reader, object + 1);
  switch (reader.key(object)) {
    case "TABLE":
      return createTable(facts, reader, at);
    case "INDEX":
      if (reader.find("UNIQUE", 1, object) >= 0) createUniqueIndex(facts, reader, object);
      return;
    case "VIEW":
      facts.views.push(readView(readName(reader, at).name, reader.text(at, reader.size)));
      return;
    case "FUNCTION":
    case "PROCEDURE":
    case "AGGREGATE":
      facts.functions.add(readName(reader, at).name);
  }
}

function createTable(facts: SchemaFacts, reader: StatementReader, at: number): void {
  const { path, end } = readName(reader, at);
  if (findTable(facts, path) !== undefined) return;
  const table = newTable(
    getSchema(path) ?? facts.searchPath[0] ?? "public",
    path.slice(path.lastIndexOf(".") + 1),
  );
  facts.tables.push(table);
  if (!reader.is(end, "(")) return;
  const items = reader.listIn(end);
  // a foreign key may reference a key that is declared after it
  for (const [from, to] of items) declareItem(table, reader, from, to);
  for (const [from, to] of items) declareReferences(facts, table, reader, from, to);
}

function getSchema(path: string): string | undefined {
  const parts = path.split(".");
  return parts.length > 1 ? parts.at(-2) : undefined;
}

/** Constraint or other clause of a column, or constraint of a table. */
interface Clause {
  readonly kind: ColumnClause["kind"] | TableConstraint["kind"];
  readonly name: string | undefined;
  /** The column, or the columns of a key. */
  readonly columns: readonly string[];
  readonly bodyFrom: number;
  readonly to: number;
}

/** Parses the clauses of a column, or a constraint, of CREATE TABLE or ADD. */
function readClauses(reader: StatementReader, from: number, to: number): Clause[] {
  const toClause = (
    one: ColumnClause | TableConstraint,
    keys: readonly QualifiedName[],
  ): Clause => ({
    kind: one.kind,
    name: one.name?.name,
    columns: keys.map(({ name }) => name),
    bodyFrom: one.bodyFrom,
    to: one.to,
  });
  if (isTableConstraint(reader, from)) {
    const constraint = readTableConstraint(reader, from, to);
    return constraint.usesIndex ? [] : [toClause(constraint, constraint.columns)];
  }
  const column = readColumn(reader, from, to);
  return column.clauses.map((clause) => toClause(clause, [column.name]));
}

/** Adds a column or constraint of CREATE TABLE or ADD. */
function declareItem(table: TableFacts, reader: StatementReader, from: number, to: number): void {
  if (reader.is(from, "LIKE")) return;
  const isColumn = !isTableConstraint(reader, from);
  if (isColumn) table.types.set(readPart(reader, from), "");
  for (const { kind, name, columns, bodyFrom } of readClauses(reader, from, to)) {
    const isPrimary = kind === "primary_key";
    const isNotNull = isPrimary || kind === "identity" || (isColumn && kind === "not_null");
    if (isNotNull) table.notNull.push(...columns);
    if (kind === "generated") table.generated.push(...columns);
    if (isPrimary || kind === "unique") {
      const generated = isPrimary
        ? deriveName(table.name, "", "pkey")
        : deriveName(table.name, columns.join("_"), "key");
      table.uniques.push({ name: name ?? generated, columns, isPrimary, isPlain: true });
    }
    // CHECK (c IS NOT NULL) replaces NOT NULL on servers without a statement for it
    if (kind === "check" && reader.is(bodyFrom + 3, "IS", "NOT", "NULL", ")")) {
      table.notNull.push(readPart(reader, bodyFrom + 2));
    }
  }
}

function declareReferences(
  facts: SchemaFacts,
  table: TableFacts,
  reader: StatementReader,
  from: number,
  to: number,
): void {
  for (const { kind, name, columns, bodyFrom, to: end } of readClauses(reader, from, to)) {
    if (kind !== "references" && kind !== "foreign_key") continue;
    const referenced = readName(reader, reader.find("REFERENCES", bodyFrom, end) + 1);
    const target = findTable(facts, referenced.path);
    if (target === undefined) continue;
    const keys = reader.is(referenced.end, "(") ? reader.listIn(referenced.end) : undefined;
    facts.foreignKeys.push({
      name: name ?? deriveName(table.name, columns.join("_"), "fkey"),
      table,
      target,
      columns: keys?.map(([key]) => readPart(reader, key)) ?? findKey(target) ?? [],
      from: columns,
      onDelete: readAction(reader, referenced.end, end),
    });
  }
}

function readAction(reader: StatementReader, from: number, to: number): ForeignKeyAction {
  for (let at = from; at < to; at = reader.next(at)) {
    if (reader.is(at, "ON", "DELETE", "CASCADE")) return "cascade";
    if (reader.is(at, "ON", "DELETE", "SET")) return "set";
  }
  return "none";
}

function createUniqueIndex(facts: SchemaFacts, reader: StatementReader, object: number): void {
  const on = reader.find("ON", object);
  const { path, end } = readName(reader, reader.skip(on + 1, "ONLY"));
  const table = on < 0 ? undefined : findTable(facts, path);
  const open = reader.find("(", end);
  if (table === undefined || open < 0) return;
  const columns: string[] = [];
  for (let at = open; at < reader.size; at++) {
    const isColumn = reader.isName(at) && !RESERVED_WORDS.has(reader.key(at)) &&
      !reader.is(at + 1, "(");
    if (isColumn) columns.push(readPart(reader, at));
  }
  const isPlain = reader.listIn(open).every(([from, to]) => to === from + 1);
  const isWhole = reader.closing(open) === reader.size - 1;
  const { name } = readName(reader, skipExists(reader, skipModes(reader, object + 1)));
  table.uniques.push({ name, columns, isPrimary: false, isPlain: isPlain && isWhole });
}

function skipModes(reader: StatementReader, at: number): number {
  return reader.skip(reader.skip(at, "ASYNC"), "CONCURRENTLY");
}

function declareAltered(facts: SchemaFacts, reader: StatementReader): void {
  const start = reader.skip(reader.skip(reader.skip(2, "ASYNC"), "IF", "EXISTS"), "ONLY");
  const { path, end } = readName(reader, start);
  const table = findTable(facts, path);
  if (table === undefined) return;
  for (const [from, to] of reader.list(end, reader.size)) {
    if (reader.is(from, "ADD")) {
      const at = skipExists(reader, reader.skip(from + 1, "COLUMN"));
      declareItem(table, reader, at, to);
      declareReferences(facts, table, reader, at, to);
    } else if (reader.is(from, "DROP", "CONSTRAINT")) {
      dropConstraint(facts, table, readPart(reader, skipExists(reader, from + 2)));
    } else if (reader.is(from, "DROP")) {
      table.types.delete(readPart(reader, skipExists(reader, reader.skip(from + 1, "COLUMN"))));
    } else if (reader.is(from, "RENAME", "TO")) table.name = readPart(reader, from + 2);
    else if (reader.is(from, "RENAME") && !reader.is(from + 1, "CONSTRAINT")) {
      const at = reader.skip(from + 1, "COLUMN");
      renameColumn(facts, table, readPart(reader, at), readPart(reader, at + 2));
    } else if (reader.is(from, "SET", "SCHEMA")) table.schema = readPart(reader, from + 2);
  }
}

function dropConstraint(facts: SchemaFacts, table: TableFacts, name: string): void {
  table.uniques = table.uniques.filter((unique) => unique.name !== name);
  facts.foreignKeys = facts.foreignKeys.filter((key) => key.table !== table || key.name !== name);
}

function dropIndexes(facts: SchemaFacts, reader: StatementReader): void {
  for (const [at] of reader.list(skipExists(reader, skipModes(reader, 2)), reader.size)) {
    const name = readName(reader, at).name;
    for (const table of facts.tables) {
      table.uniques = table.uniques.filter((unique) => unique.name !== name);
    }
  }
}

function renameColumn(facts: SchemaFacts, table: TableFacts, from: string, to: string): void {
  const rename = (columns: readonly string[]): string[] =>
    columns.map((column) => column === from ? to : column);
  table.types.set(to, table.types.get(from) ?? "");
  table.types.delete(from);
  table.generated = rename(table.generated);
  table.notNull = rename(table.notNull);
  table.uniques = table.uniques.map((unique) => ({ ...unique, columns: rename(unique.columns) }));
  facts.foreignKeys = facts.foreignKeys.map((key) => ({
    ...key,
    columns: key.target === table ? rename(key.columns) : key.columns,
    from: key.table === table ? rename(key.from) : key.from,
  }));
}

function dropTables(facts: SchemaFacts, reader: StatementReader): void {
  for (const [at] of reader.list(skipExists(reader, 2), reader.size)) {
    const table = findTable(facts, readName(reader, at).path);
    if (table === undefined) continue;
    facts.tables = facts.tables.filter((one) => one !== table);
    facts.foreignKeys = facts.foreignKeys.filter((key) =>
      key.table !== table && key.target !== table
    );
  }
}

function renameView(facts: SchemaFacts, reader: StatementReader): void {
  const { name, end } = readName(reader, skipExists(reader, 2));
  const view = facts.views.find((one) => one.name === name);
  if (view !== undefined && reader.is(end, "RENAME", "TO")) {
    facts.views.push({ ...view, name: readPart(reader, end + 2) });
  }
}
