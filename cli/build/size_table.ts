import { renderTable } from "../terminal/text_table.ts";
import type { PackageSize } from "./sizes.ts";

/** A row of the table. */
export interface SizeRow {
  readonly name: string;
  readonly bytes: number;
  readonly gzipBytes: number;
  readonly packages: readonly PackageSize[];
  /** True if the function exceeds its budget. */
  readonly isOver: boolean;
}

const MAX_PACKAGES = 3;
/** Packages below this share of a bundle are not listed. */
const MIN_SHARE = 0.05;

/**
 * Renders the sizes of bundles with their largest packages.
 *
 * @param rows One row for each function.
 * @param mark Highlights a row over its budget.
 * @returns Lines.
 */
export function renderSizeTable(
  rows: readonly SizeRow[],
  mark: (text: string) => string,
): string[] {
  const cells = rows.map(({ name, bytes, gzipBytes, packages }) => [
    name,
    formatBytes(bytes),
    formatBytes(gzipBytes),
    listLargestPackages(packages, bytes),
  ]);
  const header = ["function", "size", "gzip", "largest packages"];
  const lines = renderTable([header, ...cells], undefined, [1, 2]);
  return lines.map((line, at) => at > 0 && rows[at - 1].isOver ? mark(line) : line);
}

/**
 * Lists the largest packages of a bundle: `better-auth 402 kB, zod 88 kB`.
 *
 * @param packages Packages, largest first.
 * @param bytes The bundle's size.
 */
export function listLargestPackages(packages: readonly PackageSize[], bytes: number): string {
  const heavy = packages.filter((each) => each.bytes >= bytes * MIN_SHARE).slice(
    0,
    MAX_PACKAGES,
  );
  return heavy.map((each) => `${each.name} ${formatBytes(each.bytes)}`).join(", ");
}

/**
 * Formats a number of bytes: `1.2 MB`, `88 kB`. Uses decimal units, like Lambda's quotas and
 * package registries.
 */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 9950) return `${(bytes / 1000).toFixed(1)} kB`;
  if (bytes < 999_500) return `${Math.round(bytes / 1000)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
