import type { Output } from "./output.ts";

/** Colors a padded cell. */
type Paint = (cell: string, row: number, column: number) => string;

/**
 * Renders a table with aligned columns.
 *
 * @param rows Cells; the first row is the header.
 * @param paint Colors a padded cell.
 * @param numbers Columns whose cells end below each other.
 * @returns The lines.
 */
export function renderTable(
  rows: readonly (readonly string[])[],
  paint: Paint = (cell) => cell,
  numbers: readonly number[] = [],
): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => [...row[column] ?? ""].length))
  );
  return rows.map((row, at) =>
    row.map((cell, column) => {
      const space = " ".repeat(widths[column] - [...cell].length);
      if (numbers.includes(column)) return paint(space + cell, at, column);
      return paint(column === row.length - 1 ? cell : cell + space, at, column);
    }).join("  ").trimEnd()
  );
}

/**
 * Prints a table with a bold header, if it has rows.
 *
 * @param paint Colors a padded cell below the header; rows count from 0.
 */
export function printTable(
  output: Output,
  header: readonly string[],
  rows: readonly (readonly string[])[],
  paint: Paint = (cell) => cell,
): void {
  if (rows.length === 0) return;
  const lines = renderTable(
    [header, ...rows],
    (cell, row, column) => row === 0 ? output.bold(cell) : paint(cell, row - 1, column),
  );
  for (const line of lines) output.line(line);
}
