import type { Column, InferSelectModel } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { misfit } from "../../core/triggers/parse_input.ts";
import {
  getColumns,
  getPrimaryKey,
  getSqlType,
  getTableNames,
  isKind,
} from "../../database/session/drizzle_table.ts";
import { decodeColumn } from "../../database/session/column_codec.ts";
import { withSafeDecoder } from "../../database/session/column_decoder.ts";
import { columnReader } from "../../database/session/read_value.ts";
import { findTypeId } from "../../database/session/type_ids.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { RawRow } from "./change_envelope.ts";
import { TEXT_BY_TYPE } from "./column_text.ts";

/** Column of a consumed table. */
interface ChangedColumn {
  /** Property of drizzle's table. */
  readonly property: string;
  /** Name in the database. */
  readonly name: string;
  readonly isNullable: boolean;
  /** Decodes a value of the stream that is not null. */
  readonly decode: (value: unknown) => unknown;
}

/** Table whose changes are consumed. */
export interface ChangedTable {
  /** Schema in the database. */
  readonly schema: string;
  /** Name in the database. */
  readonly name: string;
  readonly columns: readonly ChangedColumn[];
  /** Columns of the primary key. */
  readonly key: readonly ChangedColumn[];
}

/** Names of types in SQL by their name in `pg_type`. */
const TYPES: Readonly<Record<string, string>> = {
  smallint: "int2",
  smallserial: "int2",
  integer: "int4",
  serial: "int4",
  bigint: "int8",
  bigserial: "int8",
  real: "float4",
  "double precision": "float8",
  boolean: "bool",
  char: "bpchar",
  "time with time zone": "timetz",
  "timestamp with time zone": "timestamptz",
};

/**
 * Reads the columns of a drizzle table.
 *
 * @param table The table.
 * @throws {ConfigurationError} If it has no primary key, or a column of a type that the change stream
 * does not describe exactly.
 */
export function readChangedTable(table: PgTable): ChangedTable {
  const { name, schema = "public" } = getTableNames(table);
  const read = Object.entries(getColumns(table)).map(([property, column]) =>
    readColumn(name, property, column)
  );
  const keyNames = getPrimaryKey(table).map((column) => column.name);
  if (keyNames.length === 0) {
    throw new ConfigurationError(
      `The table ${name} has no primary key: its changes cannot be told apart from repeated ones`,
    );
  }
  const key = keyNames.map((keyName) => read.find((column) => column.name === keyName)!);
  return { schema, name, columns: read, key };
}

function readColumn(table: string, property: string, column: Column): ChangedColumn {
  const sqlType = getSqlType(column);
  const type = isKind(column, "PgEnumColumn") ? "text" : findType(sqlType);
  const toText = type === undefined ? undefined : TEXT_BY_TYPE[type];
  if (type === undefined || toText === undefined) {
    throw new ConfigurationError(
      `The change stream does not describe values of the type ${sqlType} exactly, which ` +
        `${table}.${column.name} has: give defineChangeStreamHandler a table without this column, ` +
        "and read it in the handler",
    );
  }
  const reader = columnReader(findTypeId(type));
  // the stream omits the spaces at the end, which a query returns
  const length = type === "bpchar" ? parseInt(sqlType.slice(sqlType.indexOf("(") + 1)) || 1 : 0;
  const safe = withSafeDecoder(column);
  return {
    property,
    name: column.name,
    isNullable: !column.notNull && !column.primary,
    decode(value): unknown {
      const text = toText(value);
      if (text === undefined) throw misfit(`${table}.${column.name} is no value of ${sqlType}`);
      const padded = length === 0
        ? text
        : text + " ".repeat(Math.max(0, length - [...text].length));
      return decodeColumn(safe, reader === undefined ? padded : reader(padded));
    },
  };
}

function findType(sqlType: string): string | undefined {
  const base = sqlType.replace(/\(\d+(?:, ?-?\d+)?\)/, "").toLowerCase();
  const type = Object.hasOwn(TYPES, base) ? TYPES[base] : base;
  return Object.hasOwn(TEXT_BY_TYPE, type) ? type : undefined;
}

/**
 * Decodes a row as a query would return it.
 *
 * @param table The table.
 * @param row The row in the stream.
 * @throws {ValidationError} If the row does not fit the table. NULL counts for a column that the row
 * lacks, because rows from before its creation do; but not if the row has columns that the table
 * lacks: then the column may have been renamed.
 */
export function decodeRow<TTable extends PgTable>(
  { name, columns }: ChangedTable,
  row: RawRow,
): InferSelectModel<TTable> {
  const missing = columns.filter((column) => !Object.hasOwn(row, column.name));
  const isRenamed = Object.keys(row).length > columns.length - missing.length;
  if (missing.length > 0 && isRenamed) {
    throw misfit(
      `a row of ${name} has other columns than the table: it lacks ${missing[0].name}`,
    );
  }
  return decodeColumns(name, columns, row) as InferSelectModel<TTable>;
}

/**
 * Decodes the primary key of a row.
 *
 * @param table The table.
 * @param row The row, or its key.
 */
export function decodeKey(table: ChangedTable, row: RawRow): Record<string, unknown> {
  return decodeColumns(table.name, table.key, row);
}

function decodeColumns(
  table: string,
  columns: readonly ChangedColumn[],
  row: RawRow,
): Record<string, unknown> {
  const decoded: Record<string, unknown> = {};
  for (const { property, name, isNullable, decode } of columns) {
    const value = Object.hasOwn(row, name) ? row[name] : null;
    if (value === null && !isNullable) throw misfit(`${table}.${name} is missing or null`);
    decoded[property] = value === null ? null : decode(value);
  }
  return decoded;
}

/**
 * Lists the values of the primary key as texts: the same for each change of a row.
 *
 * @param table The table.
 * @param row The row, or its key.
 * @throws {ValidationError} If one is missing.
 */
export function listKey({ name: table, key }: ChangedTable, row: RawRow): string[] {
  return key.map(({ name }) => {
    const value = Object.hasOwn(row, name) ? row[name] : null;
    if (value === null || typeof value === "object") throw misfit(`${table}.${name} is missing`);
    return String(value);
  });
}

/**
 * Describes a row for a message, such as `orders (id = 42)`.
 *
 * @param table The table.
 * @param row The row, or its key.
 */
export function describeRow({ name: table, key }: ChangedTable, row: RawRow): string {
  const values = key.map(({ name }) => `${name} = ${String(row[name] ?? "?").slice(0, 100)}`);
  return `${table} (${values.join(", ")})`;
}
