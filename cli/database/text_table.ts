/**
 * Renders a table with aligned columns.
 *
 * @param rows Cells; the first row is the header.
 * @param paint Colors a padded cell.
 * @returns The lines.
 */
export function renderTable(
  rows: readonly (readonly string[])[],
  paint: (cell: string, row: number, column: number) => string = (cell) => cell,
): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => [...row[column] ?? ""].length))
  );
  return rows.map((row, at) =>
    row.map((cell, column) => {
      const padded = column === row.length - 1
        ? cell
        : cell + " ".repeat(widths[column] - [...cell].length);
      return paint(padded, at, column);
    }).join("  ").trimEnd()
  );
}
