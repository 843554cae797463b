/**
 * Lines of a table whose columns stand below each other.
 *
 * @param rows Cells; the first row is the head.
 * @param paint Colours a cell once it is padded.
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
