import { getKey } from "../../schema/declared_schema.ts";
import { readPart } from "../../schema/read_object.ts";
import { readName, writeName } from "../../../sql/sql_name.ts";
import type { StatementReader } from "../../../sql/statement_reader.ts";
import { TokenEdits } from "../../../sql/token_edits.ts";
import type { StatementTranslation } from "../context/translation.ts";
import { findTable, refuseJsonKeys } from "./known_table.ts";
import { keywordSet } from "../../../sql/list_words.ts";

const MAX_KEY_COLUMNS = 8;
const TREE_METHODS: ReadonlySet<string> = new Set(["btree", "btree_index", "hash"]);
/** Operator classes of key types with the default sort order. Others may compare differently. */
const SAME_ORDER =
  /^(?:array_|bool|bpchar|bpchar_pattern|bytea|char|date|float[48]|int[248]|interval|name|numeric|oid|text|text_pattern|time|timestamp|timestamptz|timetz|uuid|varchar|varchar_pattern)_(?:minmax_|minmax_multi_|bloom_)?ops$/;
/**
 * Functions that are STABLE for timestamptz, and casts of it to text: not allowed in index keys.
 */
const UNSTABLE: ReadonlySet<string> = keywordSet(
  "DATE_TRUNC TO_CHAR NOW AGE CURRENT_TIMESTAMP CURRENT_DATE",
);

/** Checks whether a key is a column, not an expression. */
function isColumn(reader: StatementReader, from: number): boolean {
  return reader.isName(from) && !reader.is(reader.nameEnd(from), "(");
}

/** Returns the end of a key's column or expression. */
function keyHeadEnd(reader: StatementReader, from: number): number {
  if (reader.key(from) === "(") return reader.next(from);
  const end = reader.nameEnd(from);
  return reader.key(end) === "(" ? reader.next(end) : Math.max(end, from + 1);
}

/** Checks for `NULLS FIRST` or `NULLS LAST`, not an operator class in a schema named nulls. */
function isNullsOrder(reader: StatementReader, at: number): boolean {
  return reader.is(at, "NULLS", "FIRST") || reader.is(at, "NULLS", "LAST");
}

/** Removes the sort order and operator class from a key; returns the direction. */
function translateKey(
  edits: TokenEdits,
  from: number,
  to: number,
  t: StatementTranslation,
): "asc" | "desc" {
  const { reader } = edits;
  const head = keyHeadEnd(reader, from);
  const isExpression = reader.key(head - 1) === ")";
  for (let at = from; isExpression && at < head; at++) {
    if (reader.isOneOf(at, UNSTABLE)) t.warn("index-expression");
  }
  let direction: "asc" | "desc" = "asc";
  for (let at = head; at < to;) {
    if (reader.is(at, "ASC") || reader.is(at, "DESC")) {
      if (reader.is(at, "DESC")) direction = "desc";
      edits.remove(at, at + 1);
      t.apply("index-sort-order");
      at++;
    } else if (isNullsOrder(reader, at)) at += 2;
    else {
      const { name, path, end } = readName(reader, at);
      const isBuiltIn = path === name || path === `pg_catalog.${name}`;
      if (!isBuiltIn || !SAME_ORDER.test(name)) {
        t.refuse("index-operator-class-unsupported", `operator class ${name}`);
      }
      const next = reader.key(end) === "(" ? reader.next(end) : Math.max(end, at + 1);
      edits.remove(at, next);
      t.apply("index-operator-class");
      at = next;
    }
  }
  for (let at = head; direction === "desc" && at < to; at++) {
    if (!isNullsOrder(reader, at)) continue;
    edits.replace(at + 1, at + 2, reader.is(at + 1, "LAST") ? "FIRST" : "LAST");
  }
  return direction;
}

function translateMethod(edits: TokenEdits, at: number, t: StatementTranslation): number {
  const { reader } = edits;
  if (reader.key(at) !== "USING") return at;
  const method = readName(reader, at + 1);
  if (method.name === "brin") t.warn("index-method");
  else if (TREE_METHODS.has(method.name)) t.apply("index-method");
  else t.refuse("index-method-unsupported", `USING ${method.name}`);
  edits.remove(at, method.end);
  return method.end;
}

/**
 * Translates the clauses after the keys: keeps INCLUDE and NULLS NOT DISTINCT, omits storage, keeps
 * WHERE if supported.
 */
