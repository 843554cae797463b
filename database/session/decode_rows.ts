import { parseJsonOr } from "../../core/http/parse_json.ts";
import type { Row } from "../../sql/session.ts";
import type { StatementResult } from "./driver.ts";
import type { QueryResult } from "./drizzle_client.ts";
import type { Cell } from "./row_mapper.ts";
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
  const readers = columns.map(({ type }) => rawReader(type));
  return rows.map((values) =>
    // not assigned one by one: that would change the prototype for a column of the name __proto__
    Object.fromEntries(columns.map(({ name }, at) => [name, readCell(values[at], readers[at])]))
  );
}

/**
 * Parses the texts of types which drizzle's columns do not take as text.
 *
 * @param result The driver's answer.
 * @param isJson For each column, true if it holds JSON also where the server sends a text.
 * @returns The rows.
 */
export function readCells(
  { columns, rows }: StatementResult,
  isJson: readonly boolean[],
): unknown[][] {
  const readers = columns.map((column, at) => findReader(column, isJson[at]));
  return rows.map((values) => values.map((text, at) => readCell(text, readers[at])));
}

/**
 * Returns the cells of an answer, whose decoders take the texts of the driver.
 *
 * @param cells The cells of the statement, in the order of the columns.
 * @param columns The columns of the answer.
 */
export function toTextCells(
  cells: readonly Cell[],
  columns: StatementResult["columns"],
): Cell[] {
  return cells.map((cell, at) => {
    const reader = findReader(columns[at], cell.isJson);
    if (reader === undefined) return cell;
    const { decode } = cell;
    if (decode === undefined) return { ...cell, decode: reader as Cell["decode"] };
    return {
      ...cell,
      decode(text) {
        const value = reader(text as string);
        return value === null ? null : decode(value);
      },
    };
  });
}

/** Returns the parser of a column that drizzle decodes. JSON may be stored in a text column. */
function findReader(
  column: StatementResult["columns"][number] | undefined,
  isJson: boolean | undefined,
): ValueReader | undefined {
  return (column && columnReader(column.type)) ?? (isJson ? parseJson : undefined);
}

function readCell(text: string | null, reader: ValueReader | undefined): unknown {
  return text === null || reader === undefined ? text : reader(text);
}

function parseJson(text: string): unknown {
  return parseJsonOr(text, text);
}
