import {
  getColumns,
  getTableNames,
  isKind,
  isTable,
} from "../../database/session/drizzle_table.ts";
import { isDrizzleOne } from "../../database/session/drizzle_version.ts";
import type { LoadedFunction } from "../project/loaded_function.ts";
import { printTable, type TableName } from "./table_name.ts";

/** A column of a table. */
export interface TableColumn {
  /** The name in the database. */
  readonly name: string;
  /** True if drizzle sets it in each UPDATE that does not set it. */
  readonly isSetOnUpdate: boolean;
}

/** Columns by property name. */
export type TableColumns = ReadonlyMap<string, TableColumn>;

const VIEW = Symbol.for("drizzle:ViewBaseConfig");
const BASE_NAME = Symbol.for("drizzle:OriginalName");

/** Returns the name of a drizzle table, view or alias; `undefined` for other values. */
export function findTableName(value: unknown): TableName | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const symbols = value as Record<symbol, unknown>;
  if (!isTable(value)) {
    const view = symbols[VIEW] as { name: string; schema?: string } | undefined;
    return view && toName(view.name, view.schema);
  }
  const { name, schema } = getTableNames(value);
  const original = symbols[BASE_NAME] as string | undefined;
  return toName(original ?? name, schema);
}

function toName(name: string, schema: string | undefined): TableName {
  return schema === undefined ? { name } : { schema, name };
}

/**
 * Returns the columns of a table; `undefined` if the client decides the name of one.
 *
 * @param table A drizzle table.
 */
export function readColumns(table: object): TableColumns | undefined {
  const columns = Object.entries(getColumns(table));
  if (!isDrizzleOne && columns.some(([, column]) => column.keyAsName)) return undefined;
  return new Map(columns.map(([property, { name, onUpdateFn }]) => [property, {
    name,
    isSetOnUpdate: onUpdateFn !== undefined,
  }]));
}

/** Returns the sequences of a table's serial columns. */
export function listSerialSequences(table: object): TableName[] {
  const owner = findTableName(table);
  if (owner === undefined) return [];
  return Object.values(getColumns(table)).flatMap(({ columnType, name }) =>
    /Serial/.test(columnType) ? [{ ...owner, name: `${owner.name}_${name}_seq` }] : []
  );
}

/** Returns the texts of SQL that are the defaults of a table's columns. */
export function listDefaults(table: object): string[] {
  return Object.values(getColumns(table)).flatMap((column) => {
    const chunks = (column.default as { queryChunks?: { value?: unknown }[] } | undefined)
      ?.queryChunks;
    if (!Array.isArray(chunks)) return [];
    const texts = chunks.map((chunk) =>
      isKind(chunk, "StringChunk") ? [chunk.value].flat().join("") : "$1"
    );
    return [texts.join("")];
  });
}

const tablesByFunction: WeakMap<LoadedFunction, Map<string, object>> = new WeakMap();

/** Finds a drizzle table of the function's modules by its name in the database. */
export function findTable(fn: LoadedFunction, table: TableName): object | undefined {
  let tables = tablesByFunction.get(fn);
  if (tables === undefined) {
    tablesByFunction.set(fn, tables = new Map());
    for (const name of fn.syntax.declarations.keys()) {
      addTables(fn.evaluateName(name), tables, 3);
    }
  }
  return tables.get(printTable(table.schema === "public" ? { name: table.name } : table));
}

function addTables(value: unknown, tables: Map<string, object>, depth: number): void {
  if (typeof value !== "object" || value === null) return;
  const name = findTableName(value);
  if (name !== undefined) return void tables.set(printTable(name), value);
  const isPlain = Object.getPrototypeOf(value) === Object.prototype;
  if (depth === 0 || !isPlain) return;
  for (const member of Object.values(value)) addTables(member, tables, depth - 1);
}
