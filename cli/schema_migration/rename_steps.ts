import { quoteName } from "../../sql/quote.ts";
import { type Catalog, type CatalogTable, getLabel, quoteTable } from "./catalog.ts";
import type { Step } from "./difference.ts";

const RISK = "code that is still running uses the old name";

/**
 * Returns the statements that rename a table or a column. A table can move to another schema.
 *
 * @param have The present database.
 * @param want The database of the schema.
 * @param rename Old and new name: `notes` and `entries`, or `notes.body` and `text`.
 * @returns The statements, or why there are none.
 */
export function planRename(
  have: Catalog,
  want: Catalog,
  [from, to]: readonly [string, string],
): Step[] | string {
  const tables = new Map(have.tables.map((table) => [getLabel(table), table]));
  const declared = new Map(want.tables.map((table) => [getLabel(table), table]));
  const target = `--rename ${from}=${to}`;
  const table = tables.get(from);
  if (table !== undefined) {
    const next = declared.get(to);
    if (next === undefined) return `${target}: the schema declares no table ${to}`;
    if (declared.has(from)) return `${target}: the schema still declares the table ${from}`;
    if (tables.has(to)) return `${target}: the migrations already create the table ${to}`;
    return renameTable(have, table, next);
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
  return [{ sql: `ALTER TABLE ${quoteTable(owner)} ${change}`, risk: RISK }];
}

function renameTable(have: Catalog, table: CatalogTable, next: CatalogTable): Step[] {
  const { schema, name } = next;
  const steps: Step[] = [];
  if (schema !== table.schema) {
    if (!have.schemas.includes(schema)) steps.push({ sql: `CREATE SCHEMA ${quoteName(schema)}` });
    const change = `ALTER TABLE ${quoteTable(table)} SET SCHEMA ${quoteName(schema)}`;
    steps.push({ sql: change, risk: RISK });
  }
  if (name !== table.name) {
    const moved = quoteTable({ schema, name: table.name });
    steps.push({ sql: `ALTER TABLE ${moved} RENAME TO ${quoteName(name)}`, risk: RISK });
  }
  return steps;
}
