import { getKey } from "../schema/declared_schema.ts";
import { readPart, toObjectName, type WrittenName } from "../schema/read_object.ts";
import type { TableSchema } from "../schema/table_schema.ts";
import { getName, readName } from "../../sql/sql_name.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import { hasDeleteAction, listReferencing, type Relation } from "./relation.ts";
import type { CompoundChange, RowChange, TokenRange } from "./row_change.ts";
import { MAX_ROWS } from "./run_batches.ts";

const WRITES: ReadonlySet<string> = new Set(["INSERT", "UPDATE", "DELETE", "MERGE"]);

/** Words of ALTER TABLE that may change keys or names. */
const KEY_WORDS: ReadonlySet<string> = new Set(
  ["UNIQUE", "PRIMARY", "FOREIGN", "REFERENCES", "GENERATED", "RENAME", "DROP"],
);

/** Effects of earlier pending statements on a table. */
interface TableRows {
  /** Name of the table now, as SQL. */
  readonly live: string;
  /** Maximum number of inserted rows. */
  added: number;
  /** Columns that are set. */
  readonly columns: Set<string>;
  /** True if an effect is unknown. */
  isUnknown: boolean;
}

/** Returns the key of a table by its name in a statement: its qualified name as SQL. */
export function keyOf(name: WrittenName): string {
  return getKey(toObjectName(name));
}

/**
 * Effects of earlier pending statements on rows, as far as planning needs them: the rows they may
 * add, and whether a condition matches the same rows now and later.
 */
export class PendingRows {
  readonly #tables: Map<string, TableRows> = new Map();
  readonly #altered: Set<string> = new Set();
  /** True after a change of a view, whose rows belong to any table. */
  #isAnyChanged = false;

