import type { Column, SQL, Subquery } from "drizzle-orm";
import { mapValues } from "../../core/lists/map_values.ts";
import { parseArray } from "./array_literal.ts";

/** Field that drizzle selects: a column, an expression, or a named expression. */
export type SelectedField = Column | SQL | SQL.Aliased | Subquery;

/** Decoder of a column's values. */
export interface Decoder {
  mapFromDriverValue(value: unknown): unknown;
}

/** Properties of an array column that drizzle's types omit. */
interface ArrayColumn {
  baseColumn: Column;
}

/**
 * Returns a selected field with a decoder that keeps parsed JSON and NULLs in arrays. drizzle
 * 0.45.4 parses every text from a json column, which turns the JSON string `"null"` into null, and
 * decodes NULL in a text array as `NULL`, in an int8 array as 0.
 *
 * @returns The field itself, or a copy with another decoder.
 */
export function withSafeDecoder<T extends SelectedField>(field: T): T {
  if (isColumn(field)) return safeDecoder(field) as T & Column;
  const sql = getSql(field);
  const { decoder } = sql;
  const safe = isColumn(decoder) ? safeDecoder(decoder) : decoder;
  if (safe === decoder) return field;
  const derived = derive(sql, { decoder: safe });
  // a subquery's SQL is not replaced: its columns are selected one by one
  if (sql === field as unknown) return derived as typeof derived & T;
  return "fieldAlias" in field ? derive(field, { sql: derived }) : field;
}

/** Checks whether a json column decodes a field's values. */
export function isJsonField(field: SelectedField): boolean {
  return isJson(getDecoder(field));
}

/** Returns the decoder of a field's values. */
export function getDecoder(field: SelectedField): Decoder {
  return (isColumn(field) ? field : getSql(field).decoder) as Decoder;
}

/** Returns the SQL of an expression, whose decoder drizzle's types omit. */
function getSql(field: Exclude<SelectedField, Column>): { decoder: unknown } {
  if ("decoder" in field) return field;
  const sql = "fieldAlias" in field ? field.sql : (field as Subquery)._.sql;
  return sql as SQL & { decoder: unknown };
}

/**
 * Checks for a column. drizzle's own `is` walks up the class hierarchy, which takes longer than
 * decoding a value.
 *
 * @param value A field or a decoder.
 */
export function isColumn(value: unknown): value is Column {
  return typeof (value as Partial<Column> | undefined)?.columnType === "string";
}

function isJson(decoder: unknown): boolean {
  if (!isColumn(decoder)) return false;
  // an array of drizzle 1.0 has the class of its items
  const { columnType, dimensions = 0 } = decoder as Column & { dimensions?: number };
  return dimensions === 0 && (columnType === "PgJsonb" || columnType === "PgJson");
}

function safeDecoder(column: Column): Column {
  if (isJson(column)) return derive(column, { mapFromDriverValue: asParsed });
  if (column.columnType !== "PgArray") return column;
  return derive(column, {
    mapFromDriverValue: (value: unknown) => decodeArray(column as Column & ArrayColumn, value),
  });
}

/**
 * Creates an object that overrides some properties of another and inherits the rest, including its
 * class.
 */
function derive<T extends object>(base: T, properties: Record<string, unknown>): T {
  return Object.create(base, mapValues(properties, (value) => ({ value, enumerable: true })));
}

function asParsed(value: unknown): unknown {
  return value;
}

/** Decodes an array of a user-defined type, which arrives as text. */
function decodeArray({ baseColumn }: ArrayColumn, value: unknown): unknown {
  const items = typeof value === "string" ? parseArray(value, (item) => item) : value;
  if (!Array.isArray(items)) return items;
  const base = safeDecoder(baseColumn) as Decoder;
  return items.map((item) => item === null ? null : base.mapFromDriverValue(item));
}
