import { quoteName } from "../../sql/quote.ts";
import {
  type Catalog,
  type CatalogColumn,
  type CatalogTable,
  getLabel,
  quoteTable,
} from "./catalog.ts";
import type { Step } from "./difference.ts";

const RISK = "code that is still running uses the old name";
const COLUMN_RISK = `${RISK}. --expand keeps both names`;

/** A table that gets another name or schema. */
export interface RenamedTable {
  readonly table: CatalogTable;
  readonly nextTable: CatalogTable;
}

/** A column that gets another name, and perhaps another type. */
export interface RenamedColumn {
  readonly table: CatalogTable;
  readonly old: CatalogColumn;
  readonly next: CatalogColumn;
}

/**
 * Finds what a decision renames. A table can move to another schema.
 *
 * @param have The present database.
 * @param want The database of the schema.
 * @param rename Old and new name: `notes` and `entries`, or `notes.body` and `text`.
 * @returns The table or column, or why it cannot be renamed.
 */
export function findRenamed(
  have: Catalog,
  want: Catalog,
  [from, to]: readonly [string, string],
): RenamedTable | RenamedColumn | string {
  const tables = new Map(have.tables.map((table) => [getLabel(table), table]));
  const declared = new Map(want.tables.map((table) => [getLabel(table), table]));
  const target = `--rename ${from}=${to}`;
  const table = tables.get(from);
  if (table !== undefined) {
    const next = declared.get(to);
    if (next === undefined) return `${target}: the schema declares no table ${to}`;
    if (declared.has(from)) return `${target}: the schema still declares the table ${from}`;
    if (tables.has(to)) return `${target}: the migrations already create the table ${to}`;
    return { table, nextTable: next };
  }
  const dot = from.lastIndexOf(".");
  const label = from.slice(0, Math.max(dot, 0));
  const name = from.slice(dot + 1);
  const owner = tables.get(label);
  const old = owner?.columns.find((column) => column.name === name);
  if (owner === undefined || old === undefined) {
    return `${target}: the migrations create no table or column ${from}`;
  }
  const columns = declared.get(label)?.columns ?? [];
  const nextName = to.startsWith(`${label}.`) ? to.slice(label.length + 1) : to;
  const next = columns.find((column) => column.name === nextName);
  if (next === undefined) return `${target}: the schema declares no column ${label}.${nextName}`;
  if (columns.some((column) => column.name === name)) {
    return `${target}: the schema still declares the column ${from}`;
  }
  if (owner.columns.some((column) => column.name === nextName)) {
    return `${target}: the migrations already create the column ${label}.${nextName}`;
  }
  return { table: owner, old, next };
}

/** Returns the statements that rename a table or a column, for which nothing may run meanwhile. */
export function planRename(have: Catalog, renamed: RenamedTable | RenamedColumn): Step[] {
  const { table } = renamed;
  if ("old" in renamed) {
    const { old, next } = renamed;
    const change = `RENAME COLUMN ${quoteName(old.name)} TO ${quoteName(next.name)}`;
    return [{ sql: `ALTER TABLE ${quoteTable(table)} ${change}`, risk: COLUMN_RISK }];
  }
  const { schema, name } = renamed.nextTable;
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
