import { readName } from "../../sql/sql_name.ts";
import { StatementReader } from "../../sql/statement_reader.ts";
import { getObject, getTable } from "../../distsql/syntax/statement_table.ts";
import { TokenEdits } from "../../sql/token_edits.ts";
import { tokenize } from "../../sql/tokenize.ts";
import type { Piece, TrialFile } from "./sources.ts";

/**
 * Missing features of the engine by rule. A rejection by another rule is a fault of the
 * translation.
 */
const ENGINE_LIMITS: Readonly<Record<string, string>> = {
  "type-array": "array column",
  "type-extension": "extension",
  "type-unsupported": "column type",
  "function-language": "PL/pgSQL",
  "procedure": "PL/pgSQL",
  "do-block": "PL/pgSQL",
  "trigger": "trigger",
  "index-method-unsupported": "GIN or vector index",
  "index-operator-class-unsupported": "GIN or vector index",
  "text-search": "text search",
  "create-table-temporary": "temporary table",
  "create-table-as": "table made from a query",
  "constraint-exclude": "EXCLUDE constraint",
  "materialized-view": "materialized view",
};

/** Reason why planning rejects a statement. */
export interface Finding {
  readonly rule: string;
  readonly message: string;
  readonly table: string | undefined;
}

/** Removed objects. */
export interface Removed {
  /** Columns by table. */
  readonly columns: Map<string, Set<string>>;
  /** Functions, indexes, tables and types. */
  readonly objects: Map<string, string>;
}

function getReader(text: string): StatementReader {
  return new StatementReader(tokenize(text));
}

function bare(name: string): string {
  return name.split(".").at(-1)!;
}

/** Lists the names in a statement in the form of the catalog. */
function mentions(reader: StatementReader, from = 0, to = reader.size): Set<string> {
  const names = new Set<string>();
  for (let at = from; at < to; at++) {
    if (reader.isName(at)) names.add(readName(reader, at).path.split(".")[0]);
  }
  return names;
}

/** Removes the column of a finding, or else its statement. */
export function takeOut(piece: Piece, finding: Finding, removed: Removed): void {
  const reason = ENGINE_LIMITS[finding.rule] ?? `FAULT ${finding.rule}: ${finding.message}`;
  const column = /column (.+) of type /.exec(finding.message)?.[1];
  const reader = getReader(piece.text);
  const table = finding.table && bare(finding.table);
  const isColumn = column !== undefined && table !== undefined && createsColumn(reader, column);
  if (isColumn) removed.columns.set(table, (removed.columns.get(table) ?? new Set()).add(column));
  if (isColumn && dropColumn(piece, reader, column)) piece.edited = reason;
  else drop(piece, reason, removed);
}

/** Checks that a statement creates a column and does not only change its type. */
function createsColumn(reader: StatementReader, column: string): boolean {
  if (!reader.is(0, "ALTER", "TABLE")) {
    return reader.is(0, "CREATE") && reader.find(new Set(["TABLE"]), 1) > 0;
  }
  const [start, end] = getActions(reader);
  return reader.list(start, end).some(([from, to]) =>
    reader.is(from, "ADD") && mentions(reader, from, to).has(column)
  );
}

/** Drops a statement and records the objects that it would have created. */
export function drop(piece: Piece, reason: string, removed: Removed): void {
  piece.dropped = reason;
  const reader = getReader(piece.text);
  if (!reader.is(0, "CREATE")) return;
  const on = reader.find(new Set(["ON"]), 1);
  const isIndex = reader.is(1, "INDEX") || reader.is(1, "UNIQUE", "INDEX");
  const name = isIndex && on > 0
    ? readName(reader, on - 1).path
    : reader.is(1, "TRIGGER")
    ? undefined
    : getObject(reader) ?? getTable(reader);
  if (name !== undefined) removed.objects.set(bare(name), reason);
}

/**
 * Removes a column from CREATE TABLE or ALTER TABLE ADD COLUMN. Returns false if nothing would
 * remain.
 */
function dropColumn(piece: Piece, reader: StatementReader, column: string): boolean {
  const isAlter = reader.is(0, "ALTER", "TABLE");
  const [start, end] = isAlter ? getActions(reader) : getElements(reader);
  const parts = reader.list(start, end);
  const kept = parts.filter(([from, to]) => {
    if (!isAlter) return readName(reader, from).name !== column;
    return !mentions(reader, from, to).has(column);
  });
  if (kept.length === 0 || kept.length === parts.length) return false;
  const edits = new TokenEdits(reader);
  edits.replace(start, end, kept.map(([from, to]) => reader.text(from, to)).join(", "));
  piece.text = edits.apply();
  return true;
}

function getElements(reader: StatementReader): [number, number] {
  const open = reader.find(new Set(["("]), 2);
  return [open + 1, reader.closing(open)];
}

function getActions(reader: StatementReader): [number, number] {
  const at = reader.skip(reader.skip(2, "IF", "EXISTS"), "ONLY");
  return [reader.nameEnd(at), reader.size];
}

/** Removes uses of removed objects. */
export function takeOutUses(files: readonly TrialFile[], removed: Removed): boolean {
  let changed = false;
  for (const { pieces } of files) {
    for (const piece of pieces) {
      if (piece.dropped !== undefined) continue;
      const reader = getReader(piece.text);
      const names = mentions(reader);
      const object = [...names].find((name) => removed.objects.has(name));
      const creates = object !== undefined && reader.is(0, "CREATE") && getTable(reader) !== object;
      if (object !== undefined && (creates || !reader.is(0, "CREATE")) && !isGuarded(reader)) {
        drop(piece, removed.objects.get(object)!, removed);
        changed = true;
        continue;
      }
      for (const [table, columns] of removed.columns) {
        const column = names.has(table) ? [...columns].find((name) => names.has(name)) : undefined;
        if (column === undefined || piece.edited !== undefined && reader.is(0, "CREATE", "TABLE")) {
          continue;
        }
        if (reader.is(0, "CREATE", "TABLE") && bare(getTable(reader) ?? "") !== table) continue;
        if (reader.is(0, "ALTER", "TABLE") && dropColumn(piece, reader, column)) {
          piece.edited = "uses a column that is out";
        } else drop(piece, "uses a column that is out", removed);
        changed = true;
        break;
      }
    }
  }
  return changed;
}

/** Checks for `DROP … IF EXISTS`, which runs without its object. */
function isGuarded(reader: StatementReader): boolean {
  return reader.is(0, "DROP") && (reader.is(2, "IF", "EXISTS") || reader.is(3, "IF", "EXISTS"));
}
