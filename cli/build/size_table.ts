import type { PackageSize } from "./sizes.ts";

/** A line of the table. */
export interface SizeRow {
  readonly name: string;
  readonly bytes: number;
  readonly gzipBytes: number;
  readonly packages: readonly PackageSize[];
  /** More bytes than the function may have. */
  readonly isOver: boolean;
}

const NAMED_PACKAGES = 3;
/** A package below this share of a bundle is no news. */
const HEAVY_SHARE = 0.05;

/**
 * The sizes of bundles, and what makes them heavy.
 *
 * @param rows One row for each function.
 * @param mark How a row over its budget looks.
 * @returns Lines.
 */
export function renderSizeTable(
  rows: readonly SizeRow[],
  mark: (text: string) => string,
): string[] {
  const cells = rows.map((
    { name, bytes, gzipBytes },
  ) => [name, formatBytes(bytes), formatBytes(gzipBytes)]);
  const head = ["function", "size", "gzip"];
  const widths = head.map((title, column) =>
    Math.max(title.length, ...cells.map((row) => row[column].length))
  );
  const line = ([name, size, gzip]: readonly string[], heavy: string) =>
    `${name.padEnd(widths[0])}  ${size.padStart(widths[1])}  ${gzip.padStart(widths[2])}  ${heavy}`;
  return [
    line(head, "heavy"),
    ...rows.map(({ packages, bytes, isOver }, index) => {
      const text = line(cells[index], describeHeavy(packages, bytes));
      return isOver ? mark(text) : text;
    }),
  ];
}

/**
 * The heavy packages of a bundle: `better-auth 402 kB, zod 88 kB`.
 *
 * @param packages Packages, the largest first.
 * @param bytes The bundle's size.
 */
export function describeHeavy(packages: readonly PackageSize[], bytes: number): string {
  const heavy = packages.filter((each) => each.bytes >= bytes * HEAVY_SHARE).slice(
    0,
    NAMED_PACKAGES,
  );
  return heavy.map((each) => `${each.name} ${formatBytes(each.bytes)}`).join(", ");
}

/**
 * A number of bytes for a person: `1.2 MB`, `88 kB`, with steps of 1,000 as Lambda's quotas and package registries use.
 *
 * @param bytes The number.
 */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 9950) return `${(bytes / 1000).toFixed(1)} kB`;
  if (bytes < 999_500) return `${Math.round(bytes / 1000)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