  #of(key: string): TableRows {
    const known = this.#tables.get(key);
    if (known !== undefined) return known;
    const rows = { live: key, added: 0, columns: new Set<string>(), isUnknown: false };
    this.#tables.set(key, rows);
    return rows;
  }

  /** Returns the maximum number of rows that a table will have more than now. */
  addedTo(key: string): number {
    return this.#tables.get(key)?.added ?? 0;
  }

  /** Checks whether an earlier statement may change a table's keys or its name. */
  isAltered(key: string): boolean {
    return this.#altered.has(key);
  }

  /** Returns the name that a table has now. */
  liveName(key: string): string {
    return this.#tables.get(key)?.live ?? key;
  }

  /**
   * Checks whether the rows that a change matches can be counted now: nothing was changed before
   * it, or its condition reads only unchanged columns of the same table.
   */
  canCount({ reader, table, from, where }: RowChange): boolean {
    if (this.#tables.size === 0 && !this.#isAnyChanged) return true;
    const own = this.#tables.get(keyOf(table));
    if (this.#isAnyChanged || own?.isUnknown === true) return false;
    if ((own?.live ?? keyOf(table)) !== keyOf(table)) return false;
    const names = findNames(reader, where);
    if (from[0] !== from[1] || names === undefined) return false;
    return own === undefined || ![...own.columns].some((column) => names.has(column));
  }

  /**
   * Records the effects of a statement.
   *
   * @param reader The statement.
   * @param change The statement, if it updates or deletes rows.
   * @param table The table that it changes.
   */
  note(
    reader: StatementReader,
    change: RowChange | CompoundChange | undefined,
    table: Relation,
  ): void {
    if (reader.is(0, "ALTER", "TABLE")) this.#noteAlter(reader);
    else if (reader.is(0, "CREATE", "UNIQUE", "INDEX")) {
      const at = reader.skip(reader.find("ON", 2) + 1, "ONLY");
      this.#altered.add(keyOf(readName(reader, at)));
    } else if (reader.is(0, "CREATE") && reader.find("AS", 2) >= 0) this.#noteCreated(reader);
    else if (change === undefined || change.verb === "compound") this.#noteWrites(reader);
    else if (table === undefined || table === "other") this.#isAnyChanged = true;
    else this.#noteChange(change, table);
  }

  #noteAlter(reader: StatementReader): void {
    const name = readName(reader, reader.skip(reader.skip(2, "ASYNC"), "IF", "EXISTS"));
    const written = name.name === "" ? readName(reader, reader.alteredTableAt()) : name;
    const key = keyOf(written);
    if (reader.find(KEY_WORDS, written.end) >= 0) this.#altered.add(key);
    if (reader.is(written.end, "RENAME", "TO")) {
      const rows = this.#of(key);
      this.#tables.delete(key);
      const to = { ...toObjectName(written), name: readPart(reader, written.end + 2) };
      this.#tables.set(getKey(to), rows);
      this.#altered.add(getKey(to));
      return;
    }
    const adds = reader.list(written.end, reader.size).every(([from]) =>
      reader.is(from, "ADD") || reader.is(from, "VALIDATE")
    );
    if (!adds) this.#of(key).isUnknown = true;
  }

  /** Records CREATE TABLE … AS. */
  #noteCreated(reader: StatementReader): void {
    const at = reader.find("TABLE", 1);
    if (at < 0) return;
    this.#of(keyOf(readName(reader, reader.skip(at + 1, "IF", "NOT", "EXISTS")))).added += MAX_ROWS;
  }

  #noteWrites(reader: StatementReader): void {
    for (let at = 0; at < reader.size; at++) {
      if (!reader.isOneOf(at, WRITES)) continue;
      const name = reader.is(at + 1, "INTO") || reader.is(at + 1, "FROM") ? at + 2 : at + 1;
      const written = readName(reader, reader.skip(name, "ONLY"));
      if (written.name === "") continue;
      const rows = this.#of(keyOf(written));
      if (reader.is(at, "INSERT")) rows.added += countInserted(reader, written.end);
      const isPlain = reader.is(at, "INSERT") && at === 0 && reader.find("CONFLICT", name) < 0;
      if (!isPlain) rows.isUnknown = true;
    }
  }

  #noteChange(change: RowChange, table: TableSchema): void {
    const rows = this.#of(keyOf(change.table));
    if (change.verb === "update") {
      const generated = table.columns.filter((column) => column.generated !== undefined);
      for (const name of [...change.columns, ...generated.map(({ name }) => name)]) {
        rows.columns.add(name);
      }
    } else if (change.where[0] === change.where[1] && change.from[0] === change.from[1]) {
      rows.added = 0;
    }
    for (const key of listReferencing(table)) {
      const isChanged = change.verb === "delete"
        ? hasDeleteAction(key)
        : key.references?.columns.some((column) => change.columns.includes(column));
      if (!isChanged) continue;
      if (key.from.table === table.name && key.from.schema === (table.schema ?? "public")) {
        for (const column of key.columns) rows.columns.add(column);
      } else this.#of(getKey({ schema: key.from.schema, name: key.from.table })).isUnknown = true;
    }
  }
}

/** Returns the maximum number of rows that an INSERT adds; no statement can add more than the limit. */
function countInserted(reader: StatementReader, end: number): number {
  let at = reader.is(end, "AS") ? end + 2 : end;
  if (reader.is(at, "(") && !reader.is(at + 1, "SELECT")) at = reader.next(at);
  if (reader.is(at, "OVERRIDING")) at += 3;
  if (reader.is(at, "DEFAULT", "VALUES")) return 1;
  if (!reader.is(at, "VALUES")) return MAX_ROWS;
  let rows = 0;
  for (at++; reader.is(at, "("); at = reader.skip(reader.next(at), ",")) rows++;
  return Math.min(rows, MAX_ROWS);
}

/** Returns the names in a range; `undefined` if it has a subquery. */
function findNames(
  reader: StatementReader,
  [from, to]: TokenRange,
): ReadonlySet<string> | undefined {
  const names = new Set<string>();
  for (let at = from; at < to; at++) {
    if (reader.is(at, "SELECT") || reader.is(at, "(", "TABLE")) return undefined;
    if (reader.isName(at)) names.add(getName(reader.token(at)!));
  }
  return names;
}
