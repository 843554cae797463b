import { readName } from "../../sql/sql_name.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import { findDeleted } from "./changed_tables.ts";
import { countInserted } from "./count_inserted.ts";
import type { CompoundChange, RowChange } from "./row_change.ts";
import { findTable, type SchemaFacts, type TableFacts } from "./schema_facts.ts";

const WRITES: ReadonlySet<string> = new Set(["INSERT", "UPDATE", "DELETE", "MERGE"]);

/** Effects of earlier pending statements on a table. */
interface TableChange {
  /** Maximum number of inserted rows. */
  added: number;
  /** True if rows are deleted. */
  isDeleted: boolean;
  /** Columns that are set. */
  readonly columns: Set<string>;
  /** True if an effect is unknown. */
  isUnknown: boolean;
}

/**
 * Effects of earlier pending statements on rows, as far as planning needs them: the rows they may
 * add, and the data that will differ from the current database.
 */
export class PendingRows {
  readonly #changes: Map<TableFacts, TableChange> = new Map();

  /** Returns the maximum number of rows that a table will have more than now. */
  addedTo(table: TableFacts): number {
    return this.#changes.get(table)?.added ?? 0;
  }

  /** Checks that no pending statement changes a table. */
  isUntouched(table: TableFacts): boolean {
    return table.live !== undefined && !this.#changes.has(table);
  }

  /** Checks that the rows of a table can only become fewer. */
  isShrinking(table: TableFacts): boolean {
    const change = this.#changes.get(table);
    return this.isUntouched(table) ||
      (change !== undefined && change.isDeleted && this.#keepsColumns(table, new Set()) &&
        change.added === 0);
  }

  /**
   * Checks whether a condition matches the same rows now and later, except for added and deleted
   * rows.
   *
   * @param table The table of the condition.
   * @param names All names in the condition.
   */
  keepsRows(table: TableFacts, names: ReadonlySet<string>): boolean {
    return table.live !== undefined && this.#keepsColumns(table, names);
  }

  /** Checks whether a query over a table gives the same result now and later. */
  keepsQuery(table: TableFacts, names: ReadonlySet<string>): boolean {
    const { added = 0, isDeleted = false } = this.#changes.get(table) ?? {};
    return this.keepsRows(table, names) && added === 0 && !isDeleted;
  }

  #keepsColumns(table: TableFacts, names: ReadonlySet<string>): boolean {
    const change = this.#changes.get(table);
    if (change === undefined) return true;
    return !change.isUnknown && ![...change.columns].some((column) => names.has(column));
  }

  #change(table: TableFacts): TableChange {
    const known = this.#changes.get(table);
    if (known !== undefined) return known;
    const change: TableChange = {
      added: 0,
      isDeleted: false,
      columns: new Set(),
      isUnknown: false,
    };
    this.#changes.set(table, change);
    return change;
  }

  /**
   * Records the effects of a statement.
   *
   * @param reader The statement.
   * @param change The statement, if it updates or deletes rows.
   * @param facts The schema when it runs.
   */
  note(
    reader: StatementReader,
    change: RowChange | CompoundChange | undefined,
    facts: SchemaFacts,
  ): void {
    if (reader.is(0, "ALTER", "TABLE")) return this.#noteAlter(reader, facts);
    if (change !== undefined && change.verb !== "compound") return this.#noteChange(change, facts);
    for (let at = 0; at < reader.size; at++) {
      if (!reader.isOneOf(at, WRITES)) continue;
      const name = reader.is(at + 1, "INTO") || reader.is(at + 1, "FROM") ? at + 2 : at + 1;
      const table = findTable(facts, readName(reader, reader.skip(name, "ONLY")).path);
      if (table === undefined) continue;
      if (reader.is(at, "INSERT")) {
        this.#change(table).added += countInserted(
          reader,
          at,
          (path) => this.#countCreated(path, facts),
        );
      }
      const isPlain = reader.is(at, "INSERT") && at === 0 && reader.find("CONFLICT", name) < 0;
      if (!isPlain) this.#change(table).isUnknown = true;
    }
  }

  /** Returns the number of rows of a table that pending migrations create; `undefined` for others. */
  #countCreated(path: string, facts: SchemaFacts): number | undefined {
    const table = findTable(facts, path);
    return table === undefined || table.live !== undefined ? undefined : this.addedTo(table);
  }

  #noteAlter(reader: StatementReader, facts: SchemaFacts): void {
    const at = reader.skip(reader.skip(reader.skip(2, "ASYNC"), "IF", "EXISTS"), "ONLY");
    const { path, end } = readName(reader, at);
    const table = findTable(facts, path);
    const adds = reader.list(end, reader.size).every(([from]) =>
      reader.is(from, "ADD") || reader.is(from, "VALIDATE")
    );
    if (table !== undefined && !adds) this.#change(table).isUnknown = true;
  }

  #noteChange(change: RowChange, facts: SchemaFacts): void {
    const table = findTable(facts, change.path);
    if (table === undefined) {
      // the rows of a view belong to a table
      for (const one of facts.tables) this.#change(one).isUnknown = true;
      return;
    }
    if (change.verb === "update") {
      const columns = [...change.columns, ...table.generated];
      for (const column of columns) this.#change(table).columns.add(column);
      for (const key of facts.foreignKeys) {
        // ON UPDATE CASCADE
        if (key.target === table && key.columns.some((one) => columns.includes(one))) {
          this.#change(key.table).isUnknown = true;
        }
      }
      return;
    }
    for (const one of findDeleted(facts, table).tables) {
      if (one === table) this.#change(one).isDeleted = true;
      else this.#change(one).isUnknown = true;
    }
    const isWhole = change.where[0] === change.where[1] && change.from[0] === change.from[1];
    if (isWhole) this.#change(table).added = 0;
  }
}
