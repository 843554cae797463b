import { DatabaseOperation } from "../../database/table_permission.ts";
import { findRelationNames } from "../../sql/relation_names.ts";
import { getName } from "../../sql/sql_name.ts";
import { splitStatements } from "../../sql/statement.ts";
import { StatementReader } from "../../sql/statement_reader.ts";
import { type SqlToken, tokenize } from "../../sql/tokenize.ts";
import { parseTable, type TableName } from "./values.ts";
import { quoteName } from "../../sql/quote.ts";

const { Select, Insert, Update, Delete } = DatabaseOperation;

/** Replaces a value that is only known at run time. */
export const PLACEHOLDER = "$1";

/** A table in a statement, with the operations on it. */
export interface SqlTable {
  readonly table: TableName;
  readonly operations: readonly DatabaseOperation[];
}

/** The tables of SQL text. */
export interface SqlTables {
  readonly tables: readonly SqlTable[];
  /** True if the name of a table is a placeholder. */
  readonly hasUnknownTable: boolean;
}

/**
 * Finds the tables in SQL and the privileges that its statements need on them (PostgreSQL 18,
 * GRANT).
 *
 * @param sql Statements; {@link PLACEHOLDER} replaces unknown parts.
 */
export function readSqlTables(sql: string): SqlTables {
  const tables: SqlTable[] = [];
  let hasUnknownTable = false;
  for (const { tokens } of splitStatements(joinQualifiedNames(sql))) {
    const reader = new StatementReader(tokens);
    hasUnknownTable ||= hasPlaceholderTable(reader) ||
      BEFORE_TABLE.has(reader.key(reader.size - 1));
    tables.push(...readRareForms(reader));
    const block = readBlock(reader);
    tables.push(...block.tables);
    hasUnknownTable ||= block.hasUnknownTable;
    for (const { at, role } of findRelationNames(reader)) {
      if (role !== "relation") continue;
      const table = parseTable(getName(reader.token(at)!));
      if (isCatalog(table)) continue;
      tables.push({ table, operations: readOperations(reader, at) });
    }
  }
  return { tables, hasUnknownTable };
}

/** Reads `TABLE notes` and the source of a MERGE. */
function readRareForms(reader: StatementReader): SqlTable[] {
  const at = reader.is(0, "TABLE")
    ? 1
    : reader.is(0, "MERGE")
    ? reader.find(new Set(["USING"]), 1) + 1
    : 0;
  if (at === 0 || !reader.isName(at)) return [];
  return [{ table: parseTable(getName(reader.token(at)!)), operations: [Select] }];
}

/** Reads the static statements of a DO block; dynamic SQL in it is unknown. */
function readBlock(reader: StatementReader): SqlTables {
  const positions = reader.is(0, "DO") ? [1, 2, 3] : [];
  const body = positions.map((at) => reader.token(at)?.text ?? "").find((text) =>
    text.startsWith("$")
  );
  if (body === undefined) return { tables: [], hasUnknownTable: false };
  const text = getDollarBody(body);
  const { tables, hasUnknownTable } = readSqlTables(
    text.replace(/\b(?:begin|then|else|loop)\b/gi, ";"),
  );
  return { tables, hasUnknownTable: hasUnknownTable || /\bexecute\b/i.test(text) };
}

/** Returns the text in a dollar-quoted string: `$$ … $$`. */
export function getDollarBody(literal: string): string {
  const length = literal.indexOf("$", 1) + 1;
  return literal.slice(length, -length);
}

/**
 * Rewrites `app.notes` as one quoted name, because the reader accepts names without a schema only.
 */
function joinQualifiedNames(sql: string): string {
  const tokens = tokenize(sql);
  let text = "";
  for (let at = 0; at < tokens.length; at++) {
    const [name, dot, member] = tokens.slice(at, at + 3);
    if (isName(name) && dot?.text === "." && isName(member) && tokens[at + 3]?.text !== ".") {
      text += quoteName(`${getName(name)}.${getName(member)}`);
      at += 2;
    } else text += name.text;
  }
  return text;
}

function isName(token: SqlToken | undefined): token is SqlToken {
  return token?.kind === "quoted" || (token?.kind === "word" && /^[a-z_]/i.test(token.text));
}

function isCatalog({ schema, name }: TableName): boolean {
  return schema === "pg_catalog" || schema === "information_schema" || schema === "sys" ||
    /^pg_/.test(name);
}

const BEFORE_TABLE: ReadonlySet<string> = new Set(["FROM", "JOIN", "INTO", "ONLY"]);

function hasPlaceholderTable(reader: StatementReader): boolean {
  for (let at = 1; at < reader.size; at++) {
    if (reader.text(at, at + 1) !== PLACEHOLDER) continue;
    const before = reader.key(at - 1);
    const isUpdate = before === "UPDATE" && at === 1;
    const isArgument = before === "FROM" && /^(?:DISTINCT)$/.test(reader.key(at - 2));
    if (isUpdate || (BEFORE_TABLE.has(before) && !isArgument && !isInCall(reader, at))) return true;
  }
  return false;
}

