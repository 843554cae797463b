import type { Row } from "../../sql/session.ts";
import type { ResultColumn, StatementResult } from "./driver.ts";
import type { QueryResult } from "./drizzle_client.ts";
import { columnReader, rawReader, type ValueReader } from "./read_value.ts";

/**
 * Creates a raw result from a driver's answer.
 *
 * @param result Texts.
 * @returns Rows as objects, with the value types of node-postgres.
 */
export function toQueryResult(result: StatementResult): QueryResult {
  const { columns, command, rowCount } = result;
  const fields = columns.map(({ name, type }) => ({ name, dataTypeID: type }));
  return { rows: toRows(result), rowCount, command, fields };
}

function toRows({ columns, rows }: StatementResult): Row[] {
  const names = columns.map(({ name }) => name);
  const readers = columns.map(({ type }) => rawReader(type));
  const set = names.includes("__proto__") ? define : assign;
  return rows.map((values) => {
    const row: Row = {};
    for (let at = 0; at < names.length; at++) {
      const text = values[at];
      const reader = readers[at];
      set(row, names[at], text === null || reader === undefined ? text : reader(text));
    }
    return row;
  });
}

function assign(row: Row, name: string, value: unknown): void {
  row[name] = value;
}

/** Defines a property. An assignment to `__proto__` would change the row's prototype. */
function define(row: Row, name: string, value: unknown): void {
  Object.defineProperty(row, name, { value, enumerable: true, configurable: true, writable: true });
}

/**
 * Reader of the cells of one statement's results. Keeps the column readers while the columns' types
 * stay the same.
 */
export class CellReaders {
  readonly #isJson: readonly (boolean | undefined)[];
  #columns: readonly ResultColumn[] = [];
  #readers: (ValueReader | undefined)[] = [];
  #hasReaders = false;

  /** @param isJson For each column, true if it holds JSON also where the server sends a text. */
  constructor(isJson: readonly (boolean | undefined)[]) {
    this.#isJson = isJson;
  }

  /**
   * Parses the texts of types which drizzle's columns do not take as text.
   *
   * @param result The driver's answer; its rows are changed in place.
   * @returns The rows.
   */
  read({ columns, rows }: StatementResult): unknown[][] {
    if (!haveSameTypes(columns, this.#columns)) this.#prepare(columns);
    if (!this.#hasReaders) return rows;
    const readers = this.#readers;
    for (const row of rows as unknown[][]) {
      for (let at = 0; at < readers.length; at++) {
        const reader = readers[at];
        const value = row[at];
        if (reader !== undefined && value !== null) row[at] = reader(value as string);
      }
    }
    return rows;
  }

  #prepare(columns: readonly ResultColumn[]): void {
    this.#columns = columns;
    this.#readers = columns.map(({ type }, at) => {
      const reader = columnReader(type);
      // JSON that is stored in a text column
      return reader === undefined && this.#isJson[at] ? parseJson : reader;
    });
    this.#hasReaders = this.#readers.some((reader) => reader !== undefined);
  }
}

function haveSameTypes(some: readonly ResultColumn[], others: readonly ResultColumn[]): boolean {
  if (some === others) return true;
  return some.length === others.length && some.every(({ type }, at) => type === others[at].type);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
