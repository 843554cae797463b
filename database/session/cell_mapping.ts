import { CellReaders } from "./decode_rows.ts";
import type { RowMapping } from "./prepared_query.ts";
import { type Cell, RowMapper } from "./row_mapper.ts";

/**
 * Creates the mapping of rows to cells.
 *
 * @param cells The cells in the order of the columns.
 * @returns The mapping.
 */
export function mapToCells(cells: readonly Cell[]): RowMapping {
  const readers = new CellReaders(cells.map(({ isJson }) => isJson));
  return { kind: "fields", cells: readers, rows: new RowMapper(cells) };
}
