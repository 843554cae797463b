import { normalizeType } from "./sql_text.ts";
import type { TableSchema } from "./table_schema.ts";

/**
 * Checks whether two tables have the same columns, types and key, which identifies a plan that is
 * done.
 */
export function isSameShape(a: TableSchema, b: TableSchema): boolean {
  const getShape = ({ columns, constraints }: TableSchema): string =>
    JSON.stringify([
      columns.map(({ name, type, notNull }) => [name, normalizeType(type), notNull]),
      constraints.map(({ name, type, columns }) => [name, type, columns].join()).sort(),
    ]);
  return getShape(a) === getShape(b);
}