function translateTail(
  edits: TokenEdits,
  from: number,
  isUnique: boolean,
  t: StatementTranslation,
): void {
  const { reader } = edits;
  for (let at = from; at < reader.size;) {
    let end = reader.next(at);
    if (reader.is(at, "WHERE")) {
      if (t.can("partial_indexes")) return t.apply("index-partial");
      if (isUnique) {
        return t.refuse("index-partial-unique-unsupported", "the WHERE of a unique index");
      }
      t.warn("index-partial-dropped");
      return edits.remove(at, reader.size);
    }
    const isStorage = reader.is(at, "WITH", "(") || reader.is(at, "TABLESPACE");
    if (isStorage) {
      end = reader.is(at, "WITH") ? reader.next(at + 1) : reader.nameEnd(at + 1);
      edits.remove(at, end);
      t.apply("index-storage");
    }
    at = end;
  }
}

/**
 * Returns PostgreSQL's generated name for an index of a known table, as SQL, because the job is
 * found by its name.
 */
function generatedName(
  reader: StatementReader,
  tableAt: number,
  t: StatementTranslation,
): string | undefined {
  const table = findTable(reader, tableAt, t);
  const after = table && t.scope.declared.tables.get(getKey(table));
  const made = after?.indexes.find(({ name }) =>
    !table?.indexes.some((index) => index.name === name)
  );
  return made && writeName(made.name, false);
}

/**
 * Checks whether ASYNC at a position is the provider's keyword, not the name of the index. `ON` can
 * follow both a name and the keyword of an unnamed index: then the keyword is in upper case, as the
 * translation writes it.
 */
export function isAsyncKeyword(reader: StatementReader, at: number): boolean {
  if (!reader.is(at, "ASYNC")) return false;
  return !reader.is(at + 1, "ON") || reader.token(at)!.text === "ASYNC";
}

/**
 * Translates CREATE INDEX: asynchronous, without unsupported clauses. Keeps the predicate of a
 * partial index.
 *
 * @param reader The statement.
 * @param t Receives the result.
 */
export function translateCreateIndex(reader: StatementReader, t: StatementTranslation): void {
  const edits = new TokenEdits(reader);
  const isUnique = reader.key(1) === "UNIQUE";
  let at = isUnique ? 3 : 2;
  t.apply("index-async");
  if (reader.key(at) === "CONCURRENTLY") edits.replace(at, at + 1, "ASYNC"), at++;
  else if (isAsyncKeyword(reader, at)) at++;
  else edits.insertAfter(at - 1, " ASYNC");
  at = reader.skip(at, "IF", "NOT", "EXISTS");
  let index: string | undefined;
  if (reader.key(at) !== "ON") {
    const name = readName(reader, at);
    index = reader.token(name.end - 1)?.text;
    if (reader.key(name.end - 1) === "ASYNC") {
      index = '"async"';
      edits.replace(name.end - 1, name.end, index);
      t.apply("index-name-async");
    }
    if (name.end - at > 1) {
      edits.remove(at, name.end - 1);
      t.apply("index-name-schema");
    }
    at = name.end;
  } else {
    index = generatedName(reader, reader.skip(at + 1, "ONLY"), t);
    if (index !== undefined) edits.insertBefore(at, `${index} `);
  }
  at++;
  if (reader.key(at) === "ONLY") {
    edits.remove(at, at + 1);
    t.apply("index-only");
    at++;
  }
  const tableAt = at;
  const table = readName(reader, at);
  at = translateMethod(edits, table.end, t);
  if (reader.key(at) === "(") {
    const keys = reader.listIn(at);
    if (keys.length > MAX_KEY_COLUMNS) {
      t.refuse("index-key-columns", `a key of ${keys.length} columns`);
    }
    const directions = new Set(keys.map(([from, to]) => translateKey(edits, from, to, t)));
    const columns = keys.filter(([from]) => isColumn(reader, from)).map(([from]) =>
      readPart(reader, from)
    );
    refuseJsonKeys(findTable(reader, tableAt, t), columns, t);
    if (directions.size > 1) t.warn("index-sort-order");
    translateTail(edits, reader.next(at), isUnique, t);
  }
  t.emit(edits.apply(), { job: { kind: "index", table: table.text, name: index } });
}
