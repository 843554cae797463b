import { readName } from "../../distsql/sql_name.ts";
import type { StatementReader } from "../../distsql/statement_reader.ts";
import { MAX_ROWS } from "./row_limit.ts";
import { findTable, type SchemaFacts, type TableFacts } from "./schema_facts.ts";

const WRITES: ReadonlySet<string> = new Set(["INSERT", "UPDATE", "DELETE", "MERGE"]);
const QUERY: ReadonlySet<string> = new Set(["SELECT", "WITH", "TABLE", "("]);

/**
 * What earlier pending statements do to the rows of tables, as far as planning has to know it: how many rows they may
 * add, and which tables are not as the database shows them now.
 */
export class PendingRows {
  readonly #added: Map<TableFacts, number> = new Map();
  readonly #touched: Set<TableFacts> = new Set();

  /** How many rows a table can have more than now. */
  addedTo(table: TableFacts): number {
    return this.#added.get(table) ?? 0;
  }

  /** Whether the rows and columns of a table are what the database shows now. */
  isAsNow(table: TableFacts): boolean {
    return table.live !== undefined && !this.#touched.has(table);
  }

  /**
   * Notes what a statement does.
   *
   * @param reader The statement.
   * @param facts The schema when it runs.
   */
  note(reader: StatementReader, facts: SchemaFacts): void {
    if (reader.is(0, "ALTER", "TABLE")) {
      const at = reader.skip(reader.skip(reader.skip(2, "ASYNC"), "IF", "EXISTS"), "ONLY");
      this.#touch(findTable(facts, readName(reader, at).path));
      return;
    }
    for (let at = 0; at < reader.size; at++) {
      if (!reader.isOneOf(at, WRITES)) continue;
      const name = reader.is(at + 1, "INTO") || reader.is(at + 1, "FROM") ? at + 2 : at + 1;
      const table = findTable(facts, readName(reader, reader.skip(name, "ONLY")).path);
      if (table === undefined) continue;
      this.#touch(table);
      if (reader.is(at, "INSERT")) {
        this.#added.set(table, this.addedTo(table) + this.#countInserted(reader, name, facts));
      }
      if (reader.is(0, "DELETE") && reader.nameEnd(name) === reader.size) this.#added.set(table, 0);
    }
  }

  /** How many rows an INSERT adds at most: those of VALUES are counted, and no statement can add more than the limit. */
  #countInserted(reader: StatementReader, name: number, facts: SchemaFacts): number {
    if (!reader.is(0, "INSERT")) return MAX_ROWS;
    let at = readName(reader, name).end;
    if (reader.is(at, "AS")) at += 2;
    if (reader.is(at, "(") && !reader.isOneOf(at + 1, QUERY)) at = reader.next(at);
    if (reader.is(at, "OVERRIDING")) at += 3;
    if (reader.is(at, "DEFAULT", "VALUES")) return 1;
    const rows = reader.is(at, "VALUES") ? countValues(reader, at + 1) : this.#countSelected(reader, at, facts);
    return Math.min(rows, MAX_ROWS);
  }

  /** How many rows a query over tables that earlier migrations create gives at most. */
  #countSelected(reader: StatementReader, from: number, facts: SchemaFacts): number {
    let rows: number | undefined;
    for (let at = from; at < reader.size; at++) {
      if (reader.isOneOf(at, NOT_COUNTED)) return MAX_ROWS;
      if (!reader.is(at, "FROM") && !reader.is(at, "JOIN")) continue;
      const { path, end } = readName(reader, at + 1);
      const table = findTable(facts, path);
      if (table === undefined || table.live !== undefined || hasComma(reader, end)) return MAX_ROWS;
      rows = rows === undefined ? this.addedTo(table) : rows * Math.max(1, this.addedTo(table));
    }
    return rows ?? MAX_ROWS;
  }

  #touch(table: TableFacts | undefined): void {
    if (table !== undefined) this.#touched.add(table);
  }
}

/** Words of a query that can give more rows than its tables have. */
const NOT_COUNTED: ReadonlySet<string> = new Set([
  ...[
    "UNION",
    "FULL",
    "RIGHT",
    "LATERAL",
    "GENERATE_SERIES",
    "GENERATE_SUBSCRIPTS",
    "UNNEST",
    "VALUES",
    "WITH",
    "CUBE",
  ],
  ...["ROLLUP", "SETS", "JSON_ARRAY_ELEMENTS", "JSONB_ARRAY_ELEMENTS", "STRING_TO_TABLE", "REGEXP_SPLIT_TO_TABLE"],
]);

/** Whether a second table follows in the FROM list, with or without an alias of the first. */
function hasComma(reader: StatementReader, end: number): boolean {
  const at = reader.skip(end, "AS");
  return reader.is(at, ",") || (reader.isName(at) && reader.is(at + 1, ","));
}

function countValues(reader: StatementReader, start: number): number {
  let rows = 0;
  for (let at = start; reader.is(at, "("); at = reader.skip(reader.next(at), ",")) rows++;
  return rows;
}
