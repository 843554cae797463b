import { COLUMNS, NAME, SCHEMA } from "../drizzle_table.ts";

/**
 * Replaces a table in the declaration of a query (`tables: [{ table: notes, … }]`), which needs only
 * names.
 *
 * @param name The table's name.
 * @param columns The names of its columns in the database, by property.
 * @param schema The schema, if the table has one.
 * @returns An object from which names can be read as from a table of drizzle.
 */
export function definePrecompiledTable(
  name: string,
  columns: Readonly<Record<string, string>>,
  schema?: string,
): object {
  const own = Object.fromEntries(
    Object.entries(columns).map(([property, column]) => [property, { name: column }]),
  );
  return { ...own, [NAME]: name, [SCHEMA]: schema, [COLUMNS]: own };
}
