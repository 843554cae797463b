import { deriveName, truncateName } from "../../sql/sql_name.ts";
import { type DeclaredSchema, getKey, hasIndex } from "./declared_schema.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import { readPart } from "./read_object.ts";
import { keywordSet } from "../../sql/list_words.ts";
import type { TableConstraintType } from "./table_schema.ts";

/** Checks whether a table, view, sequence, index or key of the schema has the name. */
export function isRelationName(state: DeclaredSchema, schema: string, name: string): boolean {
  const key = getKey({ schema, name });
  const isTable = state.views.has(key) || state.sequences.has(key) || state.tables.has(key);
  return isTable || [...state.tables.values()].some((table) =>
    table.schema === schema &&
    (table.indexes.some((one) => one.name === name) ||
      table.constraints.some((one) => one.name === name && hasIndex(one.type)))
  );
}

/** Checks whether a constraint in the schema has the name. */
function isConstraintName({ tables }: DeclaredSchema, schema: string, name: string): boolean {
  return [...tables.values()].some((table) =>
    table.schema === schema && table.constraints.some((one) => one.name === name)
  );
}

/** Parts of a name that PostgreSQL generates. */
export interface NameParts {
  /** Schema in which the name must be free. */
  readonly schema: string;
  /** Name of the table. */
  readonly table: string;
  /** Columns, or the parts for expressions. */
  readonly columns: readonly string[];
  /** Last part, such as `key`. */
  readonly label: string;
}

/** Suffixes of PostgreSQL's generated constraint names. */
export const CONSTRAINT_LABELS: Readonly<Record<TableConstraintType, string>> = {
  primary_key: "pkey",
  unique: "key",
  check: "check",
  foreign_key: "fkey",
  exclude: "excl",
};

/** Generates a name, with a number if it is taken. */
export function chooseName(
  { table, columns, label }: Omit<NameParts, "schema">,
  isTaken: (name: string) => boolean,
): string {
  const joined = columns.join("_");
  let name = deriveName(table, joined, label);
  for (let pass = 1; isTaken(name); pass++) name = deriveName(table, joined, `${label}${pass}`);
  return name;
}

/** Generates a name for a sequence or index (PostgreSQL 15, ChooseRelationName in indexcmds.c). */
export function chooseRelationName(state: DeclaredSchema, parts: NameParts): string {
  return chooseName(parts, (name) => isRelationName(state, parts.schema, name));
}

/** Generates a name for a unique constraint or a primary key, whose index has the same name. */
export function chooseKeyName(state: DeclaredSchema, parts: NameParts): string {
  return chooseName(
    parts,
    (name) =>
      isRelationName(state, parts.schema, name) || isConstraintName(state, parts.schema, name),
  );
}

/** Generates a name for a CHECK or a foreign key (PostgreSQL 15, ChooseConstraintName in pg_constraint.c). */
export function chooseConstraintName(state: DeclaredSchema, parts: NameParts): string {
  return chooseName(parts, (name) => isConstraintName(state, parts.schema, name));
}

/**
 * Returns the part of the name for an index key: its column, its function, or `expr` (PostgreSQL
 * 15, FigureIndexColname).
 */
function nameKey(reader: StatementReader, from: number): string {
  if (reader.key(from) === "(") {
    return nameExpression(reader, from + 1, reader.closing(from)) ?? "expr";
  }
  const end = reader.nameEnd(from);
  if (reader.key(end) === "(") return nameExpression(reader, from, reader.next(end)) ?? "expr";
  return readPart(reader, end - 1);
}

/** Expressions that are named by their keyword. */
const KEYWORDS: ReadonlySet<string> = keywordSet("COALESCE GREATEST LEAST NULLIF CASE ARRAY ROW");

/**
 * Returns the name of an expression that is a single column, call, cast or CASE; others have none.
 */
function nameExpression(reader: StatementReader, from: number, to: number): string | undefined {
  if (reader.key(from) === "(" && reader.next(from) === to) {
    return nameExpression(reader, from + 1, to - 1);
  }
  const cast = lastCast(reader, from, to);
  if (cast > from) {
    const inner = nameExpression(reader, from, cast);
    return inner ?? readPart(reader, reader.nameEnd(cast + 1) - 1);
  }
  if (reader.isOneOf(from, KEYWORDS)) {
    return isWhole(reader, from, to) ? reader.key(from).toLowerCase() : undefined;
  }
  const end = reader.nameEnd(from);
  if (end === from) return undefined;
  if (end === to) return readPart(reader, end - 1);
  return reader.key(end) === "(" && reader.next(end) === to ? readPart(reader, end - 1) : undefined;
}

function isWhole(reader: StatementReader, from: number, to: number): boolean {
  return reader.key(from) === "CASE" ? reader.key(to - 1) === "END" : reader.next(from + 1) === to;
}

/** Returns the position of the last applied `::` if the whole expression is a cast; else -1. */
function lastCast(reader: StatementReader, from: number, to: number): number {
  let cast = -1;
  for (let at = from; at < to; at = reader.next(at)) {
    if (reader.key(at) === "::") cast = at;
    else if (
      reader.token(at)?.kind === "symbol" && !["(", ")", "[", "]", "."].includes(reader.key(at))
    ) return -1;
  }
  return cast;
}

/**
 * Returns the parts for the keys in the generated name of an index: `a`, `lower`, `expr`, with a
 * number for repeated ones (PostgreSQL 15, ChooseIndexColumnNames).
 *
 * @param reader The statement.
 * @param keys Keys and columns of INCLUDE, as ranges.
 */
export function nameKeys(
  reader: StatementReader,
  keys: readonly (readonly [number, number])[],
): string[] {
  const names: string[] = [];
  for (const [from] of keys) {
    const first = nameKey(reader, from);
    let name = first;
    for (let count = 1; names.includes(name); count++) name = appendNumber(first, count);
    names.push(name);
  }
  return names;
}

function appendNumber(name: string, count: number): string {
  const digits = String(count);
  return truncateName(`${name}${digits}`) === `${name}${digits}`
    ? `${name}${digits}`
    : deriveName(name, "", digits);
}
