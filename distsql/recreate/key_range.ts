import type { CopyKey } from "./recreation_plan.ts";
import { compareKey } from "../../sql/key_range.ts";
import { quoteName } from "../../sql/quote.ts";

/** Key of a row, as texts. */
export type KeyMark = string[];

/** Returns the columns of a key: `"a", "b"`. */
export function keyColumns(key: readonly CopyKey[]): string {
  return key.map(({ name }) => quoteName(name)).join(", ");
}

/** Returns the columns of a key as texts, under aliases that no column has. */
export function keyTexts(key: readonly CopyKey[]): string {
  return key.map(({ name }, at) => `${quoteName(name)}::text AS trellis_k${at}`).join(", ");
}

/** Reads the texts of {@link keyTexts}. */
export function readMark(key: readonly CopyKey[], row: Readonly<Record<string, unknown>>): KeyMark {
  return key.map((_, at) => String(row[`trellis_k${at}`]));
}

/**
 * Returns the condition for the rows after one key and up to another.
 *
 * @param key The columns.
 * @param after Exclusive start; `null` for the first row.
 * @param upTo Inclusive end; `null` for the last row.
 */
export function inRange(
  key: readonly CopyKey[],
  after: KeyMark | null,
  upTo: KeyMark | null,
): string {
  const columns = key.map(({ name, type }) => ({ sql: quoteName(name), type }));
  const conditions = [
    ...after === null ? [] : [compareKey(columns, ">", after)],
    ...upTo === null ? [] : [compareKey(columns, "<=", upTo)],
  ];
  return conditions.length === 0 ? "true" : conditions.join(" AND ");
}

/**
 * Returns the condition for rows outside of all ranges, which have NULL in a column of the key;
 * `undefined` if there can be none.
 */
export function withoutKey(key: readonly CopyKey[]): string | undefined {
  const nullable = key.filter((column) => column.nullable);
  if (nullable.length === 0) return undefined;
  return nullable.map(({ name }) => `${quoteName(name)} IS NULL`).join(" OR ");
}