/** Checks for `extract(day FROM $1)`: the FROM in such a call is not followed by a table. */
function isInCall(reader: StatementReader, at: number): boolean {
  let depth = 0;
  for (let place = at - 1; place > 0; place--) {
    if (reader.key(place) === ")") depth++;
    else if (reader.key(place) === "(" && depth-- === 0) {
      return /^(?:EXTRACT|SUBSTRING|TRIM|OVERLAY|POSITION)$/.test(reader.key(place - 1));
    } else if (depth === 0 && reader.key(place) === "SELECT") return false;
  }
  return false;
}

function readOperations(reader: StatementReader, at: number): DatabaseOperation[] {
  const place = reader.key(at - 1) === "ONLY" ? at - 1 : at;
  const before = reader.key(place - 1);
  const rest = (words: readonly string[]) => hasLater(reader, at, words);
  if (before === "INTO" && reader.key(place - 2) === "INSERT") {
    const isUpsert = rest(["DO", "UPDATE"]);
    const reads = isUpsert || rest(["RETURNING"]) || rest(["ON", "CONFLICT", "("]);
    return [Insert, ...reads ? [Select] : [], ...isUpsert ? [Update] : []];
  }
  if (before === "INTO" && reader.key(place - 2) === "MERGE") {
    return [Select, Insert, Update, Delete];
  }
  if (before === "UPDATE" && reader.key(place - 2) !== "FOR") {
    return [Update, ...rest(["WHERE"]) || rest(["RETURNING"]) || rest(["FROM"]) ? [Select] : []];
  }
  if (before === "FROM" && reader.key(place - 2) === "DELETE") {
    return [Delete, ...rest(["WHERE"]) || rest(["RETURNING"]) || rest(["USING"]) ? [Select] : []];
  }
  return [Select, ...isLocked(reader, at) ? [Update] : []];
}

/** Row locks after FOR; all of them need UPDATE. */
const LOCKS = [["UPDATE"], ["NO", "KEY", "UPDATE"], ["SHARE"], ["KEY", "SHARE"]];

/** Keywords that can follow a table without an alias. */
const AFTER_TABLE: ReadonlySet<string> = new Set(
  ("CROSS EXCEPT FETCH FOR FULL GROUP HAVING INNER INTERSECT JOIN LEFT LIMIT NATURAL OFFSET ON ORDER RIGHT " +
    "TABLESAMPLE UNION USING WHERE WINDOW").split(" "),
);

/** Checks for a row lock on a table: one without OF, or with the table's alias or name after OF. */
function isLocked(reader: StatementReader, table: number): boolean {
  let name = findAlias(reader, reader.nameEnd(table)) ??
    parseTable(getName(reader.token(table)!)).name;
  for (let at = table + 1; at < reader.size; at = reader.next(at)) {
    if (reader.key(at) === ")") {
      // a lock outside of a subquery in FROM locks its tables, too
      if (!isSource(reader, at)) return false;
      name = findAlias(reader, at + 1) ?? name;
    }
    if (reader.key(at) !== "FOR") continue;
    const lock = LOCKS.find((words) => words.every((word, i) => reader.key(at + 1 + i) === word));
    if (lock === undefined) continue;
    const of = at + 1 + lock.length;
    if (reader.key(of) !== "OF") return true;
    for (let each = of + 1; reader.isName(each); each += 2) {
      if (getName(reader.token(each)!) === name) return true;
      if (reader.key(each + 1) !== ",") break;
    }
  }
  return false;
}

/** Returns the alias at a position after a table or a subquery. */
function findAlias(reader: StatementReader, at: number): string | undefined {
  const place = reader.key(at) === "AS" ? at + 1 : at;
  const isAlias = reader.isName(place) && (place > at || !AFTER_TABLE.has(reader.key(at)));
  return isAlias ? getName(reader.token(place)!) : undefined;
}

/** Checks whether a closing bracket ends a source in FROM: a subquery or a join in brackets. */
function isSource(reader: StatementReader, closing: number): boolean {
  let open = closing - 1;
  while (open >= 0 && !(reader.key(open) === "(" && reader.closing(open) === closing)) open--;
  return /^(?:FROM|JOIN|LATERAL|,)$/.test(reader.key(open - 1));
}

/** Checks whether words follow a table, up to the end of the enclosing parentheses. */
function hasLater(reader: StatementReader, from: number, words: readonly string[]): boolean {
  for (let at = from + 1; at < reader.size && reader.key(at) !== ")"; at = reader.next(at)) {
    if (words.every((word, offset) => reader.key(at + offset) === word)) return true;
  }
  return false;
}
