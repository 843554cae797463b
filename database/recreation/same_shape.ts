import { normalizeType } from "./sql_text.ts";
import type { TableSchema } from "./table_schema.ts";

/** Whether two tables have the same columns of the same types, and the same key: by this a plan that is done is known. */
export function isSameShape(a: TableSchema, b: TableSchema): boolean {
  const getShape = ({ columns, constraints }: TableSchema): string =>
    JSON.stringify([
      columns.map(({ name, type, notNull }) => [name, normalizeType(type), notNull]),
      constraints.map(({ name, type, columns }) => [name, type, columns].join()).sort(),
    ]);
  return getShape(a) === getShape(b);
}
