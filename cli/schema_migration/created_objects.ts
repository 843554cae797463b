import { qualify, quoteName } from "../../sql/quote.ts";
import { type Catalog, type CatalogTable, type CatalogView, quoteTable } from "./catalog.ts";
import { renderCatalogColumn } from "./column_steps.ts";

/** Returns statements that create the tables, views and sequences of a catalog, in any order. */
export function listCreated({ tables, views, sequences }: Catalog): string[] {
  return [
    ...tables.map(createTable),
    ...views.map(createView),
    ...sequences.map(({ schema, name, definition }) =>
      `CREATE SEQUENCE ${qualify(schema, name)} AS ${definition}`
    ),
  ];
}

/** Foreign keys and indexes are created after all tables. */
function createTable(table: CatalogTable): string {
  const lines = [
    ...table.columns.map(renderCatalogColumn),
    ...table.rules.filter(({ kind }) => kind !== "foreign key" && kind !== "index")
      .map(({ name, definition }) => `CONSTRAINT ${quoteName(name)} ${definition}`),
  ];
  return `CREATE TABLE ${quoteTable(table)} (\n  ${lines.join(",\n  ")}\n)`;
}

function createView({ schema, name, definition, isMaterialized, options }: CatalogView): string {
  const pairs = Object.entries(options).map(([key, value]) => `${key}=${value}`);
  return `CREATE ${isMaterialized ? "MATERIALIZED VIEW" : "VIEW"} ${qualify(schema, name)} ` +
    (pairs.length === 0 ? "" : `WITH (${pairs.join(", ")}) `) +
    `AS ${definition.slice(1).replace(/;$/, "")}`;
}
