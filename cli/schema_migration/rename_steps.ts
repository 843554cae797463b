import { quoteName } from "../../sql/quote.ts";
import { type Catalog, getLabel, quoteTable } from "./catalog.ts";
import type { Step } from "./difference.ts";

const RISK = "code that is still running uses the old name";

/**
 * Returns the statement that renames a table or a column.
 *
 * @param have The present database.
 * @param want The database of the schema.
 * @param rename Old and new name: `notes` and `entries`, or `notes.body` and `text`.
 * @returns The statement, or why there is none.
 */
export function planRename(
  have: Catalog,
  want: Catalog,
  [from, to]: readonly [string, string],
): Step | string {
  const tables = new Map(have.tables.map((table) => [getLabel(table), table]));
  const declared = new Map(want.tables.map((table) => [getLabel(table), table]));
  const target = `--rename ${from}=${to}`;
  const table = tables.get(from);
  if (table !== undefined) {
    const next = declared.get(to);
    if (next === undefined) return `${target}: the schema declares no table ${to}`;
    if (declared.has(from)) return `${target}: the schema still declares the table ${from}`;
    if (tables.has(to)) return `${target}: the migrations already create the table ${to}`;
    return next.schema === table.schema
      ? { sql: `ALTER TABLE ${quoteTable(table)} RENAME TO ${quoteName(next.name)}`, risk: RISK }
      : `${target}: a table cannot move to another schema; write the migration by hand`;
  }
  const dot = from.lastIndexOf(".");
  const label = from.slice(0, Math.max(dot, 0));
  const name = from.slice(dot + 1);
  const owner = tables.get(label);
  if (owner === undefined || !owner.columns.some((column) => column.name === name)) {
    return `${target}: the migrations create no table or column ${from}`;
  }
  const columns = declared.get(label)?.columns ?? [];
  const next = to.startsWith(`${label}.`) ? to.slice(label.length + 1) : to;
  if (!columns.some((column) => column.name === next)) {
    return `${target}: the schema declares no column ${label}.${next}`;
  }
  if (columns.some((column) => column.name === name)) {
    return `${target}: the schema still declares the column ${from}`;
  }
  if (owner.columns.some((column) => column.name === next)) {
    return `${target}: the migrations already create the column ${label}.${next}`;
  }
  const change = `RENAME COLUMN ${quoteName(name)} TO ${quoteName(next)}`;
  return { sql: `ALTER TABLE ${quoteTable(owner)} ${change}`, risk: RISK };
}
