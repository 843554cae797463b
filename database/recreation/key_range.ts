import type { CopyKey } from "./recreation_plan.ts";
import { quoteName, quoteText } from "./sql_text.ts";

/** A row's key, as texts. */
export type KeyMark = string[];

/** The columns of a key: `"a", "b"`. */
export function keyColumns(key: readonly CopyKey[]): string {
  return key.map(({ name }) => quoteName(name)).join(", ");
}

/** The columns of a key as texts, under names that no column has */
export function keyTexts(key: readonly CopyKey[]): string {
  return key.map(({ name }, at) => `${quoteName(name)}::text AS trellis_k${at}`).join(", ");
}

/** Reads the texts of {@link keyTexts}. */
export function readMark(key: readonly CopyKey[], row: Readonly<Record<string, unknown>>): KeyMark {
  return key.map((_, at) => String(row[`trellis_k${at}`]));
}

/**
 * The rows after one key and up to another.
 *
 * @param key The columns.
 * @param after Where it starts, that row not among them; `null` for the first row.
 * @param upTo Where it ends, that row among them; `null` for the last row.
 */
export function inRange(
  key: readonly CopyKey[],
  after: KeyMark | null,
  upTo: KeyMark | null,
): string {
  const row = `(${keyColumns(key)})`;
  const value = (mark: KeyMark): string =>
    `(${mark.map((text, at) => `${quoteText(text)}::${key[at].type}`).join(", ")})`;
  const conditions = [
    ...after === null ? [] : [`${row} > ${value(after)}`],
    ...upTo === null ? [] : [`${row} <= ${value(upTo)}`],
  ];
  return conditions.length === 0 ? "true" : conditions.join(" AND ");
}

/** The rows that no range has, because a column of their key is NULL; `undefined` when there can be none. */
export function withoutKey(key: readonly CopyKey[]): string | undefined {
  const nullable = key.filter((column) => column.nullable);
  if (nullable.length === 0) return undefined;
  return nullable.map(({ name }) => `${quoteName(name)} IS NULL`).join(" OR ");
}
