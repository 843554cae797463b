import { quoteLiteral } from "./quote.ts";

/** A column of a unique key. */
export interface KeyColumn {
  /** Expression for the column. */
  readonly sql: string;
  /** Its type, which the texts of a key are cast to. */
  readonly type: string;
}

/**
 * Compares the key of a row with another key.
 *
 * @param key The columns.
 * @param operator The operator.
 * @param values The other key, as texts.
 * @returns The condition: `("a", "b") > ('1'::integer, 'x'::text)`.
 */
export function compareKey(
  key: readonly KeyColumn[],
  operator: ">" | "<=",
  values: readonly string[],
): string {
  const other = values.map((text, at) => `${quoteLiteral(text)}::${key[at].type}`);
  return `(${key.map(({ sql }) => sql).join(", ")}) ${operator} (${other.join(", ")})`;
}
