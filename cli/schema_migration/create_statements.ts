import { is, SQL } from "drizzle-orm";
import {
  type ForeignKey,
  getMaterializedViewConfig,
  getTableConfig,
  getViewConfig,
  type Index,
  type IndexedColumn,
  PgMaterializedView,
  type PgSequence,
  type PgTable,
  type PgView,
} from "drizzle-orm/pg-core";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { qualify, quoteLiteral, quoteName } from "../../sql/quote.ts";
import { renderColumn, renderSequenceOptions, renderSql } from "./column_definition.ts";
import type { DeclaredObjects } from "./declared_objects.ts";

/**
 * Returns the statements that create all objects of a drizzle schema in an empty database.
 *
 * @returns The statements, in the order in which they can run.
 * @throws {ConfigurationError} If an object cannot be rendered.
 */
export function listCreateStatements(declared: DeclaredObjects): string[] {
  const { tables, referenced, enums, sequences, schemas, views } = declared;
  const all = [...referenced, ...tables];
  return [
    ...schemas.map((name) => `CREATE SCHEMA ${quoteName(name)}`),
    ...enums.map(({ schema, enumName, enumValues }) =>
      `CREATE TYPE ${qualify(schema ?? "public", enumName)} AS ENUM ` +
      `(${enumValues.map(quoteLiteral).join(", ")})`
    ),
    ...sequences.map(createSequence),
    ...all.map(createTable),
    ...all.flatMap((table) => getTableConfig(table).foreignKeys.map(createForeignKey)),
    ...all.flatMap((table) =>
      getTableConfig(table).indexes.map((index) => createIndex(table, index))
    ),
    ...all.filter((table) => getTableConfig(table).enableRLS).map((table) =>
      `ALTER TABLE ${nameTable(table)} ENABLE ROW LEVEL SECURITY`
    ),
    ...views.flatMap(createView),
  ];
}

function nameTable(table: PgTable): string {
  const { schema, name } = getTableConfig(table);
  return qualify(schema === "public" ? undefined : schema, name);
}

function createSequence({ schema, seqName, seqOptions = {} }: PgSequence): string {
  const name = qualify(schema ?? "public", seqName ?? "");
  return `CREATE SEQUENCE ${name} ${renderSequenceOptions(seqOptions)}`;
}

function createTable(table: PgTable): string {
  const { columns, primaryKeys, uniqueConstraints, checks } = getTableConfig(table);
  const lines = [
    ...columns.map(renderColumn),
    ...primaryKeys.map((key) =>
      `CONSTRAINT ${quoteName(key.getName())} PRIMARY KEY (${listNames(key.columns)})`
    ),
    ...columns.filter(({ isUnique }) => isUnique).map((column) =>
      renderUnique(column.uniqueName!, [column], column.uniqueType === "not distinct")
    ),
    ...uniqueConstraints.map((unique) =>
      renderUnique(unique.getName()!, unique.columns, unique.nullsNotDistinct)
    ),
    ...checks.map(({ name, value }) => `CONSTRAINT ${quoteName(name)} CHECK (${renderSql(value)})`),
  ];
  return `CREATE TABLE ${nameTable(table)} (\n  ${lines.join(",\n  ")}\n)`;
}

function listNames(columns: readonly { readonly name: string }[]): string {
  return columns.map(({ name }) => quoteName(name)).join(", ");
}

function renderUnique(
  name: string,
  columns: readonly { readonly name: string }[],
  isNullEqual: boolean,
): string {
  const nulls = isNullEqual ? " NULLS NOT DISTINCT" : "";
  return `CONSTRAINT ${quoteName(name)} UNIQUE${nulls} (${listNames(columns)})`;
}

function createForeignKey(key: ForeignKey): string {
  const { columns, foreignColumns, foreignTable } = key.reference();
  const action = (event: string, what: string | undefined) =>
    what === undefined ? "" : ` ON ${event} ${what.toUpperCase()}`;
  return `ALTER TABLE ${nameTable(key.table)} ADD CONSTRAINT ${quoteName(key.getName())} ` +
    `FOREIGN KEY (${listNames(columns)}) REFERENCES ${nameTable(foreignTable)} ` +
    `(${listNames(foreignColumns)})${action("DELETE", key.onDelete)}` +
    action("UPDATE", key.onUpdate);
}

function createIndex(table: PgTable, { config }: Index): string {
  const { columns, unique, where, method = "btree", with: storage = {} } = config;
  const parts = columns.map((column) =>
    is(column, SQL) ? `(${renderSql(column)})` : renderIndexColumn(column as IndexedColumn)
  );
  const names = columns.flatMap((column) =>
    is(column, SQL) ? [] : [(column as IndexedColumn).name]
  );
  const { name: tableName } = getTableConfig(table);
  if (config.name === undefined && names.length < columns.length) {
    throw new ConfigurationError(
      `An index of ${tableName} has an expression and no name: pass a name to index()`,
    );
  }
  // the default name of drizzle-kit
  const name = config.name ?? `${tableName}_${names.join("_")}_index`;
  const options = Object.entries(storage).map(([key, value]) => `${key}=${value}`).join(", ");
  return `CREATE ${unique ? "UNIQUE " : ""}INDEX ${quoteName(name)} ON ${nameTable(table)} ` +
    `USING ${method} (${parts.join(", ")})` +
    (options === "" ? "" : ` WITH (${options})`) +
    (where === undefined ? "" : ` WHERE ${renderSql(where)}`);
}

function renderIndexColumn({ name, indexConfig }: IndexedColumn): string {
  const { order, nulls, opClass } = indexConfig;
  return quoteName(name ?? "") + (opClass ? ` ${opClass}` : "") +
    (order === "desc" ? " DESC" : "") +
    // drizzle-kit's default for both orders
    (order === "desc" || nulls === "first" ? ` NULLS ${(nulls ?? "last").toUpperCase()}` : "");
}

function createView(view: PgView | PgMaterializedView): string[] {
  const isMaterialized = is(view, PgMaterializedView);
  const { schema, name, query, isExisting } = isMaterialized
    ? getMaterializedViewConfig(view)
    : getViewConfig(view as PgView);
  if (isExisting || query === undefined) return [];
  const kind = isMaterialized ? "MATERIALIZED VIEW" : "VIEW";
  return [`CREATE ${kind} ${qualify(schema ?? "public", name)} AS (${renderSql(query)})`];
}
