import { getColumns, isTable } from "../../database/session/drizzle_table.ts";

/** A model of better-auth, which is stored in one table. */
export interface NeededModel {
  /** Key of the table in `AuthConfig.schema`. */
  readonly name: string;
  /** Properties of the drizzle table. */
  readonly properties: readonly string[];
}

/**
 * Compares drizzle tables with what better-auth's options and plugins need, because its routes would
 * fail without a table or a column. Needs no database.
 *
 * @param needed The models.
 * @param schema The tables by model name.
 * @returns The message of an error; `undefined` if nothing is missing.
 */
export function describeMissingTables(
  needed: readonly NeededModel[],
  schema: Readonly<Record<string, unknown>>,
): string | undefined {
  const missing = needed.flatMap(({ name, properties }) => {
    const table = schema[name];
    if (!isTable(table)) return [`the table "${name}" (${properties.join(", ")})`];
    const columns = getColumns(table);
    const lacking = properties.filter((property) => !Object.hasOwn(columns, property));
    return lacking.length === 0 ? [] : [`${lacking.join(", ")} of "${name}"`];
  });
  if (missing.length === 0) return undefined;
  return `AuthConfig.schema lacks what the options and plugins need: ${missing.join("; ")}. Run ` +
    "trellis generate auth-schema and set schema: authSchema, or add drizzle tables under these keys";
}
